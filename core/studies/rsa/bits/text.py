"""Bits per byte in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.results.estimates import estimate_of
from core.results.names import short_names
from core.results.numbers import text_of
from core.results.statements import Statement
from core.results.words import words_beside
from core.vectors.predicting import EVERY

if TYPE_CHECKING:
    import pandas as pd

    from core.studies.rsa.bits.spec import BitsSpec

NOTHING = words_beside(__file__).sentence("nothing")
BEST, BEYOND = "fewest bits per byte", "fewer bits per byte than"


def statements_of(table: pd.DataFrame, gaps: pd.DataFrame) -> tuple[Statement, ...]:
    """State the model with the fewest bits per byte, and by how much the next has more.

    Args:
        table: BITS.
        gaps: BIT_GAPS.
    """
    if table.empty:
        return ()
    ordered = table.sort_values("bits_per_byte", kind="stable")
    best = str(ordered["model"].iloc[0])
    statements = [Statement(best, BEST, estimate_of(ordered.iloc[0], "bits_per_byte"))]
    if len(ordered) > 1:
        second = str(ordered["model"].iloc[1])
        row = gaps[gaps["model"].isin((best, second)) & gaps["other"].isin((best, second))].iloc[0]
        estimate = estimate_of(row, "bits_gap")
        statements.append(
            Statement(str(row["model"]), BEYOND, estimate, baseline=str(row["other"]))
        )
    return tuple(statements)


def make_headline(statements: Sequence[Statement], table: pd.DataFrame) -> str:
    """Say which model predicts the text with the fewest bits, and whether the next needs more.

    Args:
        statements: See `statements_of`.
        table: BITS.
    """
    if not statements:
        return NOTHING
    names, best = short_names(table["model"]), statements[0]
    first = f"{names[best.subject]} predicts the text with {best.number.text} bits per byte"
    for each in statements[1:]:
        needs = f"{names[each.subject]} needs {each.number.direction('more', 'fewer')}"
        noise = "" if each.number.clear else ", not detectably different"
        first += f"; {needs} than {names[each.baseline]}{noise}"
    parts = [f"{first}."]
    uniform = float(table.set_index("model").loc[best.subject, "uniform_bits"])
    parts.append(
        f"Guessing each of its subwords at random would take {text_of(uniform, 'share')} bits."
    )
    return " ".join(parts)


def make_methods(spec: BitsSpec, kind: str, sentences: int) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        spec: The study.
        kind: "masked" or "causal".
        sentences: That every model read whole.
    """
    how = (
        "each subword from those before it" if kind == "causal"
        else f"each subword masked once, one in {EVERY} at a time (pseudo-likelihood)"
    )  # fmt: skip
    return (
        f"The losses of {', '.join(spec.models)} were summed over {sentences:,} sentences of "
        f"{spec.corpus}, {how}, in bits, and divided by the bytes of the same text in UTF-8, a "
        "space before each word. The first word of a sentence was read and not scored, so that all "
        "models are scored on the same bytes, whatever their subwords. Sentences that a model cuts "
        "off were left out for all. Intervals are 95 % bootstrap intervals over sentences, paired "
        "where two models are compared."
    )
