"""Every sentence of the view of one sentence: how many edges its probe predicts."""

from __future__ import annotations

from core.maths.structural.predict import SentenceView
from core.studies.text_kit import Estimate, Statement, short_name

PREDICTED, NO_EDGES = "edges predicted", "no edges"
LABELLED = "edges predicted with head and label"


def statement_of(view: SentenceView, model: str, layer: int) -> Statement:
    """How many edges of the sentence's tree are predicted; `baseline` is the number of edges.

    Args:
        view: The sentence through the probes.
        model, layer: The model and layer whose probes they are.
    """
    agreed, edges = len(view.agreed), len(view.agreed) + len(view.missed)
    if not edges:
        return Statement(model, NO_EDGES, None, (layer,))
    if view.labels:
        right = Estimate(view.labelled, kind="whole")
        return Statement(model, LABELLED, right, (layer,), f"{edges} edges")
    return Statement(model, PREDICTED, Estimate(agreed, kind="whole"), (layer,), f"{edges} edges")


def sentence_headline(statement: Statement, *, parsed: bool, adjacent: int | None = None) -> str:
    """The statement as a sentence, beside the rival that reads no vectors.

    Args:
        statement: Of `statement_of`.
        parsed: Whether the tree is a parser's, not gold.
        adjacent: How many of the edges linking adjacent words predicts; None where the probe also
            predicts heads and labels, which it does not.
    """
    if statement.estimate is None:
        return "This sentence has no edges: a tree needs two words that are not punctuation."
    tree = "parse" if parsed else "gold tree"
    how = " with head and label" if statement.verdict == LABELLED else ""
    rival = "" if adjacent is None else f"; linking adjacent words predicts {adjacent}"
    return (
        f"{short_name(statement.subject)} predicts {statement.estimate.value_text} of "
        f"{statement.baseline} of the {tree}{how} at layer {statement.layers[0]}{rival}."
    )
