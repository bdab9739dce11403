"""`poolbench record`, from the command line to a scenario that runs, with a fake CUPTI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from poolbench.scenario.load import load
from poolbench.scenario.workload import OPS, Workload
from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.recording.programs import LOOP, program, setting


@pytest.fixture(autouse=True)
def _fake_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    setting(monkeypatch)


def workload(path: Path) -> Workload:
    found = load(path).workload
    assert found is not None
    return found


def ops(path: Path) -> list[str]:
    return [OPS[code] for code in workload(path).columns["op"].tolist()]


def kernels(path: Path) -> list[str]:
    """Names of the kernels, in order."""
    found = workload(path)
    codes, names = found.columns["op"].tolist(), found.columns["name"].tolist()
    return [
        found.names[name] for code, name in zip(codes, names, strict=True) if OPS[code] == "kernel"
    ]


def without_host(path: Path) -> list[str]:
    return [op for op in ops(path) if op != "host"]


def test_a_program_becomes_a_scenario_that_runs(cli: Cli, tmp_path: Path) -> None:
    """Recorded, checked, run; all six iterations, with what lies between them."""
    ended = cli("record", *program(tmp_path))
    assert ended.code == 0
    assert ended.out == ""
    assert "prog.yaml: " in ended.err
    assert "6 iterations, as the program marks them" in " ".join(ended.err.split())
    step = ["alloc", "memcpy", "kernel", "free"]
    assert without_host(tmp_path / "prog.yaml") == ["alloc", *[*step, "kernel"] * 5, *step]
    text = (tmp_path / "prog.yaml").read_text()
    assert "on Fake GPU, driver 1.2" in " ".join(text.split())
    assert cli("check", "prog.yaml").code == 0
    ran = cli("run", "prog.yaml", "--backend", "model", "--attributes", "111", "--output", "out")
    assert ran.code == 0
    assert "The recorded program took" in ran.out


def test_iterations_are_chosen(cli: Cli, tmp_path: Path) -> None:
    """`--from` and `--steps` count what the program marks; what is live before is there."""
    ended = cli("record", "-o", "mine", "--from", "3", "--steps", "2", *program(tmp_path))
    assert ended.code == 0
    assert kernels(tmp_path / "mine.yaml") == ["step2", "between", "step3"]
    assert without_host(tmp_path / "mine.yaml")[0] == "alloc"
    assert workload(tmp_path / "mine.yaml").columns["size"].tolist()[0] == 3 << 20


def test_a_name_chooses_marks(cli: Cli, tmp_path: Path) -> None:
    """`--range` takes those of `poolbench.record(NAME)`, too."""
    text = LOOP.replace("poolbench.record()", "poolbench.record('odd' if i % 2 else 'even')")
    assert cli("record", "--range", "odd", "--steps", "1", *program(tmp_path, text)).code == 0
    assert kernels(tmp_path / "prog.yaml") == ["step1"]


def test_a_program_without_marks_is_recorded_whole(cli: Cli, tmp_path: Path) -> None:
    """From its first call to its last."""
    text = LOOP.replace("with poolbench.record():", "if True:")
    assert cli("record", *program(tmp_path, text)).code == 0
    assert len(kernels(tmp_path / "prog.yaml")) == 12
    assert ops(tmp_path / "prog.yaml")[-1] == "sync_stream"
    assert "prime" not in (tmp_path / "prog.yaml").read_text()


def test_marks_that_a_program_does_not_make(cli: Cli, tmp_path: Path) -> None:
    """Nothing is recorded, and it is said how to mark."""
    ended = cli("record", "--from", "9", *program(tmp_path, LOOP))
    assert ended.code == 2
    assert "no such iteration, of 6 in all" in ended.err
    text = LOOP.replace("with poolbench.record():", "if True:")
    ended = cli("record", "--steps", "1", *program(tmp_path, text))
    assert ended.code == 2
    assert "the program marked no iteration" in ended.err
    assert "poolbench.record()" in ended.err
    assert not (tmp_path / "prog.yaml").exists()


def test_seconds_end_the_recording(cli: Cli, tmp_path: Path) -> None:
    """The program goes on without being watched."""
    text = LOOP.replace('"between")', '"between")\n    import time; time.sleep(0.2)')
    text = text.replace("with poolbench.record():", "if True:")
    assert cli("record", "--seconds", "0.5", *program(tmp_path, text)).code == 0
    assert 0 < len(kernels(tmp_path / "prog.yaml")) < 12


def test_the_program_is_its_own(cli: Cli, tmp_path: Path) -> None:
    """Arguments, `__name__`, the folder of the script, and its own options after it."""
    text = (
        "import sys, os\nimport beside\n"
        "seen = (sys.argv[1:], __name__, beside.x, 'inject' in ' '.join(sys.path))\n"
        "print(*seen, file=open('seen', 'w'))\n" + LOOP
    )
    (tmp_path / "beside.py").write_text("x = 5\n")
    command = program(tmp_path, text)[1:]
    assert cli("record", "-o", "mine", *command, "-o", "--steps", "x y").code == 0
    seen = (tmp_path / "seen").read_text()
    assert seen == "['-o', '--steps', 'x y'] __main__ 5 False\n"


def test_a_module_is_recorded(cli: Cli, tmp_path: Path) -> None:
    """`python -m`, and the scenario is called after it."""
    program(tmp_path, LOOP, "some_module.py")
    assert cli("record", "--", sys.executable, "-m", "some_module").code == 0
    assert (tmp_path / "some_module.yaml").exists()


def test_the_programs_own_sitecustomize_still_runs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is behind ours on the path."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import builtins\nbuiltins.here = 7\n")
    import os

    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'mine'}{os.pathsep}{os.environ['PYTHONPATH']}")
    text = "import sitecustomize\nassert here == 7\nassert 'mine' in sitecustomize.__file__\n"
    assert cli("record", *program(tmp_path, text + LOOP)).code == 0


def test_a_program_that_fails_keeps_what_it_did(cli: Cli, tmp_path: Path) -> None:
    """Exit code 1, and the scenario is there."""
    ended = cli("record", *program(tmp_path, LOOP + "sys.exit(7)\n"))
    assert ended.code == 1
    assert "the program ended with 7" in ended.err
    assert len(kernels(tmp_path / "prog.yaml")) == 11


def test_a_program_that_is_killed_keeps_what_was_on_disk(cli: Cli, tmp_path: Path) -> None:
    """Without exit handlers: whole batches are there, and that the end is lost is said."""
    text = LOOP.replace("range(6)", "range(2000)")
    ended = cli("record", *program(tmp_path, text + "import os\nos._exit(9)\n"))
    assert ended.code == 1
    assert "without its exit handlers" in " ".join(ended.err.split())


def test_an_interrupted_program_keeps_what_it_did(cli: Cli, tmp_path: Path) -> None:
    """Exit code 130."""
    text = LOOP + "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    ended = cli("record", *program(tmp_path, text))
    assert ended.code == 130
    assert (tmp_path / "prog.yaml").exists()


def test_children_are_not_recorded(cli: Cli, tmp_path: Path) -> None:
    """Started or forked; they are counted."""
    text = LOOP + (
        "import os, subprocess\n"
        "subprocess.run([sys.executable, '-c', 'print(1)'], check=True, stdout=-3)\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    gpu.launch(5, stream)\n"
        "    sys.exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    ended = cli("record", *program(tmp_path, text))
    assert ended.code == 0
    assert "2 other processes of it were not recorded" in " ".join(ended.err.split())
    assert len(kernels(tmp_path / "prog.yaml")) == 11


def test_dropped_records_are_told(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CUPTI counts them."""
    monkeypatch.setenv("FAKE_DROPPED", "12")
    assert "12 records that CUPTI dropped" in cli("record", *program(tmp_path)).err


