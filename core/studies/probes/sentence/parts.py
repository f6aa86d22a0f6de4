"""Parts that the drawings of one sentence share: colours and dashes of edges, words, tooltips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.maths.structural.predict import SentenceView
from core.results.drawing.style import GREEN, OLIVE, ORANGE, PURPLE, SKY
from core.studies.chart_kit import channel, text_of, tip_of

AGREED, MISSED, INVENTED = "in both trees", "only in the parse", "only predicted"
# of an edge in both trees, where heads and labels are predicted, too
LABELLED, HEADED, REVERSED = "same head and label", "same head, other label", "other head"
STATUS_COLOURS = {AGREED: GREEN, MISSED: ORANGE, INVENTED: PURPLE}
STATUS_DASHES = {AGREED: [1, 0], MISSED: [7, 4], INVENTED: [2, 3]}
LABELLED_COLOURS = {
    **{LABELLED: GREEN, HEADED: SKY, REVERSED: OLIVE},
    **{MISSED: ORANGE, INVENTED: PURPLE},
}
LABELLED_DASHES = {
    **{LABELLED: [1, 0], HEADED: [12, 2], REVERSED: [10, 3, 2, 3]},
    **{MISSED: [7, 4], INVENTED: [2, 3]},
}
WIDEST_WORD = 28  # letters shown of a word
WORD = channel("word:N", title=tip_of("word").title)  # in tooltips


def shown_words(words: tuple[str, ...]) -> list[str]:
    """Words as drawn: very long ones end in an ellipsis; the tooltip shows them whole."""
    return [word if len(word) <= WIDEST_WORD else f"{word[: WIDEST_WORD - 1]}…" for word in words]


def edge_fields(view: SentenceView, i: int, j: int, status: str) -> dict[str, Any]:
    """Columns of an edge: its words, its status, their distance in the parse and as predicted."""
    return {
        "edge": f"{view.words[i]} – {view.words[j]}",
        "in_parse": label_of_edge(view.words, view.heads, view.gold_labels, i, j),
        "in_prediction": label_of_edge(view.words, view.predicted_heads, view.labels, i, j),
        "status": _with_label(view, i, j) if status == AGREED and view.labels else status,
        "true": int(view.gold_distances[i, j]),
        "predicted": float(view.distances[i, j]),
        "predicted_text": text_of(float(view.distances[i, j])),
    }


def _with_label(view: SentenceView, i: int, j: int) -> str:
    """Tell how much of an edge in both trees is right: head and label, head alone, neither."""
    word = dependent_of(view.heads, i, j)
    if word != dependent_of(view.predicted_heads, i, j):
        return REVERSED
    return LABELLED if view.labels[word] == view.gold_labels[word] else HEADED


def dependent_of(heads: Sequence[int], i: int, j: int) -> int:
    """The dependent of an edge between words i and j of a tree; -1 if the tree has no such edge."""
    return j if heads[j] == i + 1 else i if heads[i] == j + 1 else -1


def label_of_edge(
    words: Sequence[str], heads: Sequence[int], labels: Sequence[str], i: int, j: int
) -> str:
    """Head, label and dependent of an edge, "chased → dog: nsubj"; "–" where a tree has none."""
    dependent = dependent_of(heads, i, j)
    if not labels or dependent < 0:
        return "–"
    head = i if dependent == j else j
    return f"{words[head]} → {words[dependent]}: {labels[dependent]}"


def status(labelled: bool) -> Any:
    """The colour of an edge: in both trees or only in one, and where labels are predicted, what is
    right."""
    return _scaled(LABELLED_COLOURS if labelled else STATUS_COLOURS)


def dash(labelled: bool) -> Any:
    """Make the dash of an edge, like its colour."""
    return _scaled(LABELLED_DASHES if labelled else STATUS_DASHES)


def _scaled(given: Mapping[str, Any]) -> Any:
    scale = {"domain": list(given), "range": list(given.values())}
    legend = {
        "orient": "top",
        "direction": "horizontal",
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "symbolSize": 300,
    }
    return channel("status:N", title=None, scale=scale, legend=legend)


def edge_tooltip(labelled: bool) -> list[Any]:
    """The tooltip of an edge, with its label in both trees where labels are predicted."""
    labels = [channel("in_parse:N", title="Parse"), channel("in_prediction:N", title="Predicted")]
    return [
        channel("edge:N", title="Words"),
        channel("status:N", title="Edge"),
        *(labels if labelled else []),
        channel("true:Q", title="Distance in the parse"),
        channel("predicted_text:N", title="Predicted distance"),
    ]
