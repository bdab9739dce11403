"""`--set`, `--axis`, `--filter` and `--repeats`: texts to names and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from poolbench.errors import BadUsage

if TYPE_CHECKING:
    from poolbench.findings import CaseResult

AUTO = "auto"
MAX_REPEATS = 1000


def read_repeats(text: str | None) -> int | None:
    """`--repeats N`; `None` for the default and for `auto`."""
    if text is None or text == AUTO:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MAX_REPEATS:
        raise BadUsage(f"--repeats {text[:60]}: expected a number from 1 to {MAX_REPEATS}, or auto")
    return int(text)


def read_precision(text: str) -> float:
    """`--precision 1%` as 0.01."""
    from poolbench.analysis.gate import read_share

    share = read_share(text, "--precision")
    if not 0 < share <= 1:
        raise BadUsage(f"--precision {text[:60]}: expected more than 0 % and at most 100 %")
    return share


def read_time(option: str, text: str | None) -> float | None:
    """`--from 100us` in microseconds.  Raises `BadUsage`."""
    from poolbench.units import UnitError, parse_duration

    if text is None:
        return None
    try:
        return parse_duration(text) / 1000
    except UnitError as fault:
        raise BadUsage(
            f"{option} {text[:60]}: {fault}", hint=f"for example {option} 250us"
        ) from None


def _split(option: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise BadUsage(f"{option} {text[:60]}: expected NAME=VALUE", hint=f"for example {example}")
    return name.strip(), value.strip()


def read_sets(texts: Sequence[str]) -> dict[str, str]:
    """`--set k=v`, each name once."""
    sets: dict[str, str] = {}
    for text in texts:
        name, value = _split("--set", text, "--set pool.max_size=128MiB")
        if name in sets:
            raise BadUsage(f"--set {name} is there twice", hint=f"--axis {name}=A,B runs both")
        sets[name] = value
    return sets


def read_filters(texts: Sequence[str]) -> Callable[[CaseResult], bool]:
    """`--filter k=v1,v2`: cases that have one of the values for each key.  Raises `BadUsage`.

    A key that a case does not have picks it not: another scenario's axis.
    """
    wanted: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, value = _split("--filter", text, "--filter row=000,111")
        wanted[name] = tuple(part.strip() for part in value.split(","))

    def is_wanted(result: CaseResult) -> bool:
        from poolbench.analysis.summary import dimensions

        has = {**dimensions(result.case), "status": result.status.value}
        return all(has.get(name) in values for name, values in wanted.items())

    return is_wanted


def read_axes(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`--axis k=v1,v2`, each name once."""
    axes: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, value = _split("--axis", text, "--axis pool.max_size=none,128MiB")
        if name in axes:
            raise BadUsage(
                f"--axis {name} is there twice", hint=f"write --axis {name}=A,B for two values"
            )
        axes[name] = tuple(part.strip() for part in value.split(",") if part.strip())
    return axes


def without_limit(sets: dict[str, str], axes: Mapping[str, object]) -> dict[str, str]:
    """For `--find-limit`, which sets the limit itself.  Raises `BadUsage` if the user does."""
    name = "pool.max_size"
    if name in sets or name in axes:
        raise BadUsage(f"--find-limit sets {name} itself", hint=f"leave {name} out")
    return {**sets, name: "none"}
