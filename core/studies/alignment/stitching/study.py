"""Stitching: the lower layers of one model, a map, the upper layers and the head of another.

If two models compute the same function up to a map, the target's upper layers and head work on the
source's mapped states. The map at layer k is fitted on subword states of unlabelled sentences; then
each labelled sentence is run through the source up to k, the map, and the target from k to its
head. The per-subword average, which ignores the source model, is a control.

References: Lenc & Vedaldi 2015; Bansal, Nakkiran & Barak 2021 (model stitching). Deviations: the
map is fitted to the target's states and never trained on the task's loss, so that it cannot learn
the task.

The headline's number: `core.studies.alignment.forward.stitched_labels`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from core.maths.maps.registry import METHODS
from core.maths.resampled import Resampled
from core.maths.statistics import LEVEL, corrected_level, sentence_counts
from core.models.identity import pairs_of_one_tokenizer
from core.studies.alignment.pairs import pair_notices, pair_tasks, prepare_pairs
from core.studies.alignment.seeds.curves import method_looks, named_methods
from core.studies.alignment.seeds.study import CITATIONS
from core.studies.alignment.seeds.tables import joined
from core.studies.alignment.stitching.spec import StitchSpec
from core.studies.alignment.stitching.tasks import UNLIKE, stitch_pair
from core.studies.alignment.stitching.text import (
    AT_LAYER_0,
    LOOKUP,
    UNMODIFIED,
    make_headline,
    make_methods,
    statements_of,
)
from core.studies.chart_kit import Rule, layer_chart, span_of
from core.studies.kit import (
    PAGE,
    Chart,
    Context,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    Text,
    View,
    words_beside,
)
from core.text.labelled import read_labelled

COLUMNS = ("source", "target", "layer", "method", "accuracy", "low", "high")
MEANS = ("method", "layer", "accuracy", "low", "high")
DIFFERENCES = ("method", "layer", "baseline", "difference", "low", "high", "level")


def prepare(spec: StitchSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text and the labelled sentences, identify the models."""
    labels = Task.of(
        "read labelled sentences", read_labelled, role="labelled", fleeting=True, path=spec.labelled
    )
    return [*prepare_pairs(spec, texts), labels]


def plan(spec: StitchSpec, ready: Outputs) -> list[Task]:
    """Plan one task for each ordered pair and one for each model with itself; roles are (source,
    target). Raises CorpusError if the text or the labelled sentences could not be read, ModelError
    if no two models read the same subwords."""
    pairs, _ = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)
    pairs = [*((ref, ref) for ref in dict(pairs)), *pairs]
    return pair_tasks(spec, ready, stitch_pair, pairs, labelled=ready.need("labelled"))


def collect(spec: StitchSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `stitching` (COLUMNS), `own` (model, accuracy, low, high), over pairs of
    different models `means` (MEANS), and `differences` (DIFFERENCES) of that from each baseline,
    with intervals from the same bootstrap samples."""
    labelled = len(ready.need("labelled"))
    counts = sentence_counts(labelled, spec.draws, np.random.default_rng(spec.seed))
    rows = []
    unmodified: dict[str, np.ndarray] = {}
    stitched: dict[str, list[np.ndarray]] = {}
    for (source, target), value in outputs.values.items():
        unmodified |= {source: value["own_source"], target: value["own_target"]}
        for method in spec.methods:
            if (correct := value.get(f"{method}/correct")) is None:
                continue
            named = {"source": source, "target": target, "method": method}
            rows.append(_accuracy(correct, counts).assign(**named, layer=range(len(correct))))
            if source != target:
                stitched.setdefault(method, []).append(correct)
    accuracies = [
        _accuracy(correct[None], counts).assign(model=ref) for ref, correct in unmodified.items()
    ]
    alone = joined(accuracies, ("model", "accuracy", "low", "high"))
    means, differences = (joined([], columns) for columns in (MEANS, DIFFERENCES))
    if stitched:
        means, differences = _means(stitched, unmodified, counts)
    statements = statements_of(means, differences, float(alone["accuracy"].mean()))
    corpus = ready.need("text")
    return Findings(
        headline=make_headline(statements),
        statements=statements,
        tables={
            "stitching": joined(rows, COLUMNS),
            "own": alone,
            "means": means,
            "differences": differences,
        },
        notices=pair_notices(spec, ready, outputs, UNLIKE),
        models=tuple(unmodified),
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences), labelled),
    )


def _means(
    stitched: dict[str, list[np.ndarray]], unmodified: dict[str, np.ndarray], counts: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make MEANS and DIFFERENCES from right answers: of each pair by method (layer, text), of each
    unmodified model (text,); bootstrap counts are (draw, text)."""
    accuracy = {method: np.mean(pairs, axis=0) for method, pairs in stitched.items()}
    level = corrected_level(sum(METHODS[name].kind != "control" for name in accuracy))
    baselines = {UNMODIFIED: np.mean(list(unmodified.values()), axis=0)}
    if LOOKUP in accuracy:
        baselines[LOOKUP] = accuracy[LOOKUP]
    means, differences = [], []
    for method, mean in accuracy.items():
        named = {"method": method, "layer": range(len(mean))}
        means.append(_accuracy(mean, counts).assign(**named))
        for baseline, beside in (baselines | {AT_LAYER_0: mean[0]}).items():
            apart = _accuracy(mean - beside, counts, level).rename(
                columns={"accuracy": "difference"}
            )
            differences.append(apart.assign(**named, baseline=baseline, level=level))
    return joined(means, MEANS), joined(differences, DIFFERENCES)


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw accuracy by the layer of the stitch, mean over pairs of different models, and of
    unmodified models; no figure where no pair could be stitched."""
    rows = named_methods(result.tables["means"])
    if rows.empty:
        return {}
    unstitched = float(result.tables["own"]["accuracy"].mean())
    low, high = span_of(rows["accuracy"], rows["low"], rows["high"], [unstitched])
    looks = method_looks(rows["method"])
    below = "dashed line across: unmodified models; bands: 95 % intervals over sentences"
    chart = layer_chart(
        rows, "accuracy", looks, "Accuracy of stitched models", below,
        x_title="Layer of the stitch (0 = embeddings)", ends=(max(low, 0.0), min(high, 1.0)),
        rules=[Rule(UNMODIFIED, unstitched, (4, 4))], line="Map", context=context,
    )  # fmt: skip
    return {"stitching": chart}


def _accuracy(correct: np.ndarray, counts: np.ndarray, level: float = LEVEL) -> pd.DataFrame:
    """Make a table (accuracy, low, high) of each row of `correct` (layer, text), with bootstrap
    counts (draw, text)."""
    accuracy = Resampled.of(correct, np.ones(correct.shape[1]), counts).with_interval(level)
    return pd.DataFrame(dict(zip(("accuracy", "low", "high"), accuracy, strict=True)))


STUDY = Study(
    name="align stitch",
    words=words_beside(__file__),
    Spec=StitchSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=(*CITATIONS, "bansal2021"),
    views=(View(draw=figures),),
)