@pytest.mark.parametrize(
    ("fake", "code", "told"),
    [
        ("broken", 2, "pip install 'poolbench[record]'"),
        ("no-driver", 3, "CUDA driver is not found"),
        ("taken", 4, "another profiler is attached"),
        ("odd", 4, "CUPTI answers ERROR_UNKNOWN (999)"),
    ],
)
def test_a_program_that_cannot_be_recorded_is_not_started(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: str, code: int, told: str
) -> None:
    """With the reason, and what to do."""
    monkeypatch.setenv("FAKE_CUPTI", fake)
    text = "open('ran', 'w')\n"
    ended = cli("record", *program(tmp_path, text))
    assert ended.code == code
    assert told in " ".join(ended.err.split())
    assert not (tmp_path / "ran").exists()


def test_no_gpu(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before anything is started."""
    monkeypatch.setattr("poolbench.backends.cuda.detect.why_missing", lambda: "no driver")
    ended = cli("record", *program(tmp_path))
    assert ended.code == 3
    assert "no GPU to record on: no driver" in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--", "no-such-program"), "cannot start no-such-program"),
        (("--", "true"), "the recorder did not start in true"),
        (("--plain", "x", "--", "true"), "--plain x: expected one of auto, pool, drop"),
        (("-o", "no/where", "--", "true"), "there is no directory no"),
        (("-o", "taken", "--", "true"), "taken.yaml is there already"),
        (("--keep", "taken.yaml", "--", "true"), "taken.yaml is there already"),
        (("--", sys.executable, "-c", "pass"), "nothing was recorded"),
    ],
)
def test_what_cannot_be_recorded(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    """Exit code 2."""
    (tmp_path / "taken.yaml").write_text("")
    ended = cli("record", *arguments)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())


def test_what_was_taken_down_can_be_kept(cli: Cli, tmp_path: Path) -> None:
    """For whoever wants to know why a scenario is as it is."""
    assert cli("record", "--keep", "raw", *program(tmp_path)).code == 0
    assert {path.name for path in (tmp_path / "raw").iterdir()} >= {"rows.bin", "about.json"}
