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

import pandas as pd

from core.maths.statistics import interval
from core.models.identity import pairs_of_one_tokenizer
from core.studies.alignment.pairs import pair_notices, pair_tasks, prepare_pairs
from core.studies.alignment.seeds.study import CITATIONS
from core.studies.alignment.seeds.tables import cells, joined
from core.studies.kit import (
    PAGE,
    Chart,
    Context,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
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
    """Plan one task for each ordered pair; roles are (source, target). Raises CorpusError if the
    text could not be read, ModelError if no two models read the same subwords."""
    pairs, _ = pairs_of_one_tokenizer(spec.models, ready, UNLIKE)
    return pair_tasks(spec, ready, align_attention, pairs)


def collect(spec: AttentionSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `heads` (HEAD_COLUMNS), with the mean correlation under random matching,
    `outputs` (OUTPUT_COLUMNS) and of the first pair `head_matrix` (MATRIX_COLUMNS); layers count
    from 1, heads from 0."""
    heads, mapped = [], []
    matrices: list[pd.DataFrame] = []
    for (source, target), value in outputs.values.items():
        ends = {"source": source, "target": target}
        layers, each = (range(count) for count in value["matched"].shape)
        low, high = (end[:, None] for end in interval(value["null"], axis=1))
        columns = {"match": value["match"], "correlation": value["matched"]}
        columns |= {"null_low": low, "null_high": high}
        numbers = [layer + 1 for layer in layers]
        heads.append(cells({"layer": numbers, "head": each}, columns).assign(**ends))
        if not matrices:  # every head with every other: of the first pair alone, as it is large
            others = range(value["matrix"].shape[-1])
            axes = dict(zip(MATRIX_COLUMNS[2:], (numbers, each, numbers, others), strict=False))
            matrices.append(cells(axes, {"correlation": value["matrix"]}).assign(**ends))
        for method in spec.methods:
            if f"{method}/nmse" in value:
                errors = cells({"layer": numbers}, {"nmse": value[f"{method}/nmse"]})
                mapped.append(errors.assign(**ends, method=method))
    head_table, output_table = joined(heads, HEAD_COLUMNS), joined(mapped, OUTPUT_COLUMNS)
    matrix = joined(matrices, MATRIX_COLUMNS)
    statements = statements_of(head_table, output_table, matrix)
    corpus = ready.need("text")
    return Findings(
        headline=make_headline(statements, *head_table[["layer", "head"]].nunique()),
        statements=statements,
        tables={"heads": head_table, "outputs": output_table, "head_matrix": matrix},
        notices=pair_notices(spec, ready, outputs, UNLIKE),
        models=[ref for pair in outputs.values for ref in pair],
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences)),
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw matched heads and mapped outputs; no figure where nothing could be computed."""
    return {
        "heads": head_chart(result, context=context),
        "outputs": output_chart(result, context=context),
        "head-matrix": matrix_chart(result, context=context),
    }


STUDY = Study(
    name="align attention",
    words=words_beside(__file__),
    Spec=AttentionSpec,
    prepare=prepare_pairs,
    plan=plan,
    collect=collect,
    cites=(*CITATIONS, "kuhn1955"),
    views=(View(draw=figures),),
)
