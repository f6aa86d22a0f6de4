"""Attention of two models: do their heads attend to the same words, and can their attention outputs
be aligned?

Two seeds do not order their heads alike, so each head of the source is first matched with one head
of the target in the same layer, one to one, so that the summed correlation of their attention
probabilities on training sentences is largest (the Hungarian method). Results are on held-out
sentences: the correlation of matched heads, compared with random matching; the correlation of every
head of the first pair with every head of any layer; and the error of maps between attention
outputs, as for hidden states.

References: arXiv 2305.14555 (attention); Kuhn 1955 (the Hungarian method, by scipy). Deviations:
probabilities are compared head by head after matching, because a map would not turn distributions
into distributions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from core.errors import ModelError, ShapeError
from core.maths.arrays import Value, Words
from core.maths.evaluation.costs import PRODUCTS, fitting
from core.maths.evaluation.judging import fit_each
from core.maths.evaluation.scoring import rows_for
from core.maths.evaluation.split import part_of, parts_from
from core.maths.maps.moments import TINY
from core.maths.progress import span, tick
from core.maths.statistics import interval
from core.models import costs, load_tokenizer
from core.models.identity import (
    as_identified,
    check_tokenizers,
    contents,
    identity_tasks,
    pairs_of_one_tokenizer,
)
from core.models.loading.memory import borrow_model
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
from core.study import EXPERIMENTS, Study, View
from core.text.corpora import Corpus
from core.text.reading import Text, text_task
from extras.alignment.attention.charts import head_chart, matrix_chart, output_chart
from extras.alignment.attention.spec import AttentionSpec
from extras.alignment.attention.text import make_headline, make_methods, statements_of

if TYPE_CHECKING:
    import pandas as pd
    from torch import nn

    from core.models.loading.tokenizers import Tokenizer


HEAD_COLUMNS = (
    *("source", "target", "layer", "head", "match"),
    *("correlation", "null_low", "null_high"),
)
MATRIX_COLUMNS = (
    *("source", "target", "source_layer", "source_head"),
    *("target_layer", "target_head", "correlation"),
)
OUTPUT_COLUMNS = ("source", "target", "layer", "method", "nmse")
NULL_DRAWS = 200
UNLIKE = "their attention cannot be compared"  # of models with different tokenizers


def _cost(
    sizes: Mapping[str, Size], source: str, target: str, sentences: Words,
    methods: tuple[str, ...], **_: Any,
) -> Cost:  # fmt: skip
    pair, count = (sizes[source], sizes[target]), len(sentences)
    width, layers = (max(getattr(size, name) for size in pair) for name in ("d_model", "layers"))
    rows, entries = count * costs.SUBWORDS, count * costs.SUBWORDS**2 * 1.3
    heads = layers * max(1.0, width / 64)
    work = sum(costs.opening(size) + costs.passing(size, count) for size in pair)
    work += PRODUCTS * 2 * entries * heads**2 + 2e-8 * entries * heads
    held = 2 * entries * heads * 3 + 2 * layers * rows * width * 2
    weights = costs.SINGLE * max(size.parameters for size in pair)
    return Cost(
        work + fitting(methods, width, rows, layers),
        held * costs.DOUBLE,
        shared={"weights": Cost(0.0, weights)},
    )


@pure("alignment.attention", version=3, guard=as_identified, cost=_cost)
def align_attention(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Match heads and map attention outputs, layer by layer (layer 1 is the first after the
    embeddings).

    Returns:
        `matched` (layer, head): held-out correlation of each source head with its match; `match`
        (layer, head): the number of that target head; `null` (layer, draw): mean correlation under
        random matchings; `matrix` (layer, head, layer, head): held-out correlation of every source
        head with every target head; `m/nmse` (layer,) of the attention outputs for each method,
        `m/refused` with the reason where a method does not fit.

    Raises:
        ModelError: If a model cannot be loaded, does not return its attention, or the tokenizers or
            depths differ.
        ShapeError: If there are too few sentences to split.
    """
    check_tokenizers(source, target, UNLIKE)
    tokenizer = load_tokenizer(target, source)
    where = np.array([part_of(words, seed) for words in sentences])
    if min((where == part).sum() for part in ("train", "validation", "test")) < 1:
        raise ShapeError(
            "The text has too few sentences for training, validation and test: use more sentences."
        )
    read = []
    for place, ref in enumerate((source, target)):
        with (
            span(0.3 * place, 0.3 * (place + 1)),
            borrow_model(ref, device="cpu", attentions=True) as loaded,
        ):
            read.append(_read(loaded.model, tokenizer, sentences, where == "test"))
    (moments_x, x), (moments_y, y) = read[0][:2], read[1][:2]
    if len(x) != len(y):
        raise ModelError(
            f"{source} has {len(x)} layers and {target} {len(y)}: "
            "choose models with the same number of layers."
        )
    owner, subwords = read[0][2:]
    value: Value = _match_heads(moments_x, moments_y, seed)
    parts = parts_from(where[owner], subwords, owner)
    train, test = parts.train, parts.test
    spread = ((y[:, test] - y[:, train].mean(1, keepdims=True)) ** 2).sum((-1, -2))
    for name, aligner in fit_each(methods, seed, x, y, parts, value, low=0.6):
        mapped = aligner.transform(rows_for(aligner, x, parts.types)[:, test])
        value[f"{name}/nmse"] = ((mapped - y[:, test]) ** 2).sum((-1, -2)) / np.maximum(
            spread, TINY
        )
    return value


