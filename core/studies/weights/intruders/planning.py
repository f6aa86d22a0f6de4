"""What every study of intruder dimensions plans alike."""

from __future__ import annotations

from typing import Any

from core.studies.kit import Task
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.selection import Selection, find_models
from core.studies.weights.intruders.spec import DirectionSpec


def models_task(spec: DirectionSpec) -> Task:
    """Make the task of the first stage that finds and identifies the models, a `Selection`."""
    return Task.of(
        "models", find_models, role="models", fleeting=True,
        base=spec.base, patterns=spec.models, own_bases=False, tree=0,
    )  # fmt: skip


def model_arguments(spec: DirectionSpec, selection: Selection, member: Member) -> dict[str, Any]:
    """Arguments of every task on a fine-tune."""
    return {
        "base": member.base,
        "model": member.ref,
        "base_identity": selection.identities[member.base],
        "model_identity": selection.identities[member.ref],
        "families": spec.families,
        "leading": spec.leading,
    }
