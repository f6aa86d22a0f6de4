"""One sentence as a result: what it shows, and the numbers of its drawings as tables, for files and
the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.maths.structural.predict import SentenceView
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.sentence.charts import arcs_chart
from core.studies.probes.sentence.study import SentencesRead
from core.studies.probes.sentence.word_charts import distance_charts, plane_chart
from core.studies.probes.trees.result import TrainedResult, conllu_block
from core.studies.text_kit import Estimate, Statement, counted, short_name

PREDICTED, NO_EDGES = "edges predicted", "no edges"
LABELLED = "edges predicted with head and label"


@dataclass(frozen=True, eq=False)
class PredictedTree:
    """A sentence's parse and the tree that the probes of one layer predict: its drawings, its
    numbers and its files.

    Attributes:
        view: The sentence through the probes.
        statement: How many edges are predicted, of which model and layer.
        parsed: Whether the tree is a parser's, not gold.
    """

    view: SentenceView
    statement: Statement
    parsed: bool

    @property
    def headline(self) -> str:
        """The statement as a sentence."""
        rival = None if self.view.labels else self.view.adjacent
        return sentence_headline(self.statement, parsed=self.parsed, adjacent=rival)

    @property
    def name(self) -> str:
        """Model and layer, for files."""
        return f"{short_name(self.statement.subject)} layer {self.statement.layers[0]}"

    def result(self, of: Result, read: SentencesRead, headline: str) -> Result:
        """Write it as a result, with a row per word in `sentence_words` and per pair of words in
        `sentence_distances`; `of` is the study to which the probes belong."""
        view, spec = self.view, {"model": self.statement.subject, "layer": self.statement.layers[0]}
        return Result(
            study="probe-sentence",
            spec=spec | {"words": list(view.words), "heads": list(view.heads), "of": of.spec},
            headline=headline,
            tables={
                "sentence_words": words_table(view),
                "sentence_distances": distances_table(view),
            },
            notices=(*read.notices, *of.notices),
            statements=(self.statement,),
            provenance=of.provenance,
            methods=of.methods,
            citations=of.citations,
            caution=read.caution,
        )

    def arcs(self, *, context: Context) -> Chart:
        """Draw the arcs, which are as large wherever they are drawn."""
        return arcs_chart(self.view)

    def distances(self, *, context: Context) -> Sequence[Chart]:
        """Draw the distances between words, in the parse and predicted; nothing of one word."""
        return distance_charts(self.view, context=context) if len(self.view.words) > 1 else ()

    def plane(self, *, context: Context) -> Sequence[Chart]:
        """Draw the words in the probe's subspace; nothing of one word."""
        return (plane_chart(self.view, context=context),) if len(self.view.words) > 1 else ()

    def figures(self, context: Context = PAGE) -> dict[str, Chart]:
        """Draw every chart, by file name; the arcs first."""
        names = ("arcs", "distances-parse", "distances-predicted", "plane")
        beyond = (*self.distances(context=context), *self.plane(context=context))
        return dict(zip(names, (self.arcs(context=context), *beyond), strict=False))

    def conllu(self) -> bytes:
        """Write the predicted tree as CoNLL-U."""
        view, statement = self.view, self.statement
        comments = {"model": statement.subject, "layer": str(statement.layers[0])}
        lines = conllu_block(view.words, view.predicted_heads, comments, view.labels)
        return ("\n".join(lines) + "\n").encode("utf8", "replace")


def predicted_tree(
    result: TrainedResult, read: SentencesRead, number: int, model: str, layer: int
) -> PredictedTree:
    """Apply the probes of a model's layer to one of the sentences that were read. Raises SpecError
    if the study has no such probe."""
    view = result.draw(model, layer, read.trees[number], read.vectors[number])
    return PredictedTree(view, statement_of(view, model, layer), result.parsed)


def statement_of(view: SentenceView, model: str, layer: int) -> Statement:
    """State how many edges of the sentence's tree are predicted; `baseline` is the number of
    edges."""
    edges = len(view.agreed) + len(view.missed)
    if not edges:
        return Statement(model, NO_EDGES, None, (layer,))
    verdict, right = (LABELLED, view.labelled) if view.labels else (PREDICTED, len(view.agreed))
    estimate = Estimate(right, kind="whole")
    return Statement(model, verdict, estimate, (layer,), counted(edges, "edge"))


def sentence_headline(statement: Statement, *, parsed: bool, adjacent: int | None = None) -> str:
    """The statement as a sentence, beside the edges that linking adjacent words predicts; None
    where the probe predicts heads and labels too."""
    if statement.estimate is None:
        return "This sentence has no edges: a tree needs two words that are not punctuation."
    tree = "parse" if parsed else "gold tree"
    how = " with head and label" if statement.verdict == LABELLED else ""
    rival = "" if adjacent is None else f"; linking adjacent words predicts {adjacent}"
    return (
        f"{short_name(statement.subject)} predicts {statement.estimate.value_text} of "
        f"{statement.baseline} of the {tree}{how} at layer {statement.layers[0]}{rival}."
    )


def words_table(view: SentenceView) -> pd.DataFrame:
    """A row per word: heads and depths, parsed and predicted, and place in the probe's plane."""
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
