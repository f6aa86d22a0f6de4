"""The bijection check: real hidden states are bent by a known bijection, and each map is asked to undo it.

The truth is a bijection by construction, so whatever error a map leaves is the map's. With no block every truth is a
rotation, which every linear map undoes; each further block bends the space more. One of the three forms is the
invertible network's own, which favours it; the others favour nobody, and kernel ridge says what can be reached from so
many rows without being told any form.

Reference: arXiv 2305.14555, the sanity experiment. Deviations: the number of blocks of the truth is varied, and two
forms are added that are not the network's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.alignment.check import PURPOSE
from core.alignment.check.drawings import check_chart
from core.alignment.check.spec import TRUTHS, CheckSpec
from core.alignment.maps.bijections import FORMS, plant
from core.alignment.maps.registry import METHODS
from core.alignment.prices import check_price
from core.alignment.seeds.protocol import TINY, rows_for, split_rows
from core.alignment.seeds.study import CITATIONS
from core.alignment.seeds.tasks import fit_each
from core.alignment.seeds.text import CAVEATS, FORMULAS
from core.errors import ShapeError
from core.models.identity import as_identified, identity_tasks
from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import Chart
from core.results.export import Result, provenance
from core.results.numbers import text_of
from core.results.papers.citing import cite
from core.runs.runner import Outputs, Task, span
from core.runs.store import Value
from core.runs.tasks import pure
from core.study import Study
from core.text.corpora import Corpus
from core.text.reading import Text, text_task
from core.vectors.activations import extract
from core.vectors.pairs import Words

if TYPE_CHECKING:
    import pandas as pd

BLOCKS = (0, 1, 2, 4)
COLUMNS = ("truth", "blocks", "method", "nmse", "inverse_error")
assert TRUTHS.keys() == FORMS.keys()


@pure("alignment.check", version=3, guard=as_identified)
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
) -> Value:
    """Held-out error of undoing each truth with each number of blocks; all of them are fitted side by side.

    Returns:
        `m/nmse` and `m/inverse` (truth, number of blocks) for each method, NaN without an inverse; `m/refused` where
        it does not fit; `rows`; `notices`.

    Raises:
        ModelError: If the model cannot be loaded.
        ShapeError: If the layer does not exist, or there are too few rows to split.
    """
    with span(0.0, 0.2):
        activations = extract(model, sentences, items=items)
    depth = len(activations.vectors)
    if layer >= depth:
        raise ShapeError(f"Layers run from 0 to {depth - 1} here; {layer} was asked for.")
    truth = activations.vectors[layer].astype(np.float64)
    parts = split_rows(sentences, activations.sentence, activations.word, split, seed)
    bent = np.stack([plant(truth, form, count, seed) for form in truths for count in blocks])
    target = np.broadcast_to(truth, bent.shape)
    train, test = parts.train, parts.test
    value: Value = {"rows": len(train), "notices": list(activations.notices)}
    spread = max(float(((truth[test] - truth[train].mean(0)) ** 2).sum()), TINY)
    bent_spread = ((bent[:, test] - bent[:, train].mean(1, keepdims=True)) ** 2).sum((1, 2))
    shape = (len(truths), len(blocks))
    for name, aligner in fit_each(methods, seed, bent, target, parts, value, low=0.2):
        undone = aligner.transform(rows_for(aligner, bent, parts.types)[:, test])
        value[f"{name}/nmse"] = (((undone - truth[test]) ** 2).sum((1, 2)) / spread).reshape(shape)
        value[f"{name}/inverse"] = np.full(shape, np.nan)
        if aligner.invertible:
            back = ((aligner.inverse_transform(undone) - bent[:, test]) ** 2).sum((1, 2))
            value[f"{name}/inverse"] = (back / np.maximum(bent_spread, TINY)).reshape(shape)
    return value


def prepare(spec: CheckSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read the text, ask what the model is."""
    return [text_task(spec.corpus, spec.genres, spec.sentences, texts), *identity_tasks([spec.model])]


