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


def statements_of(
    heads: pd.DataFrame, outputs: pd.DataFrame, matrix: pd.DataFrame
) -> tuple[Statement, ...]:
    """State whether matched heads correlate more than chance, where their counterparts are, and the
    best output map.

    Args:
        heads: source, target, layer, head, match, correlation, null_low, null_high.
        outputs: source, target, layer, method, nmse.
        matrix: source_layer, source_head, target_layer, target_head, correlation of the first pair.

    Returns:
        First the layer of the highest mean correlation, then how the layers compare with chance;
        empty without a pair.
    """
    if heads.empty:
        return ()
    by_layer = heads.groupby("layer")[["correlation", "null_high"]].mean()
    best = by_layer["correlation"].idxmax()
    facts = [
        Statement(
            HEADS, HIGHEST, Estimate(float(by_layer["correlation"][best])), (int(best),), CHANCE
        )
    ]
    above = by_layer[by_layer["correlation"] > by_layer["null_high"] + ROUNDING].index
    if 1 / factorial(int(heads["head"].max()) + 1) > TAIL:
        facts.append(Statement(HEADS, TOO_FEW, baseline=CHANCE))
    elif len(above):
        facts.append(
            Statement(
                HEADS, ABOVE_CHANCE, layers=tuple(int(layer) for layer in above), baseline=CHANCE
            )
        )
    else:
        facts.append(Statement(HEADS, WITHIN_CHANCE, baseline=CHANCE))
    if len(by_layer) > 1 and len(matrix):
        nearest = matrix.loc[
            matrix.groupby(["source_layer", "source_head"])["correlation"].idxmax()
        ]
        same, chance = (
            float((nearest["source_layer"] == nearest["target_layer"]).mean()),
            1 / len(by_layer),
        )
        facts.append(
            Statement(
                HEADS,
                SAME_LAYER,
                Estimate(same, kind="per cent"),
                baseline=text_of(chance, "per cent"),
            )
        )
    means = outputs.groupby("method")["nmse"].mean()
    maps = means.drop([name for name in means.index if METHODS[name].kind == "control"])
    shown = [
        *([str(maps.idxmin())] if len(maps) else []),
        *(["lookup"] if "lookup" in means else []),
    ]
    facts += [
        Statement(name, LOWEST, Estimate(float(means[name]), kind="per cent")) for name in shown
    ]
    return tuple(facts)


def make_headline(facts: Sequence[Statement], layers: int, heads: int) -> str:
    """Write the headline of the statements of `statements_of`.

    Args:
        facts: The statements.
        layers: Number of layers compared.
        heads: Number of heads in a layer.
    """
    if not facts:
        return words_beside(__file__).sentence("nothing")
    highest, compared = facts[0], facts[1]
    text = (
        f"matched heads correlate at {highest.number.value_text} on average at the best layer "
        f"({highest.layers[0]})"
    )
    if compared.verdict == TOO_FEW:
        text = (
            f"Too few heads to tell: {text}, within the 95 % range of random matching of {heads} "
            "heads per layer"
        )
    elif compared.verdict == ABOVE_CHANCE:
        where = f"{len(compared.layers)} of {layers} layers"
        text = f"At {where}, beyond the 95 % range of random matching: {text}"
    else:
        text = f"Not detectably: {text}, within the 95 % range of random matching at every layer"
    sentences = [text]
    for fact in facts[2:]:
        if fact.verdict == SAME_LAYER:
            sentences.append(
                f"For {fact.number.value_text} of heads the most similar head of the other model "
                f"is in the same layer (chance: {fact.baseline})"
            )
    clauses = [
        f"{_subject(fact.subject)} leaves {fact.number.value_text}"
        for fact in facts
        if fact.verdict == LOWEST
    ]
    if clauses:
        clauses[0] += " of the variance of held-out attention outputs unexplained"
        sentences.append(f"Averaged over layers, {'; '.join(clauses)}")
    return ". ".join(sentences) + "."


def _subject(method: str) -> str:
    return "a per-subword average" if method == "lookup" else named(method)


def make_methods(spec: AttentionSpec, sentences: int) -> str:
    """Write the methods paragraph."""
    return (
        f"On {sentences:,} sentences of {spec.corpus}, each source head was matched with one "
        "target head of the same layer by the Hungarian method, which maximises the summed "
        "correlation of attention probabilities over training sentences. "
        "Correlations shown are on held-out sentences; chance is random one-to-one matching. "
        "The matrix compares every head of the first pair with every head, in any layer. "
        "Attention outputs (before the residual connection) of all subwords were mapped like "
        "hidden states, with whole sentences held out. The per-word average is over subwords here."
    )
