"""The study of weights: which deltas lie near each other, whether that is more than chance, and rank by depth.

prepare: which models there are is found out, the label table read. plan: one task for each fine-tune, and one for each
model whose own weights are asked for. collect: distances in every vector, neighbours, clusters, ranks. Another map
than PCA is a task of its own, after that.

Reference: "Vectors in the wild" (low-rank factors of the delta of Wq Wk Wv Wo W1 W2, averaged over layers).
Deviations: the original vector is one of six, and every share of neighbours stands beside its chance level and beside
what norms alone reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.errors import SpecError, TaskError
from core.limits import current_limits
from core.results.export import Result, provenance
from core.results.papers.citing import cite
from core.runs.runner import Outputs, Task, run
from core.study import Study
from core.weights.clusters import PURPOSE, tables
from core.weights.clusters import text as headline
from core.weights.clusters.charts.figures import figures
from core.weights.clusters.distances import DISTANCES, comparable, condense, run_condensed
from core.weights.clusters.doses import compare_doses
from core.weights.clusters.members import Member
from core.weights.clusters.selection import Labels, Selection, find_models, read_labels
from core.weights.clusters.spec import WeightsSpec
from core.weights.clusters.tasks import kept_rank, measure_delta, measure_weights, place_models, unpack_features
from core.weights.clusters.text import CAVEATS, FORMULAS
from core.weights.prices import weights_price
from core.weights.vectors import projections as maps
from core.weights.vectors import ranks as rank_tables
from core.weights.vectors.registry import VECTORS, Features, relative_size

MOST_SHARED = 40  # fine-tunes of one study on a shared instance


def prepare(spec: WeightsSpec, texts: Mapping[str, bytes] | None = None) -> list[Task]:
    """The first stage: find out which models are meant and what each is known by, read the label table.

    Args:
        spec: The study.
        texts: A label table that came with the request, by the name that `spec.labels` has.
    """
    tasks = [
        Task.of(
            "models", find_models, role="models", fleeting=True,
            base=spec.base, patterns=spec.models, own_bases=spec.own_bases, tree=spec.tree,
        )
    ]  # fmt: skip
    if spec.labels:
        given = (texts or {}).get(spec.labels)
        table = Task.of(
            "label table", read_labels, role="labels", fleeting=True,
            ref=spec.labels, column=spec.column, given=given,
        )  # fmt: skip
        tasks.append(table)
    return tasks


def plan(spec: WeightsSpec, ready: Outputs) -> list[Task]:
    """One task per fine-tune; where weights themselves are asked for, one more per model and one for its base.

    Raises:
        SpecError: If no fine-tune is named, more than a shared instance compares, more neighbours or clusters are
            asked for than there are models, or the label table cannot be used.
        ModelError: If the hub cannot be asked for the fine-tunes of the base.
    """
    selection: Selection = ready.need("models")
    members = selection.members
    if current_limits().shared and len(members) > MOST_SHARED:
        raise SpecError(f"A shared instance compares up to {MOST_SHARED} fine-tunes at once, not {len(members)}.")
    labels = _labels(spec, ready, members)
    tables.check_counts(spec, sum(map(bool, labels)) - len(_aside(spec, members)), len(members))
    kept = kept_rank(spec.rank)
    tasks = [
        Task.of(
            member.ref,
            measure_delta,
            role=("delta", member.ref),
            group=member.ref,
            base=member.base,
            model=member.ref,
            base_identity=selection.identities[member.base],
            model_identity=selection.identities[member.ref],
            families=spec.families,
            kept=kept,
            seed=spec.seed,
        )
        for member in members
    ]
    compared = {ref for member in members for ref in (member.base, member.ref)}
    if spec.of != "delta":
        tasks += [
            Task.of(
                f"{ref} weights",
                measure_weights,
                role=("weights", ref),
                group=ref,
                model=ref,
                model_identity=identity,
                families=spec.families,
            )
            for ref, identity in selection.identities.items()
            if ref in compared
        ]
    return tasks


def collect(spec: WeightsSpec, ready: Outputs, outputs: Outputs) -> Result:
    """Distances, neighbours, clusters and ranks from what the tasks returned; models are placed by PCA.

    Raises:
        TaskError: If every task failed.
        SpecError: If too many failed for the neighbours or clusters asked for.
    """
    if DISTANCES not in outputs.values:
        outputs = replace(outputs, values=condense(outputs, spec.rank))
    selection: Selection = ready.values["models"]
    present = [member for member in selection.members if ("delta", member.ref) in outputs.values]
    if not outputs.values:
        raise TaskError(f"No model could be compared. {next(iter(outputs.sentences.values()), '')}".strip())
    features, notices = _comparable(present, outputs, list(selection.notices))
    present = [member for member in present if member.ref in features]
    notices += [text for member in present for text in outputs.values["delta", member.ref]["notices"]]
    labels, aside = _labels(spec, ready, present), _aside(spec, present)
    distances = {vector: np.asarray(outputs.values[DISTANCES][vector]) for vector in VECTORS}
    scored = tables.score(spec, labels, distances, aside)
    sizes = np.array([relative_size(model) for model in features.values()])
    doses = compare_doses(present, sizes, distances)
    notices += [*scored.notices, *_describe_aside([present[place].ref for place in aside]), *_describe_still(features)]
    bases_first = dict.fromkeys([*(m.base for m in selection.members), *(m.ref for m in selection.members)])
    weights = {ref: outputs.values["weights", ref] for ref in bases_first if ("weights", ref) in outputs.values}
    spectra = rank_tables.build_spectra(features, weights)
    drawn = maps.draw_map(distances[spec.vector], "pca")
    built = {
        "models": tables.build_models(present, labels, features, distances[spec.vector], scored, drawn.points),
        "neighbours": scored.neighbours,
        "ranks": rank_tables.build_ranks(spectra, spec.threshold),
        "matrices": spectra.matrices,
        "distances": tables.build_distances([member.ref for member in present], distances),
        "vectors": scored.vectors,
        "predictions": tables.build_predictions(present, labels, scored),
        "doses": doses,
        "trends": rank_tables.build_trends(spectra, spec.threshold),
    }
    if scored.k:
        notices.append(headline.describe_ranks(spec, built["ranks"]))
    return Result(
        study="weights",
        spec=spec.plain() | {"map": "pca"},
        headline=headline.make_headline(spec, scored, built["models"], built["ranks"], present, doses),
        tables=built,
        arrays={
            **{f"distances {vector}": matrix for vector, matrix in distances.items()},
            "explained": np.array(drawn.explained),
            "k": np.array(scored.k),
            "spectra": spectra.values,
        },
        notices=tuple(dict.fromkeys(filter(None, notices))),
        failures={**ready.sentences, **selection.failures, **outputs.sentences},
        provenance=_provenance(selection, present),
        methods=f"{headline.make_methods(spec, present, scored, spectra)} {spec.settings()}",
        citations=cite(headline.CITATIONS),
    )


def redraw(result: Result, drawing: str, **options: Any) -> Result:
    """The same result on another map, computed as a task: UMAP compiles for a while before its first.

    Args:
        result: Of this study.
        drawing: "pca", "tsne" or "umap"; PCA stays where there are too few models for it.
        options: For `core.runs.runner.run`.
    """
    distances = result.arrays[f"distances {result.spec['vector']}"]
    if drawing == result.spec["map"] or len(distances) < maps.FEWEST[drawing]:
        return result
    task = Task.of(
        maps.METHODS[drawing], place_models, role="map",
        distances=distances.tolist(), drawing=drawing, seed=result.spec["seed"],
    )  # fmt: skip
    drawn = run([task], **options).need("map")
    models = result.table.assign(x=drawn["points"][:, 0], y=drawn["points"][:, 1])
    return replace(
        result,
        spec=result.spec | {"map": drawing},
        tables={**result.tables, "models": models},
        arrays={**result.arrays, "explained": drawn["explained"]},
    )


def _labels(spec: WeightsSpec, ready: Outputs, members: Sequence[Member]) -> list[str]:
    table: Labels = ready.need("labels") if spec.labels else Labels({})
    return [member.label(spec.label_by, table.by_model) for member in members]


def _aside(spec: WeightsSpec, members: Sequence[Member]) -> list[int]:
    """Places of the models that were trained otherwise, where others were not: they lie on the map, in no score.

    A table of one's own says who is to be compared; then nobody stands aside.
    """
    if spec.labels or all(member.variant for member in members):
        return []
    return [place for place, member in enumerate(members) if member.variant]


def _describe_aside(refs: Sequence[str]) -> list[str]:
    if not refs:
        return []
    return [f"Trained otherwise than the rest, so on the map and in no score: {', '.join(refs)}."]


def _describe_still(features: Mapping[str, Features]) -> list[str]:
    """A sentence for each set of layers that did not move, with the models that have it."""
    affected: dict[tuple[str, int], list[str]] = {}
    for ref, model in features.items():
        still = [place for place, norm in enumerate(model.delta_norms) if norm == 0]
        moved = {model.layers[place] for place, norm in enumerate(model.delta_norms) if norm > 0}
        whole = sorted({model.layers[place] + 1 for place in still if model.layers[place] not in moved})
        where = f"all of layer {', '.join(map(str, whole))}" if whole else "no whole layer"
        if still:
            affected.setdefault((where, len(still)), []).append(ref)
    return [
        f"{', '.join(refs)}: {count} of {len(features[refs[0]].families)} matrices ({where}) equal the base's bit for "
        "bit. Their rank and norm are 0 and they have no directions: projectors and spectra are compared where both "
        "models moved."
        for (where, count), refs in affected.items()
    ]


def _comparable(present: list[Member], outputs: Outputs, notices: list[str]) -> tuple[dict[str, Features], list[str]]:
    """Features of the models whose matrices are those of the first one; the others are left out with a notice."""
    features = {member.ref: unpack_features(outputs.values["delta", member.ref]) for member in present}
    kept = comparable(features)
    notices += [
        f"{ref} is left out: its matrices are not of the shapes of {next(iter(kept))}'s."
        for ref in features
        if ref not in kept
    ]
    return kept, notices


def _provenance(selection: Selection, members: Sequence[Member]) -> dict[str, Any]:
    """Versions, and what every model is known by: a content hash, or the hub's commit."""
    refs = dict.fromkeys(ref for member in members for ref in (member.base, member.ref))
    return provenance() | {"fingerprints": {ref: selection.identities[ref] for ref in refs}}


def perform(spec: WeightsSpec, tasks: Sequence[Task], **options: Any) -> Outputs:
    """Run what was planned, and keep what is read of it: distances, spectra and norms."""
    return run_condensed(tasks, spec.rank, **options)


def finish(spec: WeightsSpec, ready: Outputs, result: Result, **options: Any) -> Result:
    """The result on the map that was asked for."""
    return redraw(result, spec.map, **options)


STUDY = Study(
    name="weights",
    title="Weight clustering",
    purpose=PURPOSE,
    Spec=WeightsSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=weights_price,
    perform=perform,
    finish=finish,
    caveats=CAVEATS,
    formulas=FORMULAS,
)
