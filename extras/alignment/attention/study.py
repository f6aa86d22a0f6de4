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

The headline's number: `core.maths.evaluation.judging.fit_each`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.maths.statistics import interval
from core.models.identity import pairs_of_one_tokenizer
from core.studies.alignment.pairs import pair_tasks, prepare_pairs, refusals
from core.studies.alignment.seeds.study import CITATIONS
from core.studies.alignment.seeds.tables import joined
from core.studies.kit import (
    PAGE,
    Chart,
    Context,
    Corpus,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    Value,
    View,
    words_beside,
)
from extras.alignment.attention.charts import head_chart, matrix_chart, output_chart
from extras.alignment.attention.spec import AttentionSpec
from extras.alignment.attention.tasks import UNLIKE, align_attention
from extras.alignment.attention.text import make_headline, make_methods, statements_of

HEAD_COLUMNS = (
    *("source", "target", "layer", "head", "match"),
    *("correlation", "null_low", "null_high"),
)
MATRIX_COLUMNS = (
    *("source", "target", "source_layer", "source_head"),
    *("target_layer", "target_head", "correlation"),
)
OUTPUT_COLUMNS = ("source", "target", "layer", "method", "nmse")


def plan(spec: AttentionSpec, ready: Outputs) -> list[Task]:
    """Plan one task for each ordered pair; roles are (source, target).

    Raises:
        CorpusError: If the text could not be read.
        ModelError: If no two models read the same subwords.
    """
    pairs, _ = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)
    return pair_tasks(spec, ready, align_attention, pairs)


def collect(spec: AttentionSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `heads` (HEAD_COLUMNS), `outputs` (OUTPUT_COLUMNS) and `head_matrix`
    (MATRIX_COLUMNS).

    The null is the mean correlation under random matching; the matrix is that of the first pair.
    """
    heads, mapped = [], []
    notices = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)[1]
    notices += refusals(outputs, spec.methods)
    for (source, target), value in outputs.values.items():
        ends = {"source": source, "target": target}
        heads.append(pd.DataFrame(ends | _head_columns(value)))
        for method in spec.methods:
            if f"{method}/nmse" in value:
                nmse = value[f"{method}/nmse"]
                mapped.append(
                    pd.DataFrame(
                        {**ends, "layer": np.arange(len(nmse)) + 1, "method": method, "nmse": nmse}
                    )
                )
    head_table, output_table = joined(heads, HEAD_COLUMNS), joined(mapped, OUTPUT_COLUMNS)
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
    return {
        "heads": head_chart(result, context=context),
        "outputs": output_chart(result, context=context),
        "head-matrix": matrix_chart(result, context=context),
    }


def _matrix_table(outputs: Outputs) -> pd.DataFrame:
    """MATRIX_COLUMNS of the first pair; layers count from 1, heads from 0."""
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
    prepare=prepare_pairs,
    plan=plan,
    collect=collect,
    views=(View(draw=figures),),
)
