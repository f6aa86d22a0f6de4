"""The study of weight updates: which models have similar ones, and their rank by depth.

`prepare` finds the models and reads the label table. `plan` makes a task for each fine-tune, and
one for each model whose own weights are asked for. `collect` computes distances in every vector,
neighbours, clusters and ranks. A map other than PCA is a further task.

Reference: "Vectors in the wild" (low-rank factors of the delta of Wq Wk Wv Wo W1 W2, averaged over
layers).
Deviations: the original vector is one of six, and every share of neighbours is compared with chance
and with the share that the size of the update alone reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.errors import SpecError
from core.limits import current_limits
from core.maths.spectra import projections as maps
from core.maths.spectra.registry import Features, relative_size
from core.models.costs import Sizes
from core.runs.price import Cost
from core.runs.runner import run
from core.studies.kit import (
    ComparedTable,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    Value,
    text_task,
    words_beside,
)
from core.studies.weights import ranks as rank_tables
from core.studies.weights.activations import SENTENCES, TEXT, compare_states, plan_states
from core.studies.weights.clusters import tables, text
from core.studies.weights.clusters.distances import (
    DISTANCES,
    comparable,
    condensed,
    run_condensed,
    select_distances,
)
from core.studies.weights.clusters.doses import compare_doses
from core.studies.weights.clusters.members import Member, earlier_steps, labels_of
from core.studies.weights.clusters.method_text import CITATIONS, STATE_CITATIONS, make_methods
from core.studies.weights.clusters.notice_text import (
    describe_aside,
    describe_shapes,
    describe_table,
    describe_unchanged,
)
from core.studies.weights.clusters.selection import Labels, Selection, find_models, read_labels
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tasks import (
    kept_rank,
    measure_delta,
    measure_weights,
    place_models,
    unpack_features,
)
from core.studies.weights.clusters.views import VIEWS
from core.studies.weights.label_tables import match_labels
from core.studies.weights.unlabelled import UNLABELLED, state_unlabelled, unlabelled_sentence

# processor seconds per permutation and pair of models, and of a map
PERMUTED, MAPS = 6e-8, {"umap": 25.0, "tsne": 3.0}
MOST_SHARED = 40  # fine-tunes of one study on a shared instance


def prepare(spec: WeightsSpec, texts: Mapping[str, bytes] | None = None) -> list[Task]:
    """Make the tasks of the first stage: find and identify the models, read the label table.

    Args:
        spec: The study.
        texts: An uploaded label table, under the name that `spec.labels` has.
    """
    tasks = [
        Task.of(
            "models", find_models, role="models", fleeting=True,
            base=spec.base, patterns=spec.models, own_bases=spec.own_bases, tree=spec.tree,
            run=spec.reads_states,
        )
    ]  # fmt: skip
    if spec.reads_states:
        tasks.append(text_task(TEXT, (), SENTENCES, texts))
    if spec.labels:
        given = (texts or {}).get(spec.labels)
        table = Task.of(
            "label table", read_labels, role="labels", fleeting=True,
            ref=spec.labels, column=spec.column, given=given,
        )  # fmt: skip
        tasks.append(table)
    return tasks


def plan(spec: WeightsSpec, ready: Outputs) -> list[Task]:
    """Make one task per fine-tune; if weights are asked for, also one per model and base.

    Raises:
        SpecError: If no fine-tune is named, a shared instance does not compare that many, more
            neighbours or clusters are asked for than there are models, or the label table cannot be
            used.
        ModelError: If the Hub does not list the fine-tunes of the base.
    """
    selection: Selection = ready.need("models")
    members = selection.members
    if current_limits().shared and len(members) > MOST_SHARED:
        raise SpecError(
            f"A shared instance compares up to {MOST_SHARED} fine-tunes at once, "
            f"not {len(members)}; choose fewer."
        )
    labels = _labels(spec, ready, members)
    aside = _aside(spec, members, labels)
    scored = sum(bool(label) for place, label in enumerate(labels) if place not in aside)
    tables.check_counts(spec, scored, len(members))
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
    if spec.reads_states:
        contents = {ref: selection.contents[ref] for ref in selection.contents if ref in compared}
        tasks += plan_states(contents, ready.need("text").words)
    return tasks


def collect(spec: WeightsSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Compute distances, neighbours, clusters and ranks from the tasks' outputs; the map is PCA.

    Raises:
        TaskError: If every task failed.
        SpecError: If too many failed for the neighbours or clusters asked for.
    """
    outputs = condensed(outputs, spec.rank)
    selection: Selection = ready.values["models"]
    present = [member for member in selection.members if ("delta", member.ref) in outputs.values]
    features, notices = _comparable(present, outputs, list(selection.notices))
    present = [member for member in present if member.ref in features]
    notices += [n for each in present for n in outputs.values["delta", each.ref]["notices"]]
    by_state: dict[str, np.ndarray] = {}
    if spec.reads_states:  # every vector then compares the same models
        kept, by_state, said = compare_states(spec.base, features, outputs)
        present = [member for member in present if member.ref in kept]
        features = {ref: features[ref] for ref in kept}
        notices += said
    distances = select_distances(outputs.values[DISTANCES], list(features)) | by_state
    labels = _labels(spec, ready, present)
    aside = _aside(spec, present, labels)
    scored = tables.score(spec, labels, distances, aside)
    sizes = np.array([relative_size(model) for model in features.values()])
    doses = compare_doses(present, sizes, distances)
    notices += [*_table_notices(spec, ready), *scored.notices]
    notices += describe_aside({present[n].ref: present[n].variant for n in aside})
    notices += describe_unchanged(features)
    spectra = rank_tables.build_spectra(features, _weights(selection, outputs))
    drawn = maps.draw_map(distances[spec.vector], "pca")
    unlabelled = tables.build_unlabelled(spec, present, labels, aside, distances, sizes, scored)
    cast = state_unlabelled(unlabelled, text.WORDS[spec.label_by])
    built = {
        "models": tables.build_models(
            present, labels, features, distances[spec.vector], scored, drawn.points
        ),
        "neighbours": scored.neighbours,
        "ranks": rank_tables.build_ranks(spectra, spec.threshold),
        "matrices": spectra.matrices,
        "distances": tables.build_distances([member.ref for member in present], distances),
        "vectors": scored.vectors,
        "predictions": tables.build_predictions(present, labels, scored),
        "doses": doses,
        "trends": rank_tables.build_trends(spectra, spec.threshold),
        **({UNLABELLED: unlabelled} if cast else {}),
    }
    if scored.k:
        ranks = text.state_ranks(spec.of, spec.threshold, built["ranks"])
        notices.append(text.rank_sentence(ranks, spec.threshold))
    pair = text.state_pair(features, distances, spec.rank)
    statements = text.statements_of(spec, scored, built["models"], built["ranks"], doses, pair)
    return Findings(
        spec={"map": "pca"},
        headline=f"{unlabelled_sentence(cast)} "
        f"{text.make_headline(spec, statements, scored, present)}".strip(),
        statements=(*statements, *cast),
        tables=built,
        arrays={
            **{f"distances {vector}": matrix for vector, matrix in distances.items()},
            "explained": np.array(drawn.explained),
            "k": np.array(scored.k),
            "spectra": spectra.values,
        },
        notices=notices,
        failures=selection.failures,
        provenance=_provenance(selection, present),
        methods=make_methods(spec, present, scored, spectra),
        cites=(*CITATIONS, *STATE_CITATIONS) if spec.reads_states else CITATIONS,
    )


