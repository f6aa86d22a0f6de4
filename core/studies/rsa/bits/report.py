"""Bits per byte in a report: tables of each model and of every two, statements, headline, chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from core.maths.statistics import bootstrap_interval, sentence_counts
from core.models.steps import origin_of, run_of
from core.results.drawing.style import BLUE, GREY, heading
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    Tip,
    channel,
    layered,
    short_names,
    span_of,
    tip_of,
    with_tooltips,
)
from core.studies.kit import Value
from core.studies.rsa.bits.tasks import FIRST
from core.studies.text_kit import (
    Estimate,
    Statement,
    by_number,
    estimate_of,
    listed,
    short_name,
    text_of,
    words_beside,
)

BITS = (
    *("model", "bits_per_byte", "low", "high", "bits_per_character", "bits_per_subword"),
    *("uniform_bits", "bytes_per_subword", "vocabulary_size", "bytes_read"),
)
BIT_GAPS = ("model", "other", "bits_gap", "bits_gap_low", "bits_gap_high", "fewer_bits")
said = words_beside(__file__).sentence
BEST, BEYOND = "fewest bits per byte", "more bits per byte than the best"
OF_BASE = "more bits per byte than its base"
ROW, LETTERS = 1.4, 160  # rows of text per model; most pixels of a name
TITLE = tip_of("bits_per_byte").title


def scored_text(words: Sequence[str]) -> str:
    """Join the words that are scored, a space before each."""
    return "".join(f" {word}" for word in words[FIRST:])


def shared_sentences(values: Mapping[str, Value], sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Find the sentences with something to score that every model reads whole, (sentence,)."""
    long = np.array([len(words) > FIRST for words in sentences])
    return np.flatnonzero(
        np.logical_and.reduce([long, *(each["whole"] for each in values.values())])
    )


