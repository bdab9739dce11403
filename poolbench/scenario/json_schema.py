"""The scenario language as a JSON Schema (draft 2020-12), for editors.

Pure; made from the models of `schema`, so that it cannot fall behind them.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from poolbench.scenario.schema import HeadModel
from poolbench.scenario.step_models import STEP_MODELS, WITH_STEPS

_REF = "#/$defs/{model}"


def json_schema() -> dict[str, Any]:
    """One schema for whole files: the head's keys, and steps as one of the step models."""
    models: list[Any] = [HeadModel, *STEP_MODELS.values()]
    _, together = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    definitions: dict[str, Any] = together["$defs"]
    step = {"anyOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in STEP_MODELS.values()]}
    steps = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Step"}}
    for kind in WITH_STEPS:
        holder = definitions[STEP_MODELS[kind].__name__]
        holder["properties"]["steps"] = steps
        holder["required"] = [*holder.get("required", []), "steps"]
    head = definitions.pop(HeadModel.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "poolbench scenario",
        "description": "A GPU workload: streams, steps, and what to vary and to expect.",
        "type": "object",
        "properties": {**head["properties"], "steps": steps},
        "oneOf": [{"required": ["steps"]}, {"required": ["recorded"]}],
        "additionalProperties": False,
        "$defs": {**definitions, "Step": step},
    }