def collecting(spec: WeightsSpec, tasks: Sequence[Task], sizes: Sizes) -> list[Cost]:
    """Estimate permuting labels and drawing the map, beside what is kept of every update."""
    kept = [task.cost(sizes).store for task in tasks if task.function is measure_delta]
    seconds = MAPS.get(spec.map, 0.0) + PERMUTED * spec.permutations * len(kept) ** 2 / 2
    return [Cost(seconds, sum(kept), torch=False)]


def redraw(result: Result, drawing: str, **options: Any) -> Result:
    """Draw the result on another map, in a task of its own: UMAP compiles before its first map.

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
    points = drawn["points"]
    models = result.table.assign(x=points[:, 0], y=points[:, 1], z=np.nan)
    return replace(
        result,
        spec=result.spec | {"map": drawing},
        tables={**result.tables, "models": models},
        arrays={**result.arrays, "explained": drawn["explained"]},
    )


def _labels(spec: WeightsSpec, ready: Outputs, members: Sequence[Member]) -> list[str]:
    return labels_of(members, spec.label_by, _matched(spec, ready)[0])


def _matched(spec: WeightsSpec, ready: Outputs) -> tuple[dict[str, str], list[str]]:
    """Label by reference, and names of the label table's rows that match no model."""
    if not spec.labels:
        return {}, []
    table: Labels = ready.need("labels")
    selection: Selection = ready.need("models")
    return match_labels(table.by_model, [member.ref for member in selection.members])


def _table_notices(spec: WeightsSpec, ready: Outputs) -> list[str]:
    return describe_table(*_matched(spec, ready)) if spec.labels else []


def _aside(spec: WeightsSpec, members: Sequence[Member], labels: Sequence[str]) -> list[int]:
    """Places of models that are on the map and in no score: earlier checkpoints of a run, and those
    trained with other settings than the rest, unless an uploaded table labels them."""
    every = spec.labels or all(member.variant for member in members)
    variants = [] if every else [n for n, member in enumerate(members) if member.variant]
    return sorted({*variants, *earlier_steps(members, labels)})


def _comparable(
    present: list[Member], outputs: Outputs, notices: list[str]
) -> tuple[dict[str, Features], list[str]]:
    """Features of models with matrices of the same shapes; a notice for each of the others."""
    features = {
        member.ref: unpack_features(outputs.values["delta", member.ref]) for member in present
    }
    kept = comparable(features)
    notices += [describe_shapes(ref, next(iter(kept))) for ref in features if ref not in kept]
    return kept, notices


def _weights(selection: Selection, outputs: Outputs) -> dict[str, Value]:
    """Outputs of the tasks of models' own weights, those of bases first."""
    bases_first = dict.fromkeys(
        [*(m.base for m in selection.members), *(m.ref for m in selection.members)]
    )
    return {
        ref: outputs.values["weights", ref]
        for ref in bases_first
        if ("weights", ref) in outputs.values
    }


def _provenance(selection: Selection, members: Sequence[Member]) -> dict[str, Any]:
    """Each model's identity: a content hash, or the Hub's commit."""
    refs = dict.fromkeys(ref for member in members for ref in (member.base, member.ref))
    return {"fingerprints": {ref: selection.identities[ref] for ref in refs}}


def perform(spec: WeightsSpec, tasks: Sequence[Task], **options: Any) -> Outputs:
    """Run the planned tasks and keep distances, spectra and norms of their outputs."""
    return run_condensed(tasks, spec.rank, **options)


def finish(spec: WeightsSpec, ready: Outputs, result: Result, **options: Any) -> Result:
    """Draw the result on the map that was asked for."""
    return redraw(result, spec.map, **options)


STUDY = Study(
    name="weights",
    words=words_beside(__file__).filled(sentences=SENTENCES),
    Spec=WeightsSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    collecting=collecting,
    perform=perform,
    finish=finish,
    views=VIEWS,
    compared=ComparedTable("vectors", ("vector", "k"), "share"),
)
