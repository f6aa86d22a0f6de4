"""Findings of the alignment page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.commands.examples.finding import Finding, Series
from core.maths.maps.registry import METHODS
from core.results.drawing.style import GREY, ORANGE
from core.results.numbers import text_of

if TYPE_CHECKING:
    from core.results.export import Result

WINDOW, BOTH = "static-window", "state-and-window"


def seeds(results: Sequence[Result]) -> Finding:
    """Say what maps predict of one seed's vectors from another's."""
    table = results[0].tables["methods"]
    rows = table[(table["group"] == "models") & (table["words"] == "unseen")].set_index("method")[
        "nmse"
    ]
    left_out = [name for name in rows.index if METHODS[name].kind == "control" or name == BOTH]
    maps = rows.drop(left_out).sort_values()
    window = ""
    if WINDOW in rows:
        window = (
            f"; the embeddings of a few words alone predict "
            f"{text_of(1 - float(rows[WINDOW]), 'per cent')}"
        )
    best, linear = str(maps.index[0]), float(rows["ridge"])
    return Finding(
        f"On unseen words, {METHODS[best].label} predicts {text_of(1 - maps.iloc[0], 'per cent')} "
        "of the variance of one seed's vectors from the other's, ridge "
        f"{text_of(1 - linear, 'per cent')} and the invertible network "
        f"{text_of(1 - float(rows['inn']), 'per cent')}{window}. This does not show a bijection.",
        "bars",
        tuple(
            Series(METHODS[str(name)].label, METHODS[str(name)].colour, ((0.0, float(value)),))
            for name, value in maps.items()
        ),
        "held-out error: share of variance unexplained (lower is better)",
    )


def unseen(results: Sequence[Result]) -> Finding:
    """Say what a per-word average and ridge leave on words seen and unseen in training."""
    table = results[0].tables["methods"]
    table = table[table["group"] == "models"]
    error = {(str(row.words), str(row.method)): float(row.nmse) for row in table.itertuples()}
    series = []
    for words, colour in (("seen", GREY), ("unseen", ORANGE)):
        series += [
            Series(f"{METHODS[name].label}, {words}", colour, ((number, error[words, name]),))
            for number, name in enumerate(("lookup", "ridge"))
        ]
    return Finding(
        "On words seen in training, a per-word average, which ignores the other model, leaves "
        f"{text_of(error['seen', 'lookup'], 'per cent')} of the variance unexplained and ridge "
        f"{text_of(error['seen', 'ridge'], 'per cent')}. On unseen words they leave "
        f"{text_of(error['unseen', 'lookup'], 'per cent')} and "
        f"{text_of(error['unseen', 'ridge'], 'per cent')}.",
        "bars",
        tuple(series),
        "held-out error: share of variance unexplained (lower is better)",
    )
