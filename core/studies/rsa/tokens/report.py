"""What a token map shows: its words as rows, answers by layer and which words are close to each
other, as statements, and the headline made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.maths.statistics import SIGNIFICANT, corrected
from core.studies.rsa.tokens.questions import ANSWER, OTHER, QUESTION, SUPPORTING
from core.studies.text_kit import Estimate, Statement, listed, short_names, text_of, words_beside
from core.vectors.sinks import POSITIONS, TABLE

said = words_beside(__file__).sentence
CLOSER = "question closer to its answer than to other words"
UNDECIDED = "undecided whether the question is closer to its answer"
TOO_FEW = "too few spans to detect whether the question is closer to its answer"
BY_CHANCE = "share of equally long spans that are as close to the question"
EQUAL_SPANS = "equally long spans"
ANSWERS = "answers at the top layer"
SAME_SPAN = "layers with the answer of the top layer"
OVERLAP = "F1 of its answer"
GATHERED = "highlighted words closest together"
EXPLAINED = "share of variance on the two axes"
REST, SPANS, WORDS = "other words of the passage", "other spans of the passage", "all words"


def nearness(
    vectors: Float[np.ndarray, "layer word d_model"], given: Sequence[str], words: Sequence[str]
) -> tuple[Float[np.ndarray, " layer"], float, int]:
    """Divide the question's distance to its answer (to the supporting sentence without one) by that
    to other words, (layer,), words of the question left out; then the share of equally long spans
    that are as close at some layer, and how many there are. NaN and 0 without such words."""
    asked = {word.casefold() for word, role in zip(words, given, strict=True) if role == QUESTION}
    kinds = np.array(given)
    question = kinds == QUESTION
    counted = ~question & np.array([word.casefold() not in asked for word in words])
    near = kinds[counted] == (ANSWER if ANSWER in given else SUPPORTING)
    if not question.any() or not near.any() or near.all():
        return np.full(len(vectors), np.nan), float("nan"), 0
    gaps = np.linalg.norm(vectors[:, question, None] - vectors[:, None, counted], axis=-1).mean(
        axis=1
    )
    ratios = span_ratios(gaps, near)
    return ratios[0], lowest_p(ratios), len(ratios)


def span_ratios(
    gaps: Float[np.ndarray, "layer word"], near: Bool[np.ndarray, " word"]
) -> Float[np.ndarray, "span layer"]:
    """Compute the mean gap of each shift of a set of words over that of the other words; the set
    itself first. Shifts stay in the passage, as no answer is made of its end and its beginning."""
    places = np.flatnonzero(near)
    shifts = range(-places[0], len(near) - places[-1])
    return np.stack(
        [
            gaps[:, run].mean(axis=1) / np.maximum(gaps[:, ~run].mean(axis=1), 1e-12)
            for run in [np.roll(near, shift) for shift in sorted(shifts, key=bool)]
        ]
    )


def lowest_p(ratios: Float[np.ndarray, "span layer"], standardise: bool = True) -> float:
    """Compute the share of spans whose lowest ratio over the layers is as low as the first's, each
    layer in units of its spans' standard deviation, so that none with a wide spread decides alone.

    Example:
        >>> lowest_p(np.array([[0.5, 1.0], [1.1, 0.9], [1.0, 1.1], [1.2, 1.0]]))
        0.25
    """
    if standardise:
        spread = ratios.std(axis=0)
        ratios = (ratios - ratios.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    lowest = ratios.min(axis=1)
    return float((lowest <= lowest[0] + 1e-12).mean())


def nearness_statements(
    arrays: Mapping[str, np.ndarray], given: Sequence[str], words: Sequence[str]
) -> tuple[Statement, ...]:
    """State at which layer of each model the question is closest to its answer, and how likely that
    is by chance, corrected for the models (Bonferroni)."""
    statements: list[Statement] = []
    for ref, vectors in arrays.items():
        ratios, p_value, spans = nearness(vectors, given, words)
        if not np.isfinite(p_value):
            return ()
        layer = int(ratios.argmin())
        p_value, fewest = (corrected(each, len(arrays)) for each in (p_value, 1 / spans))
        verdict = CLOSER if ratios[layer] < 1 and p_value < SIGNIFICANT else UNDECIDED
        verdict = TOO_FEW if fewest >= SIGNIFICANT else verdict
        many = Estimate(float(spans), kind="whole")
        than = f"{many.text} {SPANS}"
        statements += (
            Statement(ref, verdict, Estimate(float(ratios[layer])), (layer,), REST),
            Statement(ref, BY_CHANCE, Estimate(p_value, kind="p"), baseline=than),
            Statement(ref, EQUAL_SPANS, many),
        )
    return tuple(statements)


def nearness_tables(statements: Sequence[Statement]) -> dict[str, pd.DataFrame]:
    """Make the table of what `nearness_statements` stated, by its name; none without them."""
    chances, spans = (
        {each.subject: each.number.value for each in statements if each.verdict == verdict}
        for verdict in (BY_CHANCE, EQUAL_SPANS)
    )
    rows = [
        {
            "model": near.subject,
            "layer": near.layers[0],
            "ratio": near.number.value,
            "corrected_p": chances[near.subject],
            "equal_spans": int(spans[near.subject]),
        }
        for near in statements
        if near.verdict in (CLOSER, UNDECIDED, TOO_FEW)
    ]
    return {"nearness": pd.DataFrame(rows)} if rows else {}


def answer_statements(spans: pd.DataFrame) -> tuple[Statement, ...]:
    """State how sure each model is of its answer, and from which layer upward it gives it."""
    statements: list[Statement] = []
    for ref, rows in spans.groupby("model", sort=False):
        top = rows.iloc[-1]
        elsewhere = rows[(rows["first"] != top["first"]) | (rows["last"] != top["last"])]
        since = int(rows["layer"].iloc[0]) if elsewhere.empty else int(elsewhere["layer"].max()) + 1
        layer = int(top["layer"])
        sure = Estimate(float(top["chance"]), kind="probability")
        statements.append(Statement(str(ref), ANSWERS, sure, (layer,)))
        if len(rows) > 1:
            statements.append(Statement(str(ref), SAME_SPAN, layers=tuple(range(since, layer + 1))))
        if np.isfinite(top["f1"]):
            statements.append(Statement(str(ref), OVERLAP, Estimate(float(top["f1"])), (layer,)))
    return tuple(statements)


def gathering_statements(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State at which layer of each model the highlighted words are closest together on the map;
    none with fewer than two."""
    closest: dict[str, tuple[float, int]] = {}
    for (model, layer), rows in table.groupby(["model", "layer"], sort=False):
        chosen = rows[rows["highlighted"]]
        if len(chosen) < 2:
            return ()
        spread = _mean_distance(rows)
        value = (_mean_distance(chosen) / spread if spread > 0 else np.inf, int(layer))
        closest[str(model)] = min(closest.get(str(model), value), value)
    return tuple(
        Statement(model, GATHERED, Estimate(ratio), (layer,), WORDS)
        for model, (ratio, layer) in closest.items()
    )


