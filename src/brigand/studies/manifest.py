"""What the manifest of a study holds, and how it is checked when it is read."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from brigand.studies.model import Count, Steps


class Part(BaseModel):
    """Knows the types of some keys, and leaves others as they are."""

    model_config = ConfigDict(strict=True)


class ManifestProblem(Part):
    """A problem."""

    name: str
    label: str
    horizon: Steps
    instances: Count
    recipe: dict[str, Any]
    swept: dict[str, Any]
    checkpoints: Annotated[list[Steps], Field(min_length=1)]
    arms: Count


class ManifestPolicy(Part):
    """A policy."""

    name: str
    label: str
    policy: dict[str, Any]
    swept: dict[str, Any]


class ManifestCell(Part):
    """A policy on a problem; its runs are in pieces of this size: instances, replications."""

    problem: str
    policy: str
    method: str
    key: str
    size: Annotated[list[Count], Field(min_length=2, max_length=2)]


class Manifest(Part):
    """A study that was run."""

    version: str
    versions: dict[str, str] = {}
    name: str
    description: str = ""
    seed: int
    replications: Count
    metrics: list[str]
    baseline: str | None
    figures: list[str] | None
    problems: list[ManifestProblem]
    policies: list[ManifestPolicy]
    cells: list[ManifestCell]


def check(manifest: dict[str, Any]) -> None:
    """Raise ValueError unless a manifest has what belongs there, and the hash of what was run."""
    try:
        Manifest.model_validate(manifest)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None
    if manifest.get("configuration", found := configuration(manifest)) != found:
        raise ValueError("its hash does not fit")
    names = [{entry["name"] for entry in manifest[kind]} for kind in ("problems", "policies")]
    for cell in manifest["cells"]:
        if cell["problem"] not in names[0] or cell["policy"] not in names[1]:
            raise ValueError(f"there is no {cell['policy']!r} on {cell['problem']!r}")


def configuration(manifest: dict[str, Any]) -> str:
    """Return a hash of what was run: of all that decides about the numbers."""
    problems = [[entry["instances"], entry["checkpoints"]] for entry in manifest["problems"]]
    whole = [manifest["cells"], manifest["metrics"], manifest["replications"], *problems]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()
