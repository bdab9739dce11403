"""What pydantic says of one value, as one plain message.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic_core import ErrorDetails

from poolbench.scenario.nearest import near
from poolbench.scenario.scenario import Path

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
"""pydantic's error types that say what form a value should have."""

_CHOICE = ("enum", "literal_error")


def shown(value: object) -> str:
    """A value of the file in a message, cut where it is long."""
    text = "true" if value is True else "false" if value is False else str(value)
    return repr(text if len(text) <= 40 else text[:40] + "…")


def choices(error: ErrorDetails) -> list[str]:
    """What an enum or a literal allows."""
    expected = str(error.get("ctx", {}).get("expected", ""))
    return [word.strip("' ") for word in expected.replace(" or ", ",").split(",") if word.strip()]


def describe(errors: Sequence[ErrorDetails], value: object) -> Iterator[tuple[Path, str, str]]:
    """What the members of a union say of one value, as one problem: path within, message, code.

    A validator of our own can name several faults inside of its value.
    """
    own = next((error for error in errors if "-" in error["type"]), None)
    if own is not None:
        parts = own.get("ctx", {}).get("parts")
        if parts:
            yield from parts
        else:
            message = own["msg"]
            is_form = own["type"] == "wrong-type" and ", found" not in message
            yield (), message + (f", found {form(value)}" if is_form else ""), own["type"]
        return
    choice = next((error for error in errors if error["type"] in _CHOICE), None)
    if choice is not None:
        yield (), *_choice(choice, value, can_be_list=_is_any(errors, "tuple_type"))
        return
    expected = [_EXPECTED[error["type"]] for error in errors if error["type"] in _EXPECTED]
    if expected:
        hint = f"; write [{value}]" if expected == ["a list"] and isinstance(value, str) else ""
        yield (), f"expected {joined(expected)}, found {form(value)}{hint}", "wrong-type"
        return
    yield (), *_bound(errors[0])


def _is_any(errors: Sequence[ErrorDetails], kind: str) -> bool:
    return any(error["type"] == kind for error in errors)


def _choice(error: ErrorDetails, value: object, *, can_be_list: bool) -> tuple[str, str]:
    known = choices(error)
    if not isinstance(value, str | int | float):
        more = ", or a list of them" if can_be_list else ""
        return f"expected one of {', '.join(known)}{more}, found {form(value)}", "wrong-type"
    found = near(str(value), known)
    hint = f"did you mean {found}?" if found else f"known: {', '.join(known)}"
    return f"{shown(value)} is not one of the choices; {hint}", "bad-choice"


def _bound(error: ErrorDetails) -> tuple[str, str]:
    bounds = error.get("ctx", {})
    match error["type"]:
        case "greater_than_equal":
            return f"the smallest value is {bounds['ge']}", "out-of-range"
        case "less_than_equal":
            return f"the largest value is {bounds['le']}", "out-of-range"
        case "string_too_long":
            return f"a name can have {bounds['max_length']} characters", "bad-name"
        case "string_pattern_mismatch":
            letters = "letters, digits, '_' and '-'"
            if "A-Z" not in str(bounds["pattern"]):
                letters = "a-z, 0-9 and '_', no digit first"
            return f"expected a name of {letters}", "bad-name"
        case _:
            message = error["msg"]
            return message[:1].lower() + message[1:], "wrong-type"


def joined(words: Sequence[str]) -> str:
    """`text, a number or a list`, each once; a number may be a whole one."""
    once = list(dict.fromkeys(words))
    if "a number" in once and "a whole number" in once:
        once.remove("a whole number")
    if len(once) == 1:
        return once[0]
    once = ["true/false" if word == "true or false" else word for word in once]
    return f"{', '.join(once[:-1])} or {once[-1]}"


def form(value: object) -> str:
    """What a value is, in a word or two."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {str(value)[:40]}"
        case str():
            return f"the text {shown(value)}" if value else "empty text"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"
