"""The study of weight updates: which models have similar ones, and their rank by depth.

`planning` finds the models, reads the label table, and makes a task for each fine-tune and for each
model whose own weights are asked for. `collect` computes distances in every vector,
neighbours, clusters and ranks. A map other than PCA is a further task.

Reference: "Vectors in the wild" (low-rank factors of the delta of Wq Wk Wv Wo W1 W2, averaged over
layers).
Deviations: the original vector is one of six, and every share of neighbours is compared with chance
and with the share that the size of the update alone reaches.

The headline's number: `core.maths.spectra.neighbours.count_votes`.
Where models have no label, that of `core.maths.spectra.outsiders.predict_outsider` comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.maths.spectra.projections import draw_map
from core.studies.kit import (
    ComparedTable,
    Findings,
    Outputs,
    Result,
    Study,
    Value,
    nothing_compared,
    words_beside,
)
from core.studies.weights import ranks as rank_tables
from core.studies.weights.activations import SENTENCES
from core.studies.weights.clusters import planning, tables, text
from core.studies.weights.clusters.distances import (
    compare,
    redraw,
    run_condensed,
    sizes_of,
)
from core.studies.weights.clusters.doses import compare_doses
from core.studies.weights.clusters.notice_text import describe_aside, describe_unchanged
from core.studies.weights.clusters.selection import Selection
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.views import VIEWS
from core.studies.weights.unlabelled import (
    UNLABELLED,
    WORDS,
    build_unlabelled,
    state_unlabelled,
    unlabelled_sentence,
)


def collect(spec: WeightsSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Compute distances, neighbours, clusters and ranks from the tasks' outputs; the map is PCA.
    Raises TaskError if every task failed, SpecError if too many did for what was asked for."""
    selection: Selection = ready.values["models"]
    if not outputs.values:
        raise nothing_compared(outputs.sentences.values())
    features, distances, notices = compare(spec, selection, outputs)
    present = [member for member in selection.members if member.ref in features]
    sizes = sizes_of(features)
    labels = planning.label_models(spec, ready, present)
    aside = planning.aside_of(spec, present, labels)
    scored = tables.score_neighbours(spec, labels, distances, aside)
    spectra = rank_tables.build_spectra(features, _weights(selection, outputs))
    drawn = draw_map(distances[spec.vector], "pca")
    unlabelled = build_unlabelled(
        {member.ref: member.base for member in present},
        labels,
        [*scored.predictions],
        [n for n, label in enumerate(labels) if not label and n not in aside],
        distances[spec.vector],
        sizes,
        scored.k,
        spec.seed,
    )
    cast = state_unlabelled(unlabelled, WORDS[spec.label_by])
    built = {
        "models": tables.build_models(
            present, labels, features, distances[spec.vector], scored, drawn.points
        ),
        "neighbours": scored.neighbours,
        "ranks": rank_tables.build_ranks(spectra, spec.threshold),
        "matrices": spectra.matrices,
        "distances": tables.build_distances([member.ref for member in present], distances),
        "vectors": scored.vectors,
        "votes": scored.votes,
        "predictions": tables.build_predictions(present, labels, scored),
        "doses": compare_doses(present, sizes, distances),
        "trends": rank_tables.build_trends(spectra, spec.threshold),
        **({UNLABELLED: unlabelled} if cast else {}),
    }
    pair = rank_tables.state_pair(features, distances, spec.rank)
    statements = text.statements_of(spec, scored, built, pair)
    return Findings(
        spec={"map": "pca"},
        headline=(
            unlabelled_sentence(cast),
            text.make_headline(spec, statements, scored, present),
        ),
        statements=(*statements, *cast),
        tables=built,
        arrays={
            **{f"distances {vector}": matrix for vector, matrix in distances.items()},
            "explained": np.array(drawn.explained),
            "k": np.array(scored.k),
            "spectra": spectra.values,
        },
        notices=[
            *notices,
            *planning.table_notices(spec, ready),
            *scored.notices,
            *describe_aside({present[n].ref: present[n].variant for n in aside}),
            *describe_unchanged(features),
            rank_tables.rank_sentence(statements, spec.threshold) if scored.k else "",
        ],
        failures=selection.failures,
        provenance={"fingerprints": selection.fingerprints(present)},
        methods=text.make_methods(spec, present, scored, spectra),
        cites=text.STATE_CITATIONS if spec.reads_states else (),
    )


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


def finish(spec: WeightsSpec, ready: Outputs, result: Result, **options: Any) -> Result:
    """Draw the result on the map that was asked for."""
    return redraw(result, spec.map, **options)


STUDY = Study(
    name="weights",
    words=words_beside(__file__).filled(sentences=SENTENCES),
    Spec=WeightsSpec,
    prepare=planning.prepare,
    plan=planning.plan,
    collect=collect,
    cites=text.CITATIONS,
    collect_costs=planning.collect_costs,
    perform=run_condensed,
    finish=finish,
    views=VIEWS,
    compared=ComparedTable("vectors", ("vector", "k"), "share", along="k"),
)
