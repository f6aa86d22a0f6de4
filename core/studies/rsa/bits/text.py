"""Bits per byte in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from core.errors import listed
from core.models.steps import origin_of, run_of
from core.results.estimates import Estimate, estimate_of
from core.results.export import Result
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.results.statements import TWO_LINES, Statement, leading
from core.results.words import words_beside

said = words_beside(__file__).sentence
NOTHING = said("nothing")
BEST, BEYOND = "fewest bits per byte", "more bits per byte than the best"
OF_BASE = "more bits per byte than its base"


def statements_of(table: pd.DataFrame, gaps: pd.DataFrame) -> tuple[Statement, ...]:
    """State how many more bits per byte each fine-tune needs than its base, the model with the
    fewest, and by how much the next has more.

    Args:
        table: BITS.
        gaps: BIT_GAPS.
    """
    if table.empty:
        return ()
    ordered = table.sort_values("bits_per_byte", kind="stable")
    best, refs = str(ordered["model"].iloc[0]), list(map(str, table["model"]))
    ends = [ref for ref in refs if run_of(ref) == ref]  # steps of a run are no fine-tunes of it
    tuned = [(ref, origin_of(ref)) for ref in ends if ref != origin_of(ref) in refs]
    statements = [
        Statement(ref, OF_BASE, _gap(gaps, ref, base), baseline=base) for ref, base in tuned
    ]
    statements.append(Statement(best, BEST, estimate_of(ordered.iloc[0], "bits_per_byte")))
    if len(ordered) > 1:
        second = str(ordered["model"].iloc[1])
        statements.append(Statement(second, BEYOND, _gap(gaps, second, best), baseline=best))
    return tuple(statements)


def _gap(gaps: pd.DataFrame, model: str, other: str) -> Estimate:
    """Take how many more bits a model needs than another, whichever of them the row begins with."""
    row = gaps[gaps["model"].isin((model, other)) & gaps["other"].isin((model, other))].iloc[0]
    gap = estimate_of(row, "bits_gap")
    if row["model"] == model:
        return gap
    return replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def bits_sentence(result: Result) -> str:
    """Say what two lines hold: how fine-tunes compare with their base, and which is best."""
    return leading(_sentences(result.statements), TWO_LINES)


def make_headline(statements: Sequence[Statement], table: pd.DataFrame) -> str:
    """Say how fine-tunes compare with their base, which model predicts the text with the fewest
    bits, and whether the next needs more.

    Args:
        statements: See `statements_of`.
        table: BITS.
    """
    if not statements:
        return NOTHING
    best = next(each.subject for each in statements if each.verdict == BEST)
    uniform = float(table.set_index("model").loc[best, "uniform_bits"])
    guessing = f"Guessing each of its subwords at random would take {text_of(uniform)} bits."
    return " ".join([*_sentences(statements), guessing])


def _sentences(statements: Sequence[Statement]) -> list[str]:
    """Write a sentence for each statement."""
    names = short_names(dict.fromkeys(each.subject for each in statements))
    sentences: list[str] = []
    beyond = [each for each in statements if each.verdict == BEYOND and not each.number.clear]
    tied = listed([names[each.subject] for each in beyond])
    alike = f", not detectably fewer than {tied}" * bool(tied)
    for each in statements:
        number, name = each.number, names[each.subject]
        needs = f"needs {number.direction('more', 'fewer')} bits per byte"
        if each.verdict == OF_BASE:
            noise = "" if number.clear else ", not detectably different"
            better = "worse" if number.value > 0 else "better"
            how = f"{better} than" if number.clear else "about as well as"
            base = names.get(each.baseline, short_name(each.baseline))
            sentences.append(f"{name} predicts the text {how} its base, {base}: it {needs}{noise}.")
        elif each.verdict == BEST:
            best = f"predicts the text best, with {number.text} bits per byte"
            fewest = f"needs the fewest, {number.text}"
            sentences.append(f"{name} {fewest if sentences else best}{alike}.")
        else:
            sentences.append(f"{name} {needs} than {names[each.baseline]}.")
    return sentences


def unscored(left: int, sentences: int) -> str:
    """Say how many sentences are scored for no model."""
    have, are = ("has", "is") if left == 1 else ("have", "are")
    return (
        f"{left} of {sentences} sentences {have} one word or {are} longer than a model reads, and "
        f"{are} left out for all."
    )
