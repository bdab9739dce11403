"""What became of an imported file: kept, guessed, lost.  Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Fidelity:
    """Counted while a file is read.

    kept
        what stands in the scenario as it was.
    guessed
        what the format does not say and had to be filled in.
    lost
        what the file has and the scenario has not.
    """

    kept: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Something that concerns the whole file; said once."""
        if text not in self.notes:
            self.notes.append(text)

    def lines(self) -> list[tuple[str, str]]:
        """(kept, guessed, lost or note; what), in this order."""
        found = []
        for name, counts in (("kept", self.kept), ("guessed", self.guessed), ("lost", self.lost)):
            found += [(name, f"{n:,} {what}") for what, n in counts.items() if n]
        return [*found, *(("note", text) for text in self.notes)]