def _match_heads(x: list[np.ndarray], y: list[np.ndarray], seed: int) -> Value:
    """Match heads on training entries, correlate them on test entries; (part, layer, head,
    entry)."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(seed)
    layers, heads = len(x[0]), len(x[0][0])
    matched, match, null = np.zeros((layers, heads)), np.zeros((layers, heads), dtype=np.int64), []
    flat = (part.reshape(-1, part.shape[-1]) for part in (x[1], y[1]))
    matrix = _correlations(*flat).reshape(layers, heads, *y[1].shape[:2])
    for layer in range(layers):
        train, test = _correlations(x[0][layer], y[0][layer]), matrix[layer, :, layer]
        rows, columns = linear_sum_assignment(-train)
        match[layer, rows] = columns
        matched[layer, rows] = test[rows, columns]
        null.append(
            [
                test[np.arange(heads), rng.permutation(test.shape[1])[:heads]].mean()
                for _ in range(NULL_DRAWS)
            ]
        )
    return {"matched": matched, "match": match, "null": np.array(null), "matrix": matrix}


def _correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson correlation of every head of x (head, entry) with every head of y."""
    x = x - x.mean(-1, keepdims=True)
    y = y - y.mean(-1, keepdims=True)
    norms = np.outer(np.linalg.norm(x, axis=-1), np.linalg.norm(y, axis=-1))
    return cast(np.ndarray, x @ y.T / np.maximum(norms, 1e-300))


def _read(
    model: nn.Module, tokenizer: Tokenizer, sentences: Words, is_test: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities (training, test; layer, head, entry), outputs (layer, row, d_model), their
    sentences, subwords."""
    from core.studies.alignment.seeds.forward import attend, batches

    entries: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    outputs, owners, subwords, done = [], [], [], 0
    for batch in batches(tokenizer, sentences):
        probabilities, vectors = attend(model, batch)
        for row, number in enumerate(batch.sentences):
            length = int(batch.mask[row].sum())
            block = probabilities[:, row, :, :length, :length]
            entries[int(is_test[number])].append(block.flatten(2).numpy().astype(np.float64))
        real = batch.mask.bool()
        outputs.append(vectors[:, real].double().numpy())
        owners.append(np.repeat(batch.sentences, batch.mask.sum(1).numpy()))
        subwords.append(batch.ids[real].numpy())
        done += len(batch.sentences)
        tick(done / len(sentences), "computing attention")
    parts = [np.concatenate(part, axis=-1) for part in entries]
    return parts, np.concatenate(outputs, axis=1), np.concatenate(owners), np.concatenate(subwords)


def prepare(spec: AttentionSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text and identify the models."""
    return [
        text_task(spec.corpus, spec.genres, spec.sentences, texts),
        *identity_tasks(spec.models, tokenizers=True),
    ]


def plan(spec: AttentionSpec, ready: Outputs) -> list[Task]:
    """Plan one task for each ordered pair; roles are (source, target).

    Raises:
        CorpusError: If the text could not be read.
        ModelError: If no two models read the same subwords.
    """
    content = contents(ready)
    pairs, _ = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)
    return [
        Task.of(
            f"{source} → {target}",
            align_attention,
            role=(source, target),
            group=target,
            source=source,
            target=target,
            source_identity=content[source],
            target_identity=content[target],
            sentences=ready.need("text").words,
            methods=spec.methods,
            seed=spec.seed,
        )
        for source, target in pairs
    ]