def _mean_distance(rows: pd.DataFrame) -> float:
    """Average the distances between all pairs of points on the map."""
    points = rows[["x", "y"]].to_numpy()
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(distances[np.triu_indices(len(points), 1)].mean())


def explained_statement(models: Sequence[str], explained: float) -> Statement:
    """State how much of the variance the map shows."""
    return Statement(", ".join(models), EXPLAINED, Estimate(explained, kind="per cent"))


def drawn_words(values: Iterable[Value], words: int) -> NDArray[np.int64]:
    """List the positions of the words that are no attention sink of any model."""
    sinks = {word for value in values for word in value.get(TABLE, {}).get(POSITIONS, ())}
    return np.array([word for word in range(words) if word not in sinks], dtype=np.int64)


def layer_rows(
    ref: str,
    layer: int,
    words: Sequence[str],
    positions: NDArray[np.int64],
    points: NDArray[np.float64],
    given: Sequence[str],
) -> pd.DataFrame:
    """Make one row for each word that is drawn of a model's layer, with its place in question and
    passage, its role, and its point on the map and behind it, (word, 3)."""
    return pd.DataFrame(
        {
            "model": ref,
            "layer": layer,
            "word": list(words),
            "position": positions,
            "role": list(given),
            "highlighted": [role != OTHER for role in given],
            "predicted": np.zeros(len(words), dtype=bool),
            "x": points[:, 0],
            "y": points[:, 1],
            "z": points[:, 2],
        }
    )


