"""Statements, headline and methods of the attention study."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import pandas as pd

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.text import named
from core.studies.text_kit import Estimate, Statement, text_of, words_beside
from extras.alignment.attention.spec import AttentionSpec

ABOVE_CHANCE, WITHIN_CHANCE, TOO_FEW = "above chance", "within chance", "too few to tell"
HIGHEST = "highest correlation"
SAME_LAYER = "most similar head in the same layer"
LOWEST = "lowest error"
HEADS = "matched heads"
CHANCE = "random matching"
TAIL = 0.025  # share of random matchings above the upper end of their 95 % range
ROUNDING = 1e-6
OF_OUTPUTS = " of the variance of held-out attention outputs unexplained"
said = words_beside(__file__).sentence


def statements_of(
    heads: pd.DataFrame, outputs: pd.DataFrame, matrix: pd.DataFrame
) -> tuple[Statement, ...]:
    """State at which layer matched heads correlate most, which layers are above chance, where the
    counterparts of the first pair's heads are, and the best output map, of the tables of `collect`;
    empty without a pair."""
    if heads.empty:
        return ()
    by_layer = heads.groupby("layer")[["correlation", "null_high"]].mean()
    best = by_layer["correlation"].idxmax()
    above = by_layer[by_layer["correlation"] > by_layer["null_high"] + ROUNDING].index
    few = 1 / factorial(int(heads["head"].max()) + 1) > TAIL
    verdict = TOO_FEW if few else ABOVE_CHANCE if len(above) else WITHIN_CHANCE
    where = tuple(int(layer) for layer in above) if verdict == ABOVE_CHANCE else ()
    highest = Estimate(float(by_layer["correlation"][best]))
    facts = [
        Statement(HEADS, HIGHEST, highest, (int(best),), CHANCE),
        Statement(HEADS, verdict, layers=where, baseline=CHANCE),
    ]
    if len(by_layer) > 1 and len(matrix):
        heads_of_source = matrix.groupby(["source_layer", "source_head"])["correlation"]
        nearest = matrix.loc[heads_of_source.idxmax()]
        same = float((nearest["source_layer"] == nearest["target_layer"]).mean())
        chance = text_of(1 / len(by_layer), "per cent")
        facts.append(Statement(HEADS, SAME_LAYER, Estimate(same, kind="per cent"), baseline=chance))
    means = outputs.groupby("method")["nmse"].mean()
    maps = means[[METHODS[name].kind != "control" for name in means.index]]
    best = [str(maps.idxmin())] if len(maps) else []
    shown = [*best, *(["lookup"] if "lookup" in means else [])]
    facts += [
        Statement(name, LOWEST, Estimate(float(means[name]), kind="per cent")) for name in shown
    ]
    return tuple(facts)


def make_headline(facts: Sequence[Statement], layers: int, heads: int) -> str:
    """Write the headline of the statements of `statements_of`; `layers` were compared, each with so
    many heads."""
    if not facts:
        return ""
    highest, compared = facts[:2]
    text = (
        f"matched heads correlate at {highest.number.value_text} on average at the best layer "
        f"({highest.layers[0]})"
    )
    leads = {
        TOO_FEW: f"Too few heads to tell: {text}, within the 95 % range of random matching of "
        f"{heads} heads per layer",
        ABOVE_CHANCE: f"At {len(compared.layers)} of {layers} layers, beyond the 95 % range of "
        f"random matching: {text}",
        WITHIN_CHANCE: f"Not detectably: {text}, within the 95 % range of random matching at "
        "every layer",
    }
    nearest = [
        f"For {fact.number.value_text} of heads the most similar head of the other model is in the "
        f"same layer (chance: {fact.baseline})"
        for fact in facts
        if fact.verdict == SAME_LAYER
    ]
    lowest = [fact for fact in facts if fact.verdict == LOWEST]
    clauses = [
        f"{_subject(fact.subject)} leaves {fact.number.value_text}"
        f"{OF_OUTPUTS if fact is lowest[0] else ''}"
        for fact in lowest
    ]
    errors = [f"Averaged over layers, {'; '.join(clauses)}"] if clauses else []
    return f"{'. '.join([leads[compared.verdict], *nearest, *errors])}."


def _subject(method: str) -> str:
    return "a per-subword average" if method == "lookup" else named(method)


def make_methods(spec: AttentionSpec, sentences: int) -> str:
    """Write the methods paragraph."""
    return said("methods", sentences=sentences, corpus=spec.corpus)
