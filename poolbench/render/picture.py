"""What the terminal shows, as an SVG: for pages that show a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

_FONT_FACE = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)
_FORMAT = _FONT_FACE.sub("", CONSOLE_SVG_FORMAT)
"""Without fonts from elsewhere: a picture asks nobody for anything."""


def terminal_svg(draw: Callable[[Console], None], *, title: str, width: int) -> str:
    """What `draw` prints to a terminal of so many columns; the same input gives the same file."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    draw(console)
    return console.export_svg(title=title, code_format=_FORMAT, unique_id="poolbench")
