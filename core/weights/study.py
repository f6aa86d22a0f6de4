"""The study of weights: which deltas lie near each other, whether that is more than chance, and rank by depth.

    spec -> plan: one task a fine-tune (and one a model whose own weights are asked for)
         -> collect: distances in every vector, neighbours, clusters, ranks

Reference: "Vectors in the wild" (low-rank factors of the delta of Wq Wk Wv Wo W1 W2, averaged over layers).
Deviations: the original vector is one of five, and every share of neighbours stands beside its chance level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from core.errors import SpecError, TaskError
from core.limits import current_limits
from core.models import parse_ref
from core.results.export import Result, provenance
from core.runs.runner import Outputs, Task, run
from core.runs.store import default_store, key_of
from core.weights import headline, maps, tables
from core.weights.measuring import VERSION, kept_rank, measure_delta, measure_weights, unpack_features
from core.weights.members import Member, Members, find_members
from core.weights.opening import identify
from core.weights.spec import WeightsSpec
from core.weights.vectors import VECTORS, Features, calc_distances

MOST_SHARED = 40  # fine-tunes of one study on a shared instance


def plan(spec: WeightsSpec) -> list[Task]:
    """One task a fine-tune; where weights themselves are asked for, one more a model and one for its base.

    Raises:
        SpecError: If no fine-tune is named, or more than a shared instance compares.
        ModelError: If something is no reference.
    """
    members = _members(spec).members
    if current_limits().shared and len(members) > MOST_SHARED:
        raise SpecError(f"A shared instance compares up to {MOST_SHARED} fine-tunes at once, not {len(members)}.")
    identities = {ref: identify(ref) for member in members for ref in (member.base, member.ref)}
    kept = kept_rank(spec.rank)
    tasks = [
        Task.of(
            member.ref,
            measure_delta,
            group=member.ref,
            base=member.base,
            model=member.ref,
            base_identity=identities[member.base],
            model_identity=identities[member.ref],
            families=spec.families,
            kept=kept,
            seed=spec.seed,
        )
        for member in members
    ]
    if spec.of != "delta":
        tasks += [
            Task.of(
                _weights_name(ref),
                measure_weights,
                group=ref,
                model=ref,
                model_identity=identity,
                families=spec.families,
            )
            for ref, identity in identities.items()
        ]
    return tasks


def collect(spec: WeightsSpec, outputs: Outputs) -> Result:
    """Distances, neighbours, clusters and ranks from what the tasks returned.

    Raises:
        TaskError: If every task failed.
    """
    found = _members(spec)
    present = [member for member in found.members if member.ref in outputs.values]
    if not outputs.values:
        raise TaskError(f"No model could be compared. {next(iter(outputs.failures.values()), '')}".strip())
    features, notices = _comparable(present, outputs, list(found.notices))
    present = [member for member in present if member.ref in features]
    notices += [text for member in present for text in outputs.values[member.ref]["notices"]]
    labels = [member.label(spec.label, dict(spec.labels)) for member in present]
    distances = {
        vector: calc_distances(list(features.values()), vector, spec.rank) if len(features) > 1 else np.zeros((1, 1))
        for vector in VECTORS
    }
    scored = tables.score(spec, labels, distances)
    notices += scored.notices
    weights = {
        ref: outputs.values[_weights_name(ref)]
        for ref in dict.fromkeys([*(m.base for m in found.members), *(m.ref for m in found.members)])
        if _weights_name(ref) in outputs.values
    }
    spectra = tables.build_spectra(features, weights)
    drawn = draw(distances[spec.vector], spec.drawing, spec.seed)
    built = {
        "models": tables.build_models(present, labels, features, distances[spec.vector], scored, drawn.points),
        "neighbours": scored.neighbours,
        "ranks": tables.build_ranks(spectra, spec.threshold),
        "matrices": spectra.matrices,
        "distances": tables.build_distances([member.ref for member in present], distances),
        "vectors": scored.vectors,
        "predictions": tables.build_predictions(present, labels, scored),
        "trends": tables.build_trends(spectra, spec.threshold),
    }
    return Result(
        study="weights",
        spec=asdict(spec),
        headline=headline.make_headline(spec, scored, built["models"], built["ranks"]),
        tables=built,
        arrays={
            **{f"distances {vector}": matrix for vector, matrix in distances.items()},
            "explained": np.array(drawn.explained),
            "k": np.array(scored.k),
            "spectra": spectra.values,
        },
        notices=tuple(dict.fromkeys(notices)),
        failures=dict(outputs.failures),
        provenance=_provenance(present),
        methods=headline.make_methods(spec, present, scored, spectra),
        citations=headline.CITATIONS,
    )


def run_study(spec: WeightsSpec, **run_kwargs: Any) -> Result:
    """Plan, run and collect; see `core.runs.runner.run` for what may be passed on."""
    return collect(spec, run(plan(spec), **run_kwargs))


def draw(distances: np.ndarray, drawing: str, seed: int) -> maps.ModelMap:
    """A map of these distances; PCA where there are too few models for the one asked for.

    t-SNE and UMAP are kept in the store: UMAP compiles for ten seconds before its first map.
    """
    if len(distances) < 2:
        return maps.ModelMap(np.zeros((len(distances), 2)), (np.nan, np.nan))
    if drawing == "pca" or len(distances) < maps.FEWEST[drawing]:
        return maps.draw_map(distances, "pca")
    content = hashlib.sha256(np.ascontiguousarray(distances).tobytes()).hexdigest()
    value, _ = default_store().get_or_compute(
        key_of("weights map", VERSION, content, len(distances), drawing, seed),
        lambda: {"points": maps.draw_map(distances, drawing, seed).points},
    )
    return maps.ModelMap(value["points"], (np.nan, np.nan))


def _members(spec: WeightsSpec) -> Members:
    return find_members(spec.base, spec.models, spec.own_bases)


def _weights_name(ref: str) -> str:
    return f"{ref} weights"


def _comparable(present: list[Member], outputs: Outputs, notices: list[str]) -> tuple[dict[str, Features], list[str]]:
    """Features of the models whose matrices are those of the first one; the others are left out with a notice."""
    features = {member.ref: unpack_features(outputs.values[member.ref]) for member in present}
    kept: dict[str, Features] = {}
    for ref, model in features.items():
        first = next(iter(kept.values()), model)
        if (model.families, model.layers, model.shapes) == (first.families, first.layers, first.shapes):
            kept[ref] = model
        else:
            notices.append(f"{ref} is left out: its matrices are not of the shapes of {next(iter(kept))}'s.")
    return kept, notices


def _provenance(members: Iterable[Member]) -> dict[str, Any]:
    """Versions, and what every model is known by: a content hash, or the hub's commit."""
    refs = dict.fromkeys(ref for member in members for ref in (member.base, member.ref))
    local = tuple(ref for ref in refs if parse_ref(ref).kind != "hub")
    record = provenance(local)
    record["fingerprints"] |= {ref: identify(ref) for ref in refs if ref not in local}
    return record