def plan(spec: CheckSpec, ready: Outputs) -> list[Task]:
    """One task for each non-linear map and one for the others; roles are their methods.

    Raises:
        CorpusError: If the text could not be read.
        ModelError: If the model could not be found.
    """
    slow = [(name,) for name in spec.methods if METHODS[name].kind == "non-linear"]
    quick = tuple(name for name in spec.methods if METHODS[name].kind != "non-linear")
    return [
        Task.of(
            METHODS[methods[0]].label if methods in slow else "linear maps and controls",
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
        )
        for methods in ([*slow, quick] if quick else slow)
    ]


def collect(spec: CheckSpec, ready: Outputs, outputs: Outputs) -> Result:
    """The table `check` (COLUMNS) and its headline."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    notices: list[str] = []
    for methods, value in outputs.values.items():
        notices += value["notices"]
        for method in methods:
            if f"{method}/refused" in value:
                notices.append(value[f"{method}/refused"])
                continue
            for place, truth in enumerate(spec.truths):
                for step, blocks in enumerate(BLOCKS):
                    errors = [float(value[f"{method}/{what}"][place, step]) for what in ("nmse", "inverse")]
                    rows.append(dict(zip(COLUMNS, (truth, blocks, method, *errors), strict=True)))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table = table.sort_values(["truth", "blocks", "nmse"], kind="stable", ignore_index=True)
    corpus: Corpus = ready.values["text"]
    return Result(
        study="align check",
        spec=spec.plain(),
        headline=make_headline(table),
        tables={"check": table},
        notices=tuple(dict.fromkeys([*corpus.notices, *notices])),
        failures=ready.sentences | outputs.sentences,
        provenance=provenance((spec.model,), corpus),
        methods=(
            f"States of {spec.model} at layer {spec.layer} were centred, scaled, rotated and sent through random "
            f"bijections ({', '.join(TRUTHS[truth] for truth in spec.truths)}); each map was fitted to undo them on "
            f"training rows, split by {spec.split}, and scored on held-out ones. The truth is a bijection, so what is "
            "left is the map's own error."
            f" {spec.settings()}"
        ),
        citations=cite((*CITATIONS, "behrmann2019")),
    )


def make_headline(table: pd.DataFrame) -> str:
    """Which map undoes the most bent truth of each form best, and where the invertible network stands."""
    if table.empty:
        return "The check could not be run; the reasons are below."
    most = table[table["blocks"] == table["blocks"].max()]
    errors = most.pivot_table(index="truth", columns="method", values="nmse", sort=False)
    best = errors.idxmin(axis=1)
    clauses = [
        f"{METHODS[str(name)].label} ({_listed(errors.loc[best == name, name])})" for name in dict.fromkeys(best)
    ]
    text = f"Known bijections of {most['blocks'].iloc[0]} blocks are undone best by {' and '.join(clauses)}"
    rivals = [name for name in ("kernel", "inn", "ols") if name in errors and not (best == name).all()]
    if not rivals:
        return f"{text}: held-out errors."
    more = "; ".join(f"{METHODS[name].label}: {_listed(errors[name])}" for name in rivals)
    return f"{text}: held-out errors. Beside it, {more}."


def _listed(errors: pd.Series[float]) -> str:
    """Errors by form of the truth."""
    return ", ".join(f"{truth} {text_of(float(error))}" for truth, error in errors.dropna().items())


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Error of undoing each form of truth, by how many blocks it has."""
    if result.table.empty:
        return {}
    return {
        f"check-{truth}": check_chart(result, truth, TRUTHS[truth], context=context)
        for truth in result.spec["truths"]
    }


STUDY = Study(
    name="align check",
    title="Bijection check",
    purpose=PURPOSE,
    Spec=CheckSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=check_price,
    caveats=CAVEATS,
    formulas=FORMULAS,
)