def build_tables(
    values: Mapping[str, Value], sentences: Sequence[Sequence[str]], draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Build BITS, a row for each model, and BIT_GAPS, one for every two, from what
    `score_sentences` returned of each model; the draws of the bootstrap over sentences are the same
    for every model."""
    kept = shared_sentences(values, sentences) if values else np.zeros(0, np.int64)
    if not len(kept):
        return pd.DataFrame(columns=BITS), pd.DataFrame(columns=BIT_GAPS)
    texts = [scored_text(sentences[number]) for number in kept.tolist()]
    size = np.array([len(text.encode()) for text in texts])
    counts = sentence_counts(len(kept), draws, np.random.default_rng(seed))
    unknown = 0.0 if len(kept) > 1 else np.nan  # the draws of a single sentence are all alike
    rows = []
    bits = {ref: np.asarray(value["nats"])[kept] / np.log(2) for ref, value in values.items()}
    drawn = {ref: (counts @ each) / (counts @ size) for ref, each in bits.items()}
    for ref, value in values.items():
        total, subwords = float(bits[ref].sum()), int(np.asarray(value["subwords"])[kept].sum())
        low, high = np.add(bootstrap_interval(total / size.sum(), drawn[ref]), unknown)
        uniform = float(np.log2(value["vocabulary"])) * subwords / size.sum()
        rows.append(
            (
                *(ref, total / size.sum(), float(low), float(high), total / sum(map(len, texts))),
                *(total / max(subwords, 1), uniform, size.sum() / max(subwords, 1)),
                *(value["vocabulary"], size.sum()),
            )
        )
    gaps = []
    for first, second in combinations(values, 2):
        gap = float((bits[first] - bits[second]).sum() / size.sum())
        low, high = np.add(bootstrap_interval(gap, drawn[first] - drawn[second]), unknown)
        fewer = float((bits[first] < bits[second]).mean())
        gaps.append((first, second, gap, float(low), float(high), fewer))
    return pd.DataFrame(rows, columns=BITS), pd.DataFrame(gaps, columns=BIT_GAPS)


def statements_of(table: pd.DataFrame, gaps: pd.DataFrame) -> tuple[Statement, ...]:
    """State how many more bits per byte each fine-tune needs than its base, the model with the
    fewest, and how many more each other model needs."""
    if table.empty:
        return ()
    ordered = table.sort_values("bits_per_byte", kind="stable")
    best, refs = str(ordered["model"].iloc[0]), list(map(str, table["model"]))
    # steps of a run are no fine-tunes of it
    origins = {ref: origin_of(ref) for ref in refs if run_of(ref) == ref}
    return (
        *(
            Statement(ref, OF_BASE, _gap(gaps, ref, base), baseline=base)
            for ref, base in origins.items()
            if ref != base in refs
        ),
        Statement(best, BEST, estimate_of(ordered.iloc[0], "bits_per_byte")),
        *(
            Statement(ref, BEYOND, _gap(gaps, ref, best), baseline=best)
            for ref in map(str, ordered["model"].iloc[1:])
        ),
    )


def _gap(gaps: pd.DataFrame, model: str, other: str) -> Estimate:
    """Take how many more bits a model needs than another, whichever of them the row begins with."""
    row = gaps[gaps["model"].isin((model, other)) & gaps["other"].isin((model, other))].iloc[0]
    gap = estimate_of(row, "bits_gap")
    if row["model"] == model:
        return gap
    return replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def make_headline(statements: Sequence[Statement], table: pd.DataFrame) -> str:
    """Say how fine-tunes compare with their base, which model predicts the text with the fewest
    bits, and how many more the others need."""
    if not statements:
        return ""
    best = next(each.subject for each in statements if each.verdict == BEST)
    uniform = float(table.set_index("model").loc[best, "uniform_bits"])
    guessing = f"Guessing each of its subwords at random would take {text_of(uniform)} bits."
    return " ".join([*bits_sentences(statements), guessing])


def bits_sentences(statements: Sequence[Statement]) -> list[str]:
    """Write a sentence for each fine-tune, for the best model, and for all others."""
    names = short_names(dict.fromkeys(each.subject for each in statements))
    sentences: list[str] = []
    beyond = [each for each in statements if each.verdict == BEYOND]
    tied = listed([names[each.subject] for each in beyond if not each.number.clear])
    alike = f", not detectably fewer than {tied}" * bool(tied)
    for each in statements:
        number, name = each.number, names[each.subject]
        if each.verdict == OF_BASE:
            needs = f"needs {number.direction('more', 'fewer')} bits per byte"
            noise = "" if number.clear else ", not detectably different"
            better = "worse" if number.value > 0 else "better"
            how = f"{better} than" if number.clear else "about as well as"
            base = names.get(each.baseline, short_name(each.baseline))
            sentences.append(f"{name} predicts the text {how} its base, {base}: it {needs}{noise}.")
        elif each.verdict == BEST:
            best = f"predicts the text best, with {number.text} bits per byte"
            fewest = f"needs the fewest, {number.text}"
            sentences.append(f"{name} {fewest if sentences else best}{alike}.")
    if beyond:
        others = listed([names[each.subject] for each in beyond])
        more = f"{listed([each.number.text for each in beyond])} more bits per byte"
        need = by_number(len(beyond), "needs", "need")
        sentences.append(f"{others} {need} {more} than {names[beyond[0].baseline]}.")
    return sentences


def unscored(left: int, sentences: int) -> str:
    """Say how many sentences are scored for no model."""
    have, are = ("has", "is") if left == 1 else ("have", "are")
    return (
        f"{left} of {sentences} sentences {have} one word or {are} longer than a model reads, and "
        f"{are} left out for all."
    )


def figures(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the bits per byte of every model, the fewest above; none without models."""
    table = result.tables["bits"].sort_values("bits_per_byte", kind="stable")
    if table.empty:
        return {}
    rows = table.assign(name=table["model"].map(short_names(table["model"])))
    written, tooltip = with_tooltips(
        rows, (Tip("name", "Model"), "bits_per_byte", "bits_per_character", "uniform_bits")
    )
    low, high = span_of(rows["low"], rows["high"])
    along = {"scale": {"domain": [low, high], "nice": False, "zero": False}}
    down = channel(
        "name:N", title=None, sort=list(rows["name"]),
        axis={"ticks": False, "domain": False, "labelLimit": LETTERS},
    )  # fmt: skip
    base = Chart(written).encode(y=down)
    chart: Chart = layered(
        base.mark_rule(color=GREY, strokeWidth=2).encode(
            x=channel("low:Q", title=TITLE, **along), x2="high:Q"
        ),
        base.mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(
            x=channel("bits_per_byte:Q", title=TITLE, **along), tooltip=tooltip
        ),
    ).properties(
        width="container",
        height=ROW * context.row * (len(rows) + 1),
        title=heading(TITLE, "fewer is better; bars: 95 % intervals over sentences"),
        description=". ".join(
            [TITLE, *(f"{row.name}: {row.bits_per_byte:.2f}" for row in rows.itertuples())]
        ),
    )
    return {"bits": chart}
