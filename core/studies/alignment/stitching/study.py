"""Stitching: the lower layers of one model, a map, the upper layers and the head of another.

If two models compute the same function up to a map, the target's upper layers and head work on the
source's mapped states. The map at layer k is fitted on subword states of unlabelled sentences; then
each labelled sentence is run through the source up to k, the map, and the target from k to its
head. The per-subword average, which ignores the source model, is a control.

References: Lenc & Vedaldi 2015; Bansal, Nakkiran & Barak 2021 (model stitching). Deviations: the
map is fitted to the target's states and never trained on the task's loss, so that it cannot learn
the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError, ShapeError
from core.maths.arrays import Value, Words
from core.maths.evaluation.costs import fitting
from core.maths.evaluation.judging import fit_each
from core.maths.evaluation.split import part_of, parts_from
from core.maths.maps.linear import Aligner
from core.maths.progress import span, tick
from core.maths.statistics import bootstrap_interval, sentence_counts
from core.models import costs, load_tokenizer, load_with_head
from core.models.identity import (
    as_identified,
    check_tokenizers,
    contents,
    identity_tasks,
    pairs_of_one_tokenizer,
)
from core.models.sizes import Size
from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.results.findings import Findings
from core.results.words import words_beside
from core.runs.price import Cost
from core.runs.runner import Outputs, Task
from core.runs.tasks import pure
from core.studies.alignment.seeds.study import CITATIONS
from core.studies.alignment.stitching.charts import stitching_chart
from core.studies.alignment.stitching.spec import StitchSpec
from core.studies.alignment.stitching.text import make_headline, make_methods, statements_of
from core.study import EXPERIMENTS, Study, View
from core.text.corpora import Corpus
from core.text.labelled import Labelled, read_labelled
from core.text.reading import Text, text_task

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("source", "target", "layer", "method", "accuracy", "low", "high")
MEANS = ("method", "layer", "accuracy", "low", "high")
DIFFERENCES = ("method", "layer", "difference", "low", "high")
# Sentences that are stitched at once, their length over the mean's as they are padded, rows of them
# that are mapped at once, and copies of these that a network makes
STITCHED, LONGEST, MAPPED_ROWS, BY_NETWORK = 64, 2.0, 512, 6
UNLIKE = "one cannot continue from the other's states"  # of models with different tokenizers


def _cost(
    sizes: Mapping[str, Size],
    source: str,
    target: str,
    sentences: Words,
    labelled: Labelled,
    methods: tuple[str, ...],
    **_: Any,
) -> Cost:
    lower, upper = sizes[source], sizes[target]
    width, states = max(lower.d_model, upper.d_model), upper.layers + 1
    rows, texts = len(sentences) * costs.SUBWORDS, len(sentences) + len(labelled)
    read = sum(costs.opening(size) + costs.passing(size, texts) for size in (lower, upper))
    # the layers above the map run again for each map
    stitched = costs.passing(upper, len(labelled), len(methods) * states / 2)
    fitted = 3 * 2 * rows  # rows of both models, and copies of those of training
    padded = 2 * STITCHED * LONGEST * costs.SUBWORDS
    held = max(fitted, 2 * 2 * rows + padded + BY_NETWORK * MAPPED_ROWS)
    return Cost(
        read + stitched + fitting(methods, width, rows, states),
        states * width * costs.DOUBLE * held + costs.SINGLE * (upper.parameters + lower.parameters),
    )


@pure("alignment.stitch", version=3, guard=as_identified, cost=_cost)
def stitch_pair(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    labelled: Labelled,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Stitch two models by every method at every layer and classify the labelled sentences.

    Args:
        source, target: References of two models with a sequence-classification head for one task.
        source_identity, target_identity: For the key, see `models.identity`.
        sentences: Unlabelled sentences on which the maps are fitted.
        labelled: (text, label) pairs; labels as in the target's config.
        methods: Names in the registry.
        seed: Of the split and the networks.

    Returns:
        `m/correct` (layer, text) for each method, `m/refused` with the reason where one does not
        fit; `own_target` and `own_source` (text,), whether the unmodified models are correct;
        `rows`, the number of training rows.

    Raises:
        ModelError: If a model cannot be loaded, has no such head, or the tokenizers or depths
            differ.
        ShapeError: If a label is unknown to the target.
    """
    from core.studies.alignment.seeds.forward import predict_labels, stitched_labels, subword_rows

    check_tokenizers(source, target, UNLIKE)
    tokenizer = load_tokenizer(target, source)
    lower, upper = (load_with_head(ref, device="cpu").model for ref in (source, target))
    names = _labels(target, upper.config)
    unknown = sorted({label for _, label in labelled} - set(names))
    if unknown:
        raise ShapeError(
            f"{target} has no class {unknown[0]!r} among {', '.join(names)}: "
            "correct the labelled sentences."
        )
    with span(0.0, 0.2):
        tick(0.1, "computing states of the unlabelled sentences")
        x, owner, subwords = subword_rows(lower, tokenizer, sentences)
        y = subword_rows(upper, tokenizer, sentences)[0]
    if len(x) != len(y):
        raise ModelError(
            f"{source} has {len(x) - 1} layers and {target} {len(y) - 1}: "
            "choose models with the same number of layers."
        )
    where = np.array([part_of(words, seed) for words in sentences])[owner]
    parts = parts_from(where, subwords, owner)
    truth = np.array([names.index(label) for _, label in labelled])
    value: Value = {"rows": len(parts.train)}
    value["own_target"] = predict_labels(upper, tokenizer, [text for text, _ in labelled]) == truth
    value["own_source"] = predict_labels(lower, tokenizer, [text for text, _ in labelled]) == truth
    aligners: dict[str, Aligner] = dict(
        fit_each(methods, seed, x, y, parts, value, low=0.2, high=0.7)
    )
    with span(0.7, 1.0):
        labels_by_method = stitched_labels(lower, upper, tokenizer, labelled, aligners)
    return value | {f"{name}/correct": labels == truth for name, labels in labels_by_method.items()}