def collect(spec: AttentionSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `heads` (HEAD_COLUMNS), `outputs` (OUTPUT_COLUMNS) and `head_matrix`
    (MATRIX_COLUMNS).

    The null is the mean correlation under random matching; the matrix is that of the first pair.
    """
    import pandas as pd

    heads, mapped = [], []
    notices = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)[1]
    for (source, target), value in outputs.values.items():
        ends = {"source": source, "target": target}
        heads.append(pd.DataFrame(ends | _head_columns(value)))
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(f"{source} to {target}: {value[f'{method}/refused']}")
            if f"{method}/nmse" in value:
                nmse = value[f"{method}/nmse"]
                mapped.append(
                    pd.DataFrame(
                        {**ends, "layer": np.arange(len(nmse)) + 1, "method": method, "nmse": nmse}
                    )
                )
    empty = ([pd.DataFrame(columns=list(each))] for each in (HEAD_COLUMNS, OUTPUT_COLUMNS))
    head_table, output_table = (
        pd.concat(frames or none, ignore_index=True)
        for frames, none in zip((heads, mapped), empty, strict=True)
    )
    matrix = _matrix_table(outputs)
    statements = statements_of(head_table, output_table, matrix)
    layers, each = (head_table[name].nunique() for name in ("layer", "head"))
    corpus: Corpus = ready.values["text"]
    return Findings(
        headline=make_headline(statements, layers, each),
        statements=statements,
        tables={"heads": head_table, "outputs": output_table, "head_matrix": matrix},
        notices=[*corpus.notices, *notices],
        models=[ref for pair in outputs.values for ref in pair],
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences)),
        cites=(*CITATIONS, "kuhn1955"),
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw matched heads and mapped outputs; no figure where nothing could be computed."""
    if result.table.empty:
        return {}
    return {
        "heads": head_chart(result, context=context),
        "outputs": output_chart(result, context=context),
        "head-matrix": matrix_chart(result, context=context),
    }


def _matrix_table(outputs: Outputs) -> pd.DataFrame:
    """MATRIX_COLUMNS of the first pair; layers count from 1, heads from 0."""
    import pandas as pd

    for (source, target), value in outputs.values.items():
        matrix = np.asarray(value["matrix"])
        layer, head, second_layer, second_head = (
            index.ravel() for index in np.indices(matrix.shape)
        )
        columns = (source, target, layer + 1, head, second_layer + 1, second_head, matrix.ravel())
        return pd.DataFrame(dict(zip(MATRIX_COLUMNS, columns, strict=True)))
    return pd.DataFrame(columns=list(MATRIX_COLUMNS))


def _head_columns(value: Value) -> dict[str, np.ndarray]:
    """Columns of `heads` for one pair, from layer to null_high."""
    low, high = interval(value["null"], axis=1)
    layer, head = (index.ravel() for index in np.indices(value["matched"].shape))
    matches = (value[name].ravel() for name in ("match", "matched"))
    columns = (layer + 1, head, *matches, low[layer], high[layer])
    return dict(zip(HEAD_COLUMNS[2:], columns, strict=True))


STUDY = Study(
    name="align attention",
    words=words_beside(__file__),
    Spec=AttentionSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    views=(View(group=EXPERIMENTS),),
)
