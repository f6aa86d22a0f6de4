"""A benchmark with known answers: how well each measure finds the layers that are known to have
changed.

The answers are known for frozen fine-tunes, whose lower layers were not trained, and for planted
models, in which a known choice of layers is a fine-tune's. A measure's area under the ROC curve
(AUC) is the probability that a changed layer looks less similar than an unchanged one. Two
baselines are scored the same way: the layer number alone, and the size of the weight change, which
needs no text.

Reference:
    Ding, Denain & Steinhardt 2021, NeurIPS, Grounding representation similarity with statistical
    testing (measures compared with known differences).
Deviations: the known differences are changed layers of fine-tunes, and the score is the AUC.

The headline's number: `core.maths.ranks.area`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.ranks import area
from core.studies.kit import (
    Corpus,
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    change_tasks,
    changes_of,
    contents,
    prepare_named,
    sink_argument,
    start_notices,
    words_beside,
)
from extras.rsa.truth.areas import (
    area_at_equal_depth,
    area_band,
    area_replicates,
    lows_together,
)
from extras.rsa.truth.report import (
    EQUAL,
    ROUNDINGS,
    figures,
    make_headline,
    make_notices,
    said,
    statements_of,
)
from extras.rsa.truth.spec import TruthSpec

COLUMNS = (
    *("finder", "truth", "reading", "matched", "rounding", "auc", "low", "high", "low_together"),
    *("same_depth", "changed", "unchanged", "models", "fine_tunes"),
)
CITATIONS = ("ding2021", "merchant2020", "efron1993", "hothorn2008")
DEPTH, WEIGHTS = "depth", "weights"
# fine-tunes that a band needs; frozen ones of a task are no independent draws, and few are included
FEWEST = {"frozen": 10, "planted": 3}


def prepare(spec: TruthSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Read the text, identify the models, measure their weight changes."""
    return [*prepare_named(spec, texts), *change_tasks(spec.base, (*spec.compare, *spec.planted))]


def plan(spec: TruthSpec, ready: Outputs) -> list[Task]:
    """Make a task for each fine-tune, unmodified and matched in size. Raises ModelError if the base
    could not be found, CorpusError if the text could not be read."""
    from extras.rsa.truth.tasks import compare_frozen, compare_planted

    content = contents(ready)
    shared: dict[str, Any] = {
        "base": spec.base,
        "base_identity": ready.need(("identity", spec.base)).content,
        "sentences": ready.need("text").words,
        "items": spec.words,
        "measures": spec.measures,
        "seed": spec.seed,
    }
    tasks, changes = [], changes_of(ready)
    for kind, refs in (("frozen", spec.compare), ("planted", spec.planted)):
        sizes = {
            ref: changes[ref].size if ref in changes else np.nan for ref in refs if ref in content
        }
        moved = [size for size in sizes.values() if size > 0]
        for ref, size in sizes.items():
            share = min(moved) / size if size > 0 else 1.0
            for matched in (False, True) if share < 1.0 else (False,):
                more: dict[str, Any] = {"roundings": tuple(ROUNDINGS)} if kind == "frozen" else {
                    "rounding": EQUAL, "plants": spec.plants,
                }  # fmt: skip
                tasks.append(
                    Task.of(
                        f"{ref}{', matched in size' if matched else ''}",
                        compare_frozen if kind == "frozen" else compare_planted,
                        role=(kind, ref, matched),
                        group=spec.base,
                        model=ref,
                        model_identity=content[ref],
                        share=share if matched else 1.0,
                        **shared,
                        **more,
                        **sink_argument(spec.sinks, ready, spec.base, ref),
                    )
                )
    return tasks