def _labels(ref: str, config: Any) -> list[str]:
    """Names of the classes, in order.

    Raises:
        ModelError: If the model has no sequence-classification head.
    """
    architecture = str((getattr(config, "architectures", None) or ["none"])[0])
    if not architecture.endswith("ForSequenceClassification"):
        raise ModelError(
            f"{ref} has no head that classifies sentences (architecture: {architecture}): "
            "choose a fine-tuned classifier, such as an included sentiment model."
        )
    return [str(config.id2label[number]) for number in range(config.num_labels)]


def prepare(spec: StitchSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text and the labelled sentences, identify the models."""
    labels = Task.of(
        "read labelled sentences", read_labelled, role="labelled", fleeting=True, path=spec.labelled
    )
    return [
        text_task(spec.corpus, spec.genres, spec.sentences, texts),
        labels,
        *identity_tasks(spec.models, tokenizers=True),
    ]


def plan(spec: StitchSpec, ready: Outputs) -> list[Task]:
    """Plan one task for each ordered pair and one for each model with itself; roles are (source,
    target).

    Raises:
        CorpusError: If the text or the labelled sentences could not be read.
        ModelError: If no two models read the same subwords.
    """
    content = contents(ready)
    pairs, _ = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)
    return [
        Task.of(
            f"{source} → {target}",
            stitch_pair,
            role=(source, target),
            group=target,
            source=source,
            target=target,
            source_identity=content[source],
            target_identity=content[target],
            sentences=ready.need("text").words,
            labelled=ready.need("labelled"),
            methods=spec.methods,
            seed=spec.seed,
        )
        for source, target in [*((ref, ref) for ref in dict(pairs)), *pairs]
    ]


def collect(spec: StitchSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `stitching` (COLUMNS), `own` (model, accuracy, low, high), `means` and
    `differences`.

    `means` (MEANS) averages over pairs of different models; `differences` (DIFFERENCES) is that
    minus the mean accuracy of the unmodified models, with intervals from the same bootstrap
    samples.
    """
    import pandas as pd

    rows, notices = [], pairs_of_one_tokenizer(spec.models, ready, UNLIKE)[1]
    unstitched: dict[str, dict[str, Any]] = {}
    unmodified: dict[str, np.ndarray] = {}
    stitched: dict[str, list[np.ndarray]] = {}
    for (source, target), value in outputs.values.items():
        counts = sentence_counts(
            len(value["own_target"]), spec.draws, np.random.default_rng(spec.seed)
        )
        for ref, what in ((source, "own_source"), (target, "own_target")):
            unstitched[ref] = {
                "model": ref,
                **_accuracy(value[what][None], counts).iloc[0].to_dict(),
            }
            unmodified[ref] = np.asarray(value[what], dtype=np.float64)
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(f"{source} to {target}: {value[f'{method}/refused']}")
            if f"{method}/correct" in value:
                accuracy = _accuracy(value[f"{method}/correct"], counts)
                rows.append(
                    accuracy.assign(
                        source=source, target=target, method=method, layer=range(len(accuracy))
                    )
                )
                if source != target:
                    stitched.setdefault(method, []).append(
                        np.asarray(value[f"{method}/correct"], dtype=np.float64)
                    )
    table = (
        pd.concat(rows, ignore_index=True)[list(COLUMNS)]
        if rows
        else pd.DataFrame(columns=list(COLUMNS))
    )
    mine = pd.DataFrame(unstitched.values(), columns=["model", "accuracy", "low", "high"])
    means, differences = _means(stitched, unmodified, counts) if stitched else _no_means()
    statements = statements_of(means, differences, float(mine["accuracy"].mean()))
    corpus: Corpus = ready.values["text"]
    return Findings(
        headline=make_headline(statements),
        statements=statements,
        tables={"stitching": table, "own": mine, "means": means, "differences": differences},
        notices=[*corpus.notices, *notices],
        models=tuple(unstitched),
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences), len(ready.values["labelled"])),
        cites=(*CITATIONS, "bansal2021"),
    )


