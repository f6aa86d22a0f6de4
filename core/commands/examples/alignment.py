"""Findings of the alignment page."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.examples.finding import Finding, Series
from core.maths.maps.registry import METHODS
from core.results.drawing.style import GREY, ORANGE
from core.results.export import Result
from core.studies.alignment.seeds.text import (
    amount,
    lead_sentence,
    named,
    seen_sentence,
)

BOTH = "state-and-window"


def seeds(results: Sequence[Result]) -> Finding:
    """Say what maps predict of one seed's vectors from another's."""
    table, facts = results[0].tables["methods"], results[0].statements
    rows = table[(table["group"] == "models") & (table["words"] == "unseen")].set_index("method")[
        "nmse"
    ]
    left_out = [name for name in rows.index if METHODS[name].kind == "control" or name == BOTH]
    maps = rows.drop(left_out).sort_values()
    return Finding(
        f"{lead_sentence(facts, 'unseen')} This does not show a bijection.",
        "bars",
        tuple(
            Series(METHODS[str(name)].label, METHODS[str(name)].colour, ((0.0, float(value)),))
            for name, value in maps.items()
        ),
        "held-out error: share of variance unexplained (lower is better)",
    )


def unseen(results: Sequence[Result]) -> Finding:
    """Say what a per-word average and ridge leave on words seen and unseen in training."""
    table, facts = results[0].tables["methods"], results[0].statements
    average, ridge = (next(f for f in facts if f.subject == name) for name in ("lookup", "ridge"))
    table = table[table["group"] == "models"]
    error = {(str(row.words), str(row.method)): float(row.nmse) for row in table.itertuples()}
    series = []
    for words, colour in (("seen", GREY), ("unseen", ORANGE)):
        series += [
            Series(f"{METHODS[name].label}, {words}", colour, ((number, error[words, name]),))
            for number, name in enumerate(("lookup", "ridge"))
        ]
    return Finding(
        f"{seen_sentence(facts)} On unseen words, {named('lookup')} predicts "
        f"{amount(average)} of it and ridge {amount(ridge)}.",
        "bars",
        tuple(series),
        "held-out error: share of variance unexplained (lower is better)",
    )
