"""The study in a sentence or three, and its method in a paragraph: made from the numbers, true for whatever was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.alignment.registry import METHODS
from core.alignment.spec import AlignSpec

if TYPE_CHECKING:
    import pandas as pd


def make_headline(methods: pd.DataFrame, layers: pd.DataFrame, differences: pd.DataFrame, two_groups: bool) -> str:
    """Which method is best and where, whether the invertible network beats least squares, how the groups compare.

    Args:
        methods: group, method, nmse, low, high; controls included.
        layers: group, method, layer, nmse, low, high.
        differences: group, method, other_group, other_method, difference, low, high.
        two_groups: Whether a second group was asked for.
    """
    first = methods[methods["group"] == "models"]
    tried = first[[METHODS[name].kind != "control" for name in first["method"]]]
    if tried.empty:
        return "No pair could be aligned; the reasons are below."
    best = tried.loc[tried["nmse"].idxmin()]
    explained = f"{100 * (1 - best['nmse']):.0f} %" if best["nmse"] < 1 else "nothing"
    sentences = [
        f"{_upper(METHODS[best['method']].label)} aligns these spaces best: normalised held-out error {_number(best)}, "
        f"so {explained} of the target's variance is recovered"
    ]
    identity = first[first["method"] == "identity"]
    if not identity.empty:
        sentences[0] += f" (without a map {identity.iloc[0]['nmse']:.2f})"
    sentences.append(_layer_clause(layers[(layers["group"] == "models") & (layers["method"] == best["method"])]))
    network = differences[(differences["group"] == "models") & (differences["method"] == "inn")]
    # Ridge is the stronger of the two: beating plain least squares alone may be no more than a lack of rows.
    for other in ("ridge", "ols"):
        rows = network[(network["other_group"] == "models") & (network["other_method"] == other)]
        if not rows.empty:
            sentences.append(_network_clause(rows.iloc[0]))
            break
    if two_groups:
        sentences.append(_group_clause(differences, str(best["method"])))
    return ". ".join(sentence for sentence in sentences if sentence) + "."


def _layer_clause(rows: pd.DataFrame) -> str:
    """At which layer the spaces are most alike and at which least; nothing of a single layer."""
    if len(rows) < 2:
        return ""
    low, high = rows.loc[rows["nmse"].idxmin()], rows.loc[rows["nmse"].idxmax()]
    return (
        f"They are most alike in layer {low['layer']:.0f} ({_number(low)}), "
        f"least in layer {high['layer']:.0f} ({_number(high)})"
    )


def _network_clause(row: pd.Series) -> str:
    least = {"ridge": "closed-form least squares (ridge)", "ols": "closed-form least squares"}[row["other_method"]]
    change = f"error {row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
    if row["high"] < 0:
        return f"The invertible network beats {least} here ({change})"
    if row["low"] > 0:
        return f"The invertible network does not beat {least} here, it is worse ({change})"
    return f"The invertible network does not beat {least} here ({change}, a band that holds 0)"


def _group_clause(differences: pd.DataFrame, method: str) -> str:
    rows = differences[(differences["other_group"] == "models") & (differences["group"] == "against")]
    rows = rows[rows["method"] == method]
    if rows.empty:
        return ""
    row = rows.iloc[0]
    band = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
    if row["high"] < 0:
        return f"The second group is aligned more closely than the first ({band})"
    if row["low"] > 0:
        return f"The second group is aligned less closely than the first ({band})"
    return f"The two groups are aligned equally well, as far as these models can tell ({band})"


def make_methods(spec: AlignSpec, sentences: int) -> str:
    """A methods paragraph, ready to paste."""
    from core.alignment.protocol import SHARES

    shares = ", ".join(f"{100 * share:.0f} % {part}" for part, share in SHARES.items())
    rows = {"words": "words (mean of their subwords)", "cls": "[CLS] vectors", "mean": "sentence means"}[spec.items]
    labels = ", ".join(METHODS[name].label for name in spec.methods)
    count = len(spec.pairs())
    return (
        f"Hidden states of {sentences:,} sentences from {spec.corpus} were read from both models of {count} ordered "
        f"pairs in evaluation mode; rows are {rows}. Sentences were split by a hash of their words ({shares}). At "
        f"every layer a map from source to target was fitted on the training rows ({labels}); penalties, ranks and the "
        "length of training were chosen on the validation rows. Errors are squared errors on the test rows over the "
        "target's squared distance from its training mean. Bands are 95 % percentile intervals of "
        f"{spec.draws} bootstrap draws over models and sentences (over sentences alone for two models)."
    )


def _number(row: pd.Series) -> str:
    return f"{row['nmse']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
