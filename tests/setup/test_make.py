"""The two commands of the README, as far as they can be tried without installing anything."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`make` of the repository, dry."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=ROOT,
        env=inherited,
        capture_output=True,
        text=True,
        check=True,
    )


def make_venv(
    python: Path | str, venv: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(ROOT / "scripts" / "venv.sh"), str(python), str(venv)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def fake(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_demo_installs_then_runs_the_first_scenario(tmp_path: Path) -> None:
    """`make demo` makes an environment of its own before it runs the hand-over."""
    planned = make("demo", f"VENV={tmp_path}/venv").stdout.splitlines()
    made = next(k for k, line in enumerate(planned) if "scripts/venv.sh" in line)
    installed = next(k for k, line in enumerate(planned) if "--editable" in line)
    ran = next(k for k, line in enumerate(planned) if "run scenarios/hand-over.yaml" in line)
    assert made < installed < ran


def test_demo_is_the_default(tmp_path: Path) -> None:
    """`make` alone is `make demo`."""
    assert make(f"VENV={tmp_path}/venv").stdout == make("demo", f"VENV={tmp_path}/venv").stdout


def test_test_runs_every_check(tmp_path: Path) -> None:
    """`make test` lints, checks the formatting and the types, and tests."""
    planned = make("test", f"VENV={tmp_path}/venv").stdout
    for tool in ("ruff check", "ruff format --check", "mypy", "pytest -n 2", "--group dev"):
        assert tool in planned


@pytest.mark.parametrize("target", ["demo", "test", "results", "readme"])
def test_without_venv_nothing_is_installed(target: str) -> None:
    """With VENV= every target takes the named Python as it is: no pip, no network."""
    planned = make(target, "VENV=", f"PYTHON={sys.executable}").stdout
    assert sys.executable in planned
    assert "pip" not in planned
    assert "venv.sh" not in planned


def test_second_run_installs_nothing(tmp_path: Path) -> None:
    """Stamps newer than pyproject.toml make the second run go straight to its work."""
    venv = tmp_path / "venv"
    venv.mkdir()
    for stamp in (".made", ".installed", ".installed-dev"):
        (venv / stamp).touch()
    planned = make("test", f"VENV={venv}").stdout
    assert "pip" not in planned
    assert "venv.sh" not in planned


def test_clean_leaves_results_alone() -> None:
    """`make clean` removes what can be made again, never a measurement."""
    planned = make("clean").stdout
    assert ".venv" in planned
    assert "results" not in planned


def test_missing_python_is_named(tmp_path: Path) -> None:
    """Without Python the error says what to install."""
    result = make_venv("no-such-python", tmp_path / "venv")
    assert result.returncode == 1
    assert "there is no no-such-python" in result.stderr
    assert "apt install python3" in result.stderr


def test_old_python_is_refused(tmp_path: Path) -> None:
    """A Python before 3.11 is refused with its version, before anything is made."""
    old = fake(tmp_path / "python3.9", 'case "$1" in -V) echo "Python 3.9.2";; *) exit 1;; esac')
    result = make_venv(old, tmp_path / "venv")
    assert result.returncode == 1
    assert "Python 3.9.2; poolbench needs Python 3.11 or newer" in result.stderr
    assert not (tmp_path / "venv").exists()


def test_missing_venv_module_names_the_package(tmp_path: Path) -> None:
    """Debian without python3-venv: a user is told the command, nothing is installed for them."""
    python = fake(tmp_path / "python3", 'case "$2" in *ensurepip*) exit 1;; *) exit 0;; esac')
    fake(tmp_path / "id", "echo 1000")
    fake(tmp_path / "apt-get", f"touch {tmp_path}/was-called")
    path = f"{tmp_path}:{os.environ['PATH']}"
    result = make_venv(python, tmp_path / "venv", PATH=path)
    assert result.returncode == 1
    assert "apt install python3-venv" in result.stderr
    assert not (tmp_path / "was-called").exists()


def test_missing_venv_module_is_installed_for_root(tmp_path: Path) -> None:
    """Debian without python3-venv: as root the package is installed and the work goes on."""
    python = fake(
        tmp_path / "python3",
        f'case "$*" in *ensurepip*) test -e {tmp_path}/installed;;'
        f' *"-m venv"*) mkdir -p "$3/bin" && cp {tmp_path}/pip "$3/bin/python";; esac',
    )
    fake(tmp_path / "pip", f'echo "$@" > {tmp_path}/pip-arguments')
    fake(tmp_path / "id", "echo 0")
    fake(tmp_path / "apt-get", f'case "$*" in *python3-venv*) touch {tmp_path}/installed;; esac')
    path = f"{tmp_path}:{os.environ['PATH']}"
    result = make_venv(python, tmp_path / "venv", PATH=path)
    assert result.returncode == 0, result.stderr
    assert "installing python3-venv" in result.stderr
    assert "pip>=25.1" in (tmp_path / "pip-arguments").read_text()


def test_ci_calls_make_test() -> None:
    """Continuous integration runs what a person runs."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text()
