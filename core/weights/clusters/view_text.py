"""What each view of the weights page shows, in a sentence short enough to stand above a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.numbers import text_of
from core.weights.clusters.text import NORMS, SIGNIFICANT, WORDS
from core.weights.vectors.registry import VECTORS

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result


def map_sentence(result: Result) -> str:
    """Whether neighbours share a label, by the vector chosen and by norms alone; "" where nobody can be scored."""
    row = _scored(result, str(result.spec["vector"]))
    if row is None:
        return ""
    word, share, chance = _word(result), text_of(row["share"], "per cent"), text_of(row["chance"], "per cent")
    if row["smallest_p"] >= SIGNIFICANT:
        return (
            f"Too few models to tell whether neighbours share a {word}: {share} do, chance {chance}, and no p-value "
            f"could be below {text_of(row['smallest_p'], 'probability')}."
        )
    verdict = "share" if row["p_value"] < SIGNIFICANT else "do not share"
    more = "" if row["p_value"] < SIGNIFICANT else " more often than chance"
    norms = _scored(result, NORMS)
    alone = ""
    if norms is not None and result.spec["vector"] != NORMS:
        alone = f"; norms alone reach {text_of(norms['share'], 'per cent')} ({text_of(norms['p_value'], 'p')})"
    title = _title(str(result.spec["vector"]))
    return (
        f"Neighbours {verdict} a {word}{more}: {share} of each model's {_nearest(result)} by {title} do "
        f"(chance {chance}, {text_of(row['p_value'], 'p')}){alone}."
    )


def neighbours_sentence(result: Result) -> str:
    """What every vector reaches, the best first, beside chance."""
    k, vectors = _k(result), result.tables["vectors"]
    rows = vectors[vectors["k"] == k].sort_values("share", ascending=False, kind="stable")
    if rows.empty:
        return ""
    shares = ", ".join(
        f"{_title(name)} {text_of(share, 'per cent')}"
        for name, share in zip(rows["vector"], rows["share"], strict=True)
    )
    chance = text_of(float(rows["chance"].iloc[0]), "per cent")
    return f"Share of each model's {_nearest(result)} with its {_word(result)}: {shares}; chance {chance}."


def distances_sentence(result: Result) -> str:
    """How far models of one label lie from each other, beside models of two; "" without pairs of both kinds."""
    vector = str(result.spec["vector"])
    labels = result.table.set_index("model")["label"]
    pairs = result.tables["distances"]
    pairs = pairs[pairs["model"] < pairs["other"]] if len(pairs) else pairs
    if pairs.empty or vector not in pairs or labels.isna().all():
        return ""
    same = (pairs["model"].map(labels) == pairs["other"].map(labels)).to_numpy()
    if not same.any() or same.all():
        return ""
    within, between = pairs.loc[same, vector], pairs.loc[~same, vector]
    nearer = int((within < between.min()).sum())
    word = _word(result)
    return (
        f"Two models of one {word} are {text_of(within.mean())} apart on average, of two {text_of(between.mean())} "
        f"({_title(vector)}); {nearer} of {len(within)} pairs of one {word} are nearer than any of two."
    )


def depth_sentence(result: Result) -> str:
    """How full the ranks are beside a Gaussian matrix's, and in which families a trend with depth can be told."""
    ranks, trends = result.tables["ranks"], result.tables["trends"]
    of = "weights" if result.spec["of"] == "weights" else "delta"
    rows = ranks[(ranks["threshold"] == result.spec["threshold"]) & (ranks["of"] == of) & (ranks["rank"] > 0)]
    if rows.empty:
        return ""
    what = "delta" if of == "delta" else "weight matrix"
    ratio = text_of(float((rows["rank"] / rows["null_rank"]).median()), "per cent")
    text = (
        f"The median {what} has rank {text_of(rows['rank'].median(), 'whole')} at "
        f"{text_of(result.spec['threshold'], 'setting')} of its "
        f"energy, {ratio} of a Gaussian matrix's"
    )
    mine = trends[trends["of"] == of]
    told = list(dict.fromkeys(mine.loc[mine["kind"] != "constant", "family"]))
    families = mine["family"].nunique()
    if not families:
        return f"{text}."
    trend = f"it changes with depth in {', '.join(told)}" if told else "no trend with depth can be told"
    return f"{text}; {trend}{f' ({len(told)} of {families} families)' if told else ''}."


def _title(vector: str) -> str:
    """A vector's name inside a sentence."""
    title = VECTORS[vector].title
    return title[0].lower() + title[1:]


def _k(result: Result) -> int:
    return int(result.arrays["k"]) if "k" in result.arrays else 0


def _nearest(result: Result) -> str:
    k = _k(result)
    return "nearest" if k == 1 else f"{k} nearest"


def _word(result: Result) -> str:
    return WORDS["table" if result.spec.get("labels") else str(result.spec["label"])]


def _scored(result: Result, vector: str) -> pd.Series | None:
    rows = result.tables["vectors"]
    rows = rows[(rows["vector"] == vector) & (rows["k"] == _k(result))]
    return None if rows.empty else rows.iloc[0]
