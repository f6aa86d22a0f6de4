"""One sentence as a result: the numbers of its drawings as tables, for files and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.results.drawing.context import PAGE, Context
from core.results.export import Result
from core.results.statements import Statement
from core.studies.probes.sentence.charts import arcs_chart
from core.studies.probes.sentence.word_charts import distance_charts, plane_chart

if TYPE_CHECKING:
    import pandas as pd

    from core.maths.structural.predict import SentenceView
    from core.results.drawing.vega import Chart
    from core.studies.probes.sentence.study import SentencesRead


def sentence_result(
    result: Result,
    read: SentencesRead,
    view: SentenceView,
    statement: Statement,
    headline: str,
) -> Result:
    """What the probes of one layer predict for one sentence.

    Args:
        result: The study to which the probes belong.
        read: The sentence as it was read.
        view: The sentence through the probes.
        statement: Of `text.statement_of`.
        headline: The statement as a sentence.

    Returns:
        A result with the tables `sentence_words`, a row per word, and `sentence_distances`, a row
        per pair of words.
    """
    spec = {"model": statement.subject, "layer": statement.layers[0]}
    return Result(
        study="probe-sentence",
        spec=spec | {"words": list(view.words), "heads": list(view.heads), "of": result.spec},
        headline=headline,
        tables={"sentence_words": words_table(view), "sentence_distances": distances_table(view)},
        notices=(*read.notices, *result.notices),
        statements=(statement,),
        provenance=result.provenance,
        methods=result.methods,
        citations=result.citations,
        caution=read.caution,
    )


def words_table(view: SentenceView) -> pd.DataFrame:
    """A row per word: heads and depths, parsed and predicted, and place in the probe's plane."""
    import pandas as pd

    count = len(view.words)
    labels = {"parse_label": view.gold_labels, "predicted_label": view.labels}
    return pd.DataFrame(
        {
            "position": np.arange(1, count + 1),
            "word": view.words,
            "punctuation": ~np.asarray(view.keep),
            "parse_head": view.heads,
            "predicted_head": view.predicted_heads,
            "parse_depth": view.gold_depths,
            "predicted_depth": np.full(count, np.nan)
            if view.depths is None
            else view.depths.astype(float),
            "x": view.points[:, 0].astype(float),
            "y": view.points[:, 1].astype(float),
            **(labels if view.labels else {}),
        }
    )


def distances_table(view: SentenceView) -> pd.DataFrame:
    """A row per pair of words: distance in the parse in edges, and predicted squared distance."""
    import pandas as pd

    first, second = np.triu_indices(len(view.words), 1)
    return pd.DataFrame(
        {
            "first_position": first + 1,
            "second_position": second + 1,
            "first_word": [view.words[place] for place in first],
            "second_word": [view.words[place] for place in second],
            "parse_distance": view.gold_distances[first, second],
            "predicted_distance": view.distances[first, second].astype(float),
        }
    )


def figures(view: SentenceView, context: Context = PAGE) -> dict[str, Chart]:
    """Every chart of the sentence, by file name; the arcs first."""
    parse, predicted = distance_charts(view, context=context)
    return {
        "arcs": arcs_chart(view),
        "distances-parse": parse,
        "distances-predicted": predicted,
        "plane": plane_chart(view, context=context),
    }