def _means(
    stitched: dict[str, list[np.ndarray]], unmodified: dict[str, np.ndarray], counts: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """MEANS and DIFFERENCES.

    Args:
        stitched: Correct answers (layer, text) of each pair, by method.
        unmodified: Correct answers (text,) of each unmodified model.
        counts: Bootstrap counts (draw, text).
    """
    import pandas as pd

    whole = np.mean(list(unmodified.values()), axis=0)
    tables: tuple[list[pd.DataFrame], list[pd.DataFrame]] = ([], [])
    for method, pairs in stitched.items():
        mean = np.mean(pairs, axis=0)
        accuracy, difference = (_accuracy(part, counts) for part in (mean, mean - whole))
        for frames, frame in zip(tables, (accuracy, difference), strict=True):
            frames.append(frame.assign(method=method, layer=range(len(frame))))
    means, differences = (pd.concat(frames, ignore_index=True) for frames in tables)
    return means[list(MEANS)], differences.rename(columns={"accuracy": "difference"})[
        list(DIFFERENCES)
    ]


def _no_means() -> tuple[pd.DataFrame, pd.DataFrame]:
    import pandas as pd

    return pd.DataFrame(columns=list(MEANS)), pd.DataFrame(columns=list(DIFFERENCES))


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the accuracy of stitched models; no figure where no pair could be stitched."""
    across = result.table["source"] != result.table["target"]
    return {"stitching": stitching_chart(result, context=context)} if across.any() else {}


def _accuracy(correct: np.ndarray, counts: np.ndarray) -> pd.DataFrame:
    """accuracy, low, high of each row of `correct` (layer, text), with bootstrap counts (draw,
    text)."""
    import pandas as pd

    accuracy = correct.mean(1)
    drawn = counts @ correct.T.astype(np.float64) / correct.shape[1]
    low, high = bootstrap_interval(accuracy, drawn)
    return pd.DataFrame({"accuracy": accuracy, "low": low, "high": high})


STUDY = Study(
    name="align stitch",
    words=words_beside(__file__),
    Spec=StitchSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    views=(View(group=EXPERIMENTS),),
)
