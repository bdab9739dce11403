"""A loaded scenario: the models of `schema` together with where each of them stands in the file.

Pure values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from poolbench.errors import Place
from poolbench.scenario.schema import HeadModel
from poolbench.scenario.step_models import StepModel
from poolbench.scenario.workload import Workload

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNode:
    """One step of the file.

    `kind` is a key of `schema.STEP_MODELS`.  `place` is where the step's mapping starts, `places`
    where each of its values stands (by key).  `body` holds the steps of a `repeat`.
    """

    kind: str
    step: StepModel
    place: Place
    places: Mapping[str, Place]
    body: tuple[StepNode, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a file says.

    `file` is the path as the user wrote it (for messages); `places` maps a path in the head, such
    as `("pool", "max_size")` or `("expect", 0, "metrics", "n_grown")`, to its value's place;
    `sources` maps a kernel of one's own to its CUDA C.  `workload` holds the steps of a recorded
    program; then `steps` is empty.
    """

    name: str
    file: str
    text: str
    head: HeadModel
    steps: tuple[StepNode, ...]
    places: Mapping[Path, Place]
    sources: Mapping[str, str] = field(default_factory=dict)
    workload: Workload | None = None

    def place_of(self, *path: str | int) -> Place:
        """The place of a path, or of the nearest part of it that the file holds."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(line=1, column=1))
