"""The audit in sentences that depend on what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.errors import first_of
from core.models.weights.audit import ALIKE, FINAL, FINE, MISPLACED, SWAPPED, fault_in_words
from core.results.estimates import Estimate
from core.results.names import short_names
from core.results.statements import Statement
from core.results.words import words_beside

if TYPE_CHECKING:
    import pandas as pd

    from core.studies.rsa.audit.spec import AuditSpec

CHECKED = "checkpoints that were checked"
MOST_NAMED = 4
SENTENCE = words_beside(__file__).sentence
SWINGS, UNORDERED = SENTENCE("swings"), SENTENCE("unordered")
UNDIRECTED = SENTENCE("undirected")


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State how many checkpoints were checked, and the fault of each that has one, or that it is
    the final model."""
    if table.empty:
        return ()
    count = Estimate(float(len(table)), kind="whole")
    faults = [
        Statement(str(row.model), str(row.verdict), baseline=str(row.other))
        for row in table[table["verdict"] != FINE].itertuples()
    ]
    return (Statement(str(table["model"].iloc[-1]), CHECKED, count), *faults)


def make_headline(statements: Sequence[Statement], kind: str, ordered: bool, forward: bool) -> str:
    """Say what is wrong with which checkpoints, or that nothing is.

    Args:
        statements: Of `statements_of`.
        kind: "run" or "seeds".
        ordered: Whether the order of a run could be judged.
        forward: Whether norms tell that it is not the reverse order.
    """
    checked = next((each for each in statements if each.verdict == CHECKED), None)
    if checked is None:
        return SENTENCE("nothing")
    is_run, count = kind == "run", checked.number.value_text
    finals = [each for each in statements if each.verdict == FINAL]
    # equal samples of other files are no fault of a run, whose steps may train biases alone
    alike = [each for each in statements if is_run and each.verdict == ALIKE]
    faults = [each for each in statements if each not in (checked, *finals, *alike)]
    if faults:
        text = f"{len(faults)} of {count} checkpoints cannot be used as they are: {_say(faults)}."
        if any(each.verdict in (SWAPPED, MISPLACED) for each in faults):
            text += f" {SWINGS}"
    elif not is_run:
        text = f"All {count} models are distinct and come from independent runs."
    elif alike:
        text = f"All {count} checkpoints belong to one run."
    else:
        names = short_names(each.subject for each in finals)
        but = f", but for {names[finals[0].subject]} (the final model itself)," if finals else ""
        text = f"All {count} checkpoints are distinct{but} and belong to one run."
    if alike:
        text += f" Copies could not be ruled out: {_say(alike)}."
    if is_run and not ordered:
        return f"{text} {UNORDERED}"
    if not is_run or (faults and forward):
        return text
    judged = "The others" if alike else "They"
    return f"{text} {judged} are in the order of training." if forward else (f"{text} {UNDIRECTED}")


def _say(statements: Sequence[Statement]) -> str:
    """Say what was found of the first few checkpoints, and how many more there are."""
    names = short_names(
        dict.fromkeys(ref for each in statements for ref in (each.subject, each.baseline) if ref)
    )
    faults = [
        fault_in_words(each.verdict, each.subject, each.baseline, names)
        for each in first_of(statements, MOST_NAMED)
    ]
    more = len(statements) - len(faults)
    return "; ".join(faults) + (f"; {more} more are in the table" if more else "")


def make_methods(spec: AuditSpec) -> str:
    """Write a methods paragraph, ready to paste."""
    run = f"checkpoints of one run and its final model, {spec.end}"
    models = run if spec.kind == "run" else "models of independent runs"
    return SENTENCE("methods").replace("{models}", models)
