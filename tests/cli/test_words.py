"""`list`, `doctor`, `explain`, `check`, `schema`, `--help`, `--version`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from poolbench import __version__
from poolbench.columns import COLUMNS
from poolbench.domain import PRESETS, Outcome, Status
from poolbench.explain import all_explanations
from poolbench.scenario.find import shipped
from poolbench.scenario.step_models import STEP_MODELS
from tests.cli.conftest import Cli
from tests.cli.fakes import write_scenario

COMMANDS = (
    "run",
    "check",
    "schema",
    "show",
    "advise",
    "export",
    "open",
    "import",
    "compare",
    "list",
    "doctor",
    "explain",
    "probe",
    "fuzz",
    "calibrate",
)


def test_version(cli: Cli) -> None:
    """One line, on stdout."""
    assert cli("--version").out == f"poolbench {__version__}\n"


def test_help_names_every_command_and_the_exit_codes(cli: Cli) -> None:
    """The first page says what there is and what the codes mean."""
    ended = cli("--help")
    assert ended.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in ended.out
    assert "130 interrupted" in ended.out
    assert "..." not in ended.out.split("Commands:")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_commands(cli: Cli, command: str) -> None:
    """Every command has a page of its own."""
    ended = cli(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: poolbench {command}")


def test_help_is_quick_and_imports_little() -> None:
    """Nothing heavy is loaded to print a page of help."""
    code = (
        "import sys; sys.argv = ['poolbench', '--help']\n"
        "from poolbench.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'numpy', 'cuda', 'yaml', 'pynvml'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert time.monotonic() - started < 3  # 0.1 s on an idle machine


def test_module_and_script_are_the_same() -> None:
    """`python -m poolbench` is `poolbench`."""
    done = subprocess.run(
        [sys.executable, "-m", "poolbench", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"poolbench {__version__}\n"


def test_no_command(cli: Cli) -> None:
    """Without a command: the page of help, and the exit code that typer has for that."""
    ended = cli()
    assert ended.code in (0, 2)
    assert "Commands:" in ended.out + ended.err


def test_unknown_command(cli: Cli) -> None:
    """Exit code 2, on stderr."""
    ended = cli("rum")
    assert ended.code == 2
    assert "rum" in ended.err


def test_list_has_everything(cli: Cli) -> None:
    """Scenarios with their questions, presets with who sets them, kernels, step kinds."""
    ended = cli("list")
    assert ended.code == 0
    for path in shipped():
        assert f"\n  {path.stem} " in ended.out
    for preset in PRESETS:
        assert preset.name in ended.out
    words = " ".join(ended.out.split())
    assert "as set by RAPIDS RMM" in words
    assert "What does b get, and what does it pay?" in words
    for kind in STEP_MODELS:
        assert f"\n  {kind} " in ended.out
    for kernel in ("spin", "stream", "compute"):
        assert f"\n  {kernel} " in ended.out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("allow_internal_dependencies", "last resort"),
        ("internal", "last resort"),
        ("release_threshold", "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD"),
        ("pytorch", "threshold max"),
        ("101", "allow_opportunistic off"),
        ("cudamalloc", "cuMemFree"),
        ("remapped", "71 us"),
        ("timeout", "--run-limit"),
        ("overlap", "Busy time"),
        ("over_preallocated", "what allocating costs"),
        ("double-free", "freed before"),
        ("[unknown-unit]", "unit"),
        ("hold", "latch"),
    ],
)
def test_explain(cli: Cli, name: str, told: str) -> None:
    """Every kind of name has its sentence; a code may be pasted with its brackets."""
    ended = cli("explain", name)
    assert ended.code == 0
    assert told in " ".join(ended.out.split())


def test_explain_tells_all_meanings(cli: Cli) -> None:
    """A word with two meanings gets both."""
    ended = cli("explain", "out_of_memory")
    assert "(outcome)" in ended.out
    assert "(status)" in ended.out


def test_explain_unknown(cli: Cli) -> None:
    """Exit code 2 and the nearest name."""
    ended = cli("explain", "alow_oportunistic")
    assert ended.code == 2
    assert "did you mean allow_opportunistic?" in ended.err


def test_everything_on_the_page_can_be_explained() -> None:
    """No outcome, status, column or step kind is without a sentence."""
    known = {(one.kind, one.name): one.text for one in all_explanations()}
    for kind, names in (
        ("outcome", Outcome),
        ("status", Status),
        ("column", [column.key for column in COLUMNS]),
        ("step", STEP_MODELS),
    ):
        for name in names:
            assert known[kind, str(name)].strip()


def test_explain_without_a_name_lists_all(cli: Cli) -> None:
    """The list has every name that can be asked for."""
    words = cli("explain").out.replace(",", " ").split()
    assert {one.name for one in all_explanations()} <= set(words)


def test_check_good_files(cli: Cli, tmp_path: Path) -> None:
    """One line a file on stdout, exit code 0, nothing written."""
    ended = cli("check", write_scenario(tmp_path), "hand-over")
    assert ended.code == 0
    assert "tiny.yaml: ok, 10 cases\n" in ended.out
    assert len(ended.out.splitlines()) == 2


def test_check_bad_files(cli: Cli, tmp_path: Path) -> None:
    """All faults of all files, with place, line and caret; exit code 2."""
    (tmp_path / "bad.yaml").write_text("streams: {a: }\nsteps:\n  - {alloc: x, size: 1}\n")
    (tmp_path / "worse.yaml").write_text("steps: [\n")
    ended = cli("check", "bad.yaml", "worse.yaml")
    assert ended.code == 2
    assert "bad.yaml:3:" in ended.err
    assert "worse.yaml:" in ended.err
    assert "^" in ended.err
    assert ended.out == ""


def test_warnings_do_not_fail(cli: Cli, tmp_path: Path) -> None:
    """A warning is told on stderr and the file is good."""
    path = tmp_path / "warned.yaml"
    text = Path(write_scenario(tmp_path)).read_text().replace("busy: 100us", "busy: 100us, odd: 1")
    path.write_text(text)
    ended = cli("check", str(path))
    assert ended.code == 0
    assert "warning" in ended.err
    assert "ok, 10 cases" in ended.out


def test_schema_is_json(cli: Cli) -> None:
    """What an editor reads; the step kinds are in it."""
    ended = cli("schema")
    assert ended.code == 0
    assert "$schema" in json.loads(ended.out)
    assert "cuMemFreeAsync" in ended.out


def test_doctor_without_a_gpu(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is enough for exit code 0; what is missing is named with its remedy."""
    monkeypatch.setattr("poolbench.backends.cuda.detect.why_unusable", lambda: "no driver")
    monkeypatch.setattr(
        "poolbench.backends.cuda.detect.doctor_facts",
        lambda: [("driver", "no libcuda.so.1", False, "install the NVIDIA driver")],
    )
    ended = cli("doctor")
    assert ended.code == 0
    assert "✗ driver" in ended.out
    assert "install the NVIDIA driver" in ended.out
    assert "No GPU to measure on: no driver" in ended.out
