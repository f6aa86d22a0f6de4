"""The audit in sentences: headline and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.errors import first_of
from core.models.weights.audit import ALIKE, FINAL, FINE, MISPLACED, SWAPPED, fault_in_words
from core.results.estimates import Estimate
from core.results.names import short_names
from core.results.statements import Statement

if TYPE_CHECKING:
    import pandas as pd

    from core.studies.rsa.audit.spec import AuditSpec

CHECKED = "checkpoints that were checked"
MOST_NAMED = 4


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State how many checkpoints were checked, and the fault of each that has one, or that it is
    the final model.

    Args:
        table: `audit` of the result.
    """
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
        return "No checkpoint could be checked, for the reasons given."
    # equal samples of other files are no fault of a run, whose steps may train biases alone
    noted = (FINAL, ALIKE) if kind == "run" else (FINAL,)
    alike = [each for each in statements if each.verdict == ALIKE and ALIKE in noted]
    faults = [each for each in statements if each.verdict not in (CHECKED, *noted)]
    finals = [each for each in statements if each.verdict == FINAL]
    count = checked.number.value_text
    if faults:
        text = f"{len(faults)} of {count} checkpoints cannot be used as they are: {_say(faults)}."
        if any(each.verdict in (SWAPPED, MISPLACED) for each in faults):
            text += " A run whose weights swing back looks the same, so check its log."
    elif kind == "run":
        names = short_names(each.subject for each in finals)
        but = f", but for {names[finals[0].subject]} (the final model itself)," if finals else ""
        text = f"All {count} checkpoints are distinct{but} and belong to one run."
        if alike:
            text = f"All {count} checkpoints belong to one run."
    else:
        text = f"All {count} models are distinct and come from independent runs."
    if alike:
        text += f" Copies could not be ruled out: {_say(alike)}."
    if kind == "run" and not ordered:
        return f"{text} Their order could not be judged from so few or such similar checkpoints."
    if kind == "seeds" or (faults and forward):
        return text
    if not forward:
        return (
            f"{text} Whether the order is that of training or its reverse, these weights do not "
            "tell, because their norm does not grow."
        )
    judged = "The others" if alike else "They"
    return f"{text} {judged} are in the order of training."


def _say(statements: Sequence[Statement]) -> str:
    """Say what was found of the first few checkpoints, and how many more there are."""
    subjects = dict.fromkeys(
        ref for each in statements for ref in (each.subject, each.baseline) if ref
    )
    names = short_names(subjects)
    said = [
        fault_in_words(each.verdict, each.subject, each.baseline, names)
        for each in first_of(statements, MOST_NAMED)
    ]
    more = len(statements) - len(said)
    return "; ".join(said) + (f"; {more} more are in the table" if more else "")


def make_methods(spec: AuditSpec) -> str:
    """Write a methods paragraph, ready to paste."""
    what = (
        f"checkpoints of one run and its final model, {spec.end}"
        if spec.kind == "run"
        else "models of independent runs"
    )
    return (
        f"The files of {what} were audited from consecutive numbers in the middle of 16 matrices, "
        "or of one in each layer where there are more layers (up to 64), less than 1 % of the "
        "bytes of most models. Two checkpoints are identical if all of these and the hashes of "
        "their files are equal, and of one run if their cosine exceeds .1, directly or through "
        "other checkpoints; matrices that are equal in all are left out. The order of a run was "
        "recovered from its end by going to the nearest checkpoint each time, and is reported only "
        "if distances then grow with time everywhere (a Robinson matrix); its direction is taken "
        "from the norm, if that grows."
    )
