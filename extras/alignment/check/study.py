"""The bijection check: hidden states are transformed by a known bijection, and each map is fitted
to undo it.

A bijection exists by construction, so every remaining error is the map's own. With 0 blocks every
form is a rotation, which every linear map can undo; each further block makes it less linear. One of
the three forms is that of the invertible network, which favours it; the others favour no map, and
kernel ridge shows what can be learned from so many rows without an assumed form.

Reference: arXiv 2305.14555, the sanity experiment. Deviations: the number of blocks of the
bijection is varied, and two forms are added that are not the network's.

The headline's number: `core.maths.evaluation.scoring.score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import ShapeError
from core.maths.evaluation.costs import fitting
from core.maths.evaluation.judging import fit_each
from core.maths.evaluation.scoring import rows_for, unexplained
from core.maths.evaluation.split import split_rows
from core.maths.maps.bijections import plant
from core.studies.alignment.seeds.study import CITATIONS
from core.studies.alignment.seeds.tables import cells, joined
from core.studies.alignment.seeds.tasks import maps_by_task
from core.studies.kit import (
    PAGE,
    Chart,
    Context,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    Value,
    View,
    sink_argument,
    words_beside,
)
from core.studies.task_kit import Cost, Size, Words, as_identified, costs, extract, pure, span
from core.vectors.sinks import TABLE, words_without_sinks
from extras.alignment.check.charts import check_chart
from extras.alignment.check.spec import CheckSpec
from extras.alignment.check.text import make_headline, make_methods, statements_of

BLOCKS = (0, 1, 2, 4)
COPIES = 2  # of the vectors of all layers, in single precision
COLUMNS = ("truth", "blocks", "method", "nmse", "inverse_error")


def _cost(
    sizes: Mapping[str, Size],
    model: str,
    sentences: Words,
    items: str,
    truths: tuple[str, ...],
    blocks: tuple[int, ...],
    methods: tuple[str, ...],
    **_: Any,
) -> Cost:
    (width, states), rows = costs.shape_of(sizes, model), costs.rows_of(sentences, items)
    maps = len(truths) * len(blocks)
    return Cost(
        fitting(methods, width, rows, maps),
        rows * width * (maps * 3 * costs.DOUBLE + COPIES * states * costs.SINGLE),
        shared=costs.reading(sizes, (model,), sentences),
    )


@pure("alignment.check", version=3, guard=as_identified, cost=_cost)
def check_bijections(
    model: str,
    identity: str,
    sentences: Words,
    items: str,
    split: str,
    layer: int,
    truths: tuple[str, ...],
    blocks: tuple[int, ...],
    methods: tuple[str, ...],
    seed: int,
    sinks: str = "",
) -> Value:
    """Measure the held-out error of undoing each form with each number of blocks, `m/nmse`, and the
    round trip's, `m/inverse` (NaN without an inverse), both (form, number of blocks). Raises
    ShapeError if the layer does not exist, or there are too few rows to split."""
    keep, left_out = None, None
    with span(0.0, 0.2):
        if sinks and items != "cls":
            keep, left_out = words_without_sinks(sentences, None, sinks, (model, {}))
        activations = extract(model, sentences, items=items, keep=keep)
    depth = len(activations.vectors)
    if layer >= depth:
        raise ShapeError(
            f"{model} has layers 0 to {depth - 1}; {layer} was requested: choose another layer."
        )
    truth = activations.vectors[layer].astype(np.float64)
    parts = split_rows(sentences, activations.sentence, activations.word, split, seed)
    bent = np.stack([plant(truth, form, count, seed) for form in truths for count in blocks])
    target = np.broadcast_to(truth, bent.shape)
    train, test = parts.train, parts.test
    value: Value = {"rows": len(train), "notices": list(activations.notices)}
    value |= {TABLE: left_out} if left_out else {}
    mean, bent_mean = truth[train].mean(0), bent[:, train].mean(1, keepdims=True)
    shape = (len(truths), len(blocks))
    for name, aligner in fit_each(methods, seed, bent, target, parts, value, low=0.2):
        undone = aligner.transform(rows_for(aligner, bent, parts.types)[:, test])
        errors, back = unexplained(undone, truth[test], mean), np.full(len(bent), np.nan)
        if aligner.invertible:
            back = unexplained(aligner.inverse_transform(undone), bent[:, test], bent_mean)
        value |= {f"{name}/nmse": errors.reshape(shape), f"{name}/inverse": back.reshape(shape)}
    return value


def plan(spec: CheckSpec, ready: Outputs) -> list[Task]:
    """Plan one task for each non-linear map and one for the others; roles are their methods. Raises
    CorpusError if the text could not be read, ModelError if the model could not be found."""
    return [
        Task.of(
            label,
            check_bijections,
            role=methods,
            group=spec.model,
            model=spec.model,
            identity=ready.need(("identity", spec.model)).content,
            sentences=ready.need("text").words,
            items=spec.items,
            split=spec.split,
            layer=spec.layer,
            truths=spec.truths,
            blocks=BLOCKS,
            methods=methods,
            seed=spec.seed,
            **sink_argument(spec.sinks, ready, spec.model),
        )
        for methods, label in maps_by_task(spec.methods).items()
    ]


def collect(spec: CheckSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the table `check` (COLUMNS) and its headline."""
    refused = [
        value.get(f"{method}/refused", "")
        for methods, value in outputs.values.items()
        for method in methods
    ]
    keys = {"nmse": "nmse", "inverse_error": "inverse"}
    frames = [
        cells(
            {"truth": spec.truths, "blocks": BLOCKS},
            {name: value[f"{method}/{key}"] for name, key in keys.items()},
        ).assign(method=method)
        for methods, value in outputs.values.items()
        for method in methods
        if f"{method}/refused" not in value
    ]
    table = joined(frames, COLUMNS).sort_values(
        ["truth", "blocks", "nmse"], kind="stable", ignore_index=True
    )
    corpus = ready.need("text")
    statements = statements_of(table)
    return Findings(
        headline=make_headline(statements),
        statements=statements,
        tables={"check": table},
        notices=refused,
        models=(spec.model,),
        corpus=corpus,
        methods=make_methods(spec),
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the error of undoing each form of bijection, by its number of blocks, a line per map."""
    return {
        f"check-{truth}": check_chart(result, truth, context=context)
        for truth in result.spec["truths"]
    }


STUDY = Study(
    name="align check",
    words=words_beside(__file__),
    Spec=CheckSpec,
    plan=plan,
    collect=collect,
    cites=(*CITATIONS, "behrmann2019"),
    views=(View(draw=figures),),
)