def collect(spec: TruthSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the table `truth` (COLUMNS), its statements, headline and methods."""
    rows = []
    for matched in (False, True):
        for kind in ("frozen", "planted"):
            # The smallest change of all keeps its size: unmatched and matched, it is the same.
            refs = spec.compare if kind == "frozen" else spec.planted
            if matched and not any((kind, ref, True) in outputs.values for ref in refs):
                continue
            values = [
                outputs.values.get((kind, ref, matched), outputs.values.get((kind, ref, False)))
                for ref in refs
            ]
            there = [value for value in values if value is not None]
            if there:
                rows += [row | {"matched": matched} for row in _rows(spec, kind, there)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    corpus: Corpus = ready.values["text"]
    statements = statements_of(table)
    used = tuple(dict.fromkeys(role[1] for role in outputs.values))
    return Findings(
        headline=make_headline(statements),
        statements=statements,
        tables={"truth": table},
        notices=(
            *start_notices(spec.base, changes_of(ready)),
            *make_notices(table, FEWEST),
        ),
        models=(spec.base, *used),
        corpus=corpus,
        methods=said(
            "methods",
            **vars(spec),
            frozen=", ".join(spec.compare),
            tuned=", ".join(spec.planted),
            covered=said("covered"),
        ),
    )


def _rows(spec: TruthSpec, kind: str, values: list[Value]) -> list[dict[str, Any]]:
    """Make a row for each measure or baseline, rounding and reading."""
    rows = []
    if kind == "frozen":
        truth = np.stack([value["changed"] for value in values])[:, None]
        for number, rounding in enumerate(ROUNDINGS):
            scores = {
                name: 1 - np.stack([value["similarity"][number, place] for value in values])
                for place, name in enumerate(spec.measures)
            }
            scores[WEIGHTS] = np.stack([value["size"][number] for value in values])
            scores = {name: score[:, None] for name, score in scores.items()}
            rows += _task_rows(spec, scores, truth, "state", rounding, kind)
        return rows
    truth = np.stack([value["changed"] for value in values])
    sizes = np.stack([value["size"] for value in values])
    for reading in ("state", "drop", "answer"):
        scores = {}
        for place, name in enumerate(spec.measures):
            similarity = np.stack(
                [value["similarity"][:, int(reading == "answer"), place] for value in values]
            )
            below = np.concatenate([np.ones_like(similarity[..., :1]), similarity[..., :-1]], -1)
            scores[name] = below - similarity if reading == "drop" else 1 - similarity
        scores[WEIGHTS] = sizes
        rows += _task_rows(spec, scores, truth, reading, EQUAL, kind)
    return rows


def _task_rows(
    spec: TruthSpec,
    scores: Mapping[str, NDArray[np.float64]],
    truth: NDArray[np.bool_],
    reading: str,
    rounding: float,
    kind: str,
) -> list[dict[str, Any]]:
    """Make a row for each measure and baseline, the layer number among them: the AUC over the
    layers of all models, from (fine-tune, planted model, layer), with bands where there are enough
    fine-tunes."""
    depth = np.broadcast_to(np.arange(truth.shape[-1], dtype=float), truth.shape)
    scores = {**scores, DEPTH: depth}
    changed = truth.reshape(-1, truth.shape[-1])
    rows: list[dict[str, Any]] = []
    for name, score in scores.items():
        scored = score.reshape(-1, score.shape[-1])
        rows.append(
            {
                "finder": name,
                "truth": kind,
                "reading": reading,
                "rounding": rounding,
                "auc": area(changed.ravel(), scored.ravel()),
                **dict.fromkeys(("low", "high", "low_together"), float("nan")),
                "same_depth": area_at_equal_depth(changed, scored),
                "changed": int(changed.sum()),
                "unchanged": int((~changed).sum()),
                "models": len(changed),
                "fine_tunes": len(truth),
            }
        )
    if len(truth) < FEWEST[kind]:
        return rows
    replicates = np.array([area_replicates(truth, score) for score in scores.values()])
    for row, without in zip(rows, replicates, strict=True):
        row["low"], row["high"] = area_band(float(row["auc"]), without)
    tested = [number for number, row in enumerate(rows) if row["finder"] in spec.measures]
    aucs = np.array([rows[number]["auc"] for number in tested])
    for number, low in zip(tested, lows_together(aucs, replicates[tested], spec.seed), strict=True):
        rows[number]["low_together"] = float(low)
    return rows


STUDY = Study(
    name="truth",
    words=words_beside(__file__),
    Spec=TruthSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=figures),),
)
