"""What the tests of independence say, in statements and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.errors import by_number, counted, listed
from core.maths.arrays import Value
from core.results.estimates import Estimate
from core.results.names import short_names
from core.results.statements import Statement
from core.studies.weights.lineage.independence import MOST_TREES
from core.studies.weights.lineage.tables import IN_ORDER, INDEPENDENT, REORDERED

MOST_NAMED = 3


def start_statements(tests: pd.DataFrame) -> tuple[Statement, ...]:
    """State the p-value of each pair that only its units relate and of a single pair, and the
    smallest of all pairs of different trees.

    Args:
        tests: `independence` of the result.
    """
    apart = tests[~tests["one_tree"].astype(bool)]
    shown = tests if len(tests) == 1 else apart[apart["outcome"] != INDEPENDENT]
    if shown.empty and len(apart):
        shown = apart.nsmallest(1, "corrected_p")
    statements = []
    for row in shown.nsmallest(MOST_NAMED, "corrected_p").itertuples():
        p_value = row.order_p if row.outcome == IN_ORDER else row.corrected_p
        estimate = Estimate(float(p_value), kind="p")
        statements.append(
            Statement(str(row.model), str(row.outcome), estimate, baseline=str(row.other))
        )
    return tuple(statements)


def start_sentences(statements: Sequence[Statement], tests: pd.DataFrame) -> str:
    """Say which models have a start in common, and which are not detectably related.

    Args:
        statements: See `start_statements`.
        tests: As there.
    """
    if tests.empty:
        return ""
    names, parts = short_names({*tests["model"], *tests["other"]}), list[str]()
    pairs = {each: f"{names[each.subject]} and {names[each.baseline]}" for each in statements}
    for outcome, text in (
        (IN_ORDER, "were not trained independently, by the order of their units"),
        (REORDERED, "were not trained independently, though their units stand in another order"),
    ):
        here = [f"{pairs[each]} ({each.number.value_text})" for each in statements
                if each.verdict == outcome]  # fmt: skip
        if here:
            parts.append(f"{listed(here)} {text}.")
    independent = next((each for each in statements if each.verdict == INDEPENDENT), None)
    apart = int((~tests["one_tree"].astype(bool)).sum())
    if independent is not None and apart > 1:
        parts.append(
            f"None of {counted(apart, 'pair')} from different trees is detectably related by its "
            f"units (smallest {independent.number.value_text}, corrected for "
            f"{counted(len(tests), 'test')})."
        )
    elif independent is not None:
        parts.append(
            f"By their units, {pairs[independent]} are not detectably related "
            f"({independent.number.value_text})."
        )
    return " ".join(parts)


def describe_tests(value: Value) -> str:
    """Say that some trees were not compared with each other, or nothing.

    Args:
        value: Of `compare_orders`.
    """
    left = int(value["trees"]) - MOST_TREES
    if left <= 0:
        return ""
    verb = by_number(left, "was", "were")
    return (
        f"Of {value['trees']} trees, the first {MOST_TREES} were compared by their units; "
        f"{left} {verb} not: name fewer models to compare them."
    )