def make_headline(
    statements: Sequence[Statement],
    spans: pd.DataFrame,
    models: Sequence[str],
    words: int,
    *,
    asked: bool = True,
) -> str:
    """Say what the models answer, whether the question is close to it, and how much the map
    shows."""
    if not models:
        return ""
    names = short_names(tuple(models))
    facts = {(statement.subject, statement.verdict): statement for statement in statements}
    parts = [] if asked else [said("unasked")]
    parts += [*_answers(facts, spans, names), *_nearness(facts, names), *_gathering(facts, names)]
    shown = next(statement for statement in statements if statement.verdict == EXPLAINED)
    named = listed([names[ref] for ref in models])
    parts.append(
        f"The two axes show {shown.number.text} of the variance of {words} words in {named}."
    )
    return " ".join(parts)


Facts = Mapping[tuple[str, str], Statement]


def _answers(facts: Facts, spans: pd.DataFrame, names: Mapping[str, str]) -> list[str]:
    """Say what each model answers at the top, and from which layer upward."""
    sentences = []
    for ref, rows in spans.groupby("model", sort=False):
        top, model = rows.iloc[-1], str(ref)
        same, overlap = facts.get((model, SAME_SPAN)), facts.get((model, OVERLAP))
        upward = ""
        if same is not None:
            only = len(same.layers) == 1
            upward = " only at the top layer" if only else f" from layer {same.layers[0]} upward"
        score = f", F1 {overlap.number.text}" if overlap is not None else ""
        sure = text_of(facts[model, ANSWERS].number.value, "probability")
        sentences.append(
            f"{names[model]} answers “{top['span']}”{upward} (probability {sure}{score})."
        )
    return sentences


def _nearness(facts: Facts, names: Mapping[str, str]) -> list[str]:
    """Say in which models the question is closer to its answer than to other spans of the passage,
    and with which p-value and how many spans this cannot be detected in the others."""
    than = "closer to its answer than to other spans"
    sentences: list[str] = []
    for verdict, claim in (
        (CLOSER, f"The question is {than}"),
        (UNDECIDED, f"The question is not detectably {than}"),
        (TOO_FEW, "There are too few spans to detect that the question is closer to its answer"),
    ):
        there = [ref for ref in names if (ref, verdict) in facts]
        clauses = [
            f"layer {facts[ref, verdict].layers[0]} of {names[ref]} "
            f"({facts[ref, verdict].number.text}, {facts[ref, BY_CHANCE].number.text})"
            for ref in there
        ]
        if clauses:
            least = min((facts[ref, BY_CHANCE] for ref in there), key=lambda s: s.number.value)
            note = f"smallest {least.number.text}" if len(there) > 1 else least.number.text
            note += f" of {facts[least.subject, EQUAL_SPANS].number.text} spans"
            note += f", corrected for {len(names)} models" if len(names) > 1 else ""
            where = "" if len(there) == len(names) else f" in {listed([names[r] for r in there])}"
            ratio = "" if sentences else "distance ratio, below 1 where closer than other words"
            # on a page the first sentence is a line above the figure
            late = verdict == TOO_FEW
            noted = "; ".join(filter(None, (ratio, note if late else "")))
            noted = f" ({noted})" if noted else ""
            sentences += [
                f"{claim}{where}." if late else f"{claim}{where} ({note}).",
                f"It is closest{noted} at {listed(clauses)}.",
            ]
    return sentences


def _gathering(facts: Facts, names: Mapping[str, str]) -> list[str]:
    """Say where the highlighted words are closest together on the map."""
    there = [facts[ref, GATHERED] for ref in names if (ref, GATHERED) in facts]
    clauses = [f"layer {s.layers[0]} of {names[s.subject]} ({s.number.text})" for s in there]
    if not clauses:
        return []
    ratio = "their mean distance on the map divided by that of all words"
    return [f"The highlighted words are closest together at {listed(clauses)}: {ratio}."]


def missing_words(words: Sequence[str]) -> str:
    """Say which words to highlight are not in the passage."""
    verb, it = ("is", "it is") if len(words) == 1 else ("are", "they are")
    return f"{listed(words)} {verb} not in the passage, so {it} not highlighted."
