"""The command line as a user has it: arguments in, exit code, stdout and stderr out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from poolbench.backends.select import Choice
from poolbench.cli.app import app
from tests.cli.fakes import FakeBackend


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str


Cli = Callable[..., Ended]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs in an empty directory, 80 columns wide; a traceback fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(list(arguments), prog_name="poolbench")
        out, err = capsys.readouterr()
        code = ended.value.code
        return Ended(code=code if isinstance(code, int) else 0, out=out, err=err)

    return run


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> FakeBackend:
    """The backend that `run` gets, whatever it asks for."""
    fake = FakeBackend()

    def open_fake(
        choice: Choice,
        *,
        time_limit_s: float,
        profile: str | None = None,
        has_ranges: bool = False,
    ) -> tuple[FakeBackend, str]:
        return fake, "a fake, for tests"

    monkeypatch.setattr("poolbench.cli.session.open_backend", open_fake)
    return fake
