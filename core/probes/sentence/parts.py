"""Parts that the drawings of one sentence share: colours and dashes of edges, words, tooltips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.results.drawing.style import GREEN, ORANGE, PURPLE
from core.results.drawing.vega import channel
from core.results.numbers import text_of

if TYPE_CHECKING:
    from core.probes.structural.predict import SentenceView

AGREED, MISSED, INVENTED = "in both trees", "only in the parse", "only predicted"
STATUS_COLOURS = {AGREED: GREEN, MISSED: ORANGE, INVENTED: PURPLE}
STATUS_DASHES = {AGREED: [1, 0], MISSED: [7, 4], INVENTED: [2, 3]}
DOMAIN = list(STATUS_COLOURS)
WIDEST_WORD = 28  # letters shown of a word


def shown_words(words: tuple[str, ...]) -> list[str]:
    """Words as drawn: very long ones end in an ellipsis; the tooltip shows them whole."""
    return [word if len(word) <= WIDEST_WORD else f"{word[: WIDEST_WORD - 1]}…" for word in words]


def edge_fields(view: SentenceView, i: int, j: int, status: str) -> dict[str, Any]:
    """Columns of an edge: its words, its status, their distance in the parse and as predicted."""
    return {
        "edge": f"{view.words[i]} – {view.words[j]}",
        "status": status,
        "true": int(view.gold_distances[i, j]),
        "predicted": float(view.distances[i, j]),
        "predicted_text": text_of(float(view.distances[i, j])),
    }


def status() -> Any:
    """The colour of an edge: in both trees, or only in one."""
    scale = {"domain": DOMAIN, "range": list(STATUS_COLOURS.values())}
    return channel("status:N", title=None, scale=scale, legend=edge_legend())


def dash() -> Any:
    """The dash of an edge, like its colour."""
    scale = {"domain": DOMAIN, "range": list(STATUS_DASHES.values())}
    return channel("status:N", title=None, scale=scale, legend=edge_legend())


def edge_legend() -> Any:
    """A legend of edges, above the drawing."""
    return {
        "orient": "top",
        "direction": "horizontal",
        "symbolType": "stroke",
        "symbolStrokeWidth": 3,
        "symbolSize": 300,
    }


def edge_tooltip() -> list[Any]:
    """The tooltip of an edge."""
    return [
        channel("edge:N", title="Words"),
        channel("status:N", title="Edge"),
        channel("true:Q", title="Distance in the parse"),
        channel("predicted_text:N", title="Predicted distance"),
    ]
