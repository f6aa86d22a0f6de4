"""Tables of the lenses: words that a change promotes, layers seen through the head, and words that
the output favours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.maths.arrays import Value
from core.maths.similarity.scoring import mean_band
from core.maths.statistics import interval
from core.studies.rsa.lens.tasks import TYPICAL, UNTYPICAL

PLAIN, TUNED = "logit lens", "tuned lens"
FIRST_FIVE, EVERYWHERE = "first five", "all"
TUNE, RIVAL = "fine-tune", "rival"
KINDS = {TYPICAL: "the fine-tune's text", UNTYPICAL: "the other text", 0: "neither, or rare"}
PROMOTED = (
    *("model", "base", "part", "places", "layer", "auc", "null_low", "null_high"),
    *("half_low", "half_high", "stable", "length", "promoted"),
)
PROMOTED_WORDS = ("model", "part", "places", "layer", "rank", "token", "typical_of")
THROUGH_HEAD = ("model", "lens", "layer", "lens_kl", "low", "high", "same_top")
DECIDED = ("model", "lens", "first_layer", "low", "high")
SAID = ("model", "lens", "position", "token", "layer", "said", "said_kl")
FAVOURED = ("model", "part", "rank", "token", "raised_share", "low", "high", "typical_of")
OUTPUTS = ("model", "part", "auc")


def change_tables(
    values: Mapping[str, Value], bases: Mapping[str, str], parts: Mapping[str, str]
) -> dict[str, pd.DataFrame]:
    """Make PROMOTED, PROMOTED_WORDS, FAVOURED and OUTPUTS of what `read_change` returned, by
    model."""
    rows: dict[str, list[dict[str, Any]]] = {"promoted": [], "promoted_words": []}
    favoured, outputs = [], []
    for model, value in values.items():
        about = {"model": model, "base": bases[model], "part": parts[model]}
        low, high = interval(value["shuffled"])
        for number, places in enumerate((FIRST_FIVE, EVERYWHERE)):
            for layer, auc in enumerate(value["auc"][number]):
                words, halves = value["words"][number][layer], value["halves"][:, number, layer]
                at = {"places": places, "layer": layer}
                rows["promoted"].append(
                    {
                        **about,
                        **at,
                        **{"auc": float(auc), "null_low": low[number, layer]},
                        **{"null_high": high[number, layer], "half_low": halves.min()},
                        **{"half_high": halves.max(), "stable": value["stable"][number, layer]},
                        "length": value["length"][number, layer],
                        "promoted": " ".join(words).strip(),
                    }
                )
                kinds = value["kinds"][number, layer]
                rows["promoted_words"] += [
                    {**about, **at, "rank": rank, "token": token, "typical_of": KINDS[int(kind)]}
                    for rank, (token, kind) in enumerate(zip(words, kinds, strict=True), start=1)
                    if token
                ]
        favoured += _favoured(about, value)
        outputs.append({**about, "auc": value["output_auc"]})
    return {
        "promoted": pd.DataFrame(rows["promoted"], columns=PROMOTED),
        "promoted_words": pd.DataFrame(rows["promoted_words"], columns=PROMOTED_WORDS),
        "favoured": pd.DataFrame(favoured, columns=FAVOURED),
        "output_change": pd.DataFrame(outputs, columns=OUTPUTS),
    }


def _favoured(about: Mapping[str, str], value: Value) -> list[dict[str, Any]]:
    """The tokens that are often among the most raised, with bands over sentences."""
    rows = []
    tokens = zip(value["raised"], value["raised_kinds"], value["hits"], strict=True)
    for rank, (token, kind, hits) in enumerate(tokens, start=1):
        low, high = mean_band(hits.astype(float), value["sentence"], positive=True)
        share = {"raised_share": float(hits.mean()), "low": low, "high": min(high, 1.0)}
        rows.append(
            {**about, "rank": rank, "token": token, **share, "typical_of": KINDS[int(kind)]}
        )
    return rows


def layer_tables(values: Mapping[str, Value]) -> dict[str, pd.DataFrame]:
    """Make THROUGH_HEAD, DECIDED and SAID of what `read_layers` returned, by model."""
    seen: list[dict[str, Any]] = []
    decided: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for model, value in values.items():
        for number, lens in enumerate((PLAIN, TUNED)):
            about = {"model": model, "lens": lens}
            sentence = value["sentence"]
            low, high = mean_band(value["first"][number].astype(float), sentence)
            first = float(value["first"][number].mean())
            decided.append({**about, "first_layer": first, "low": low, "high": high})
            for layer, lost in enumerate(value["kl"][number].astype(float)):
                low, high = mean_band(lost, sentence, positive=True)
                same = float(value["same"][number, layer].mean())
                numbers = {"lens_kl": float(lost.mean()), "low": low, "high": high}
                seen.append({**about, "layer": layer, **numbers, "same_top": same})
            said += _said(about, number, value)
    return {
        "through_head": pd.DataFrame(seen, columns=THROUGH_HEAD),
        "decided": pd.DataFrame(decided, columns=DECIDED),
        "said": pd.DataFrame(said, columns=SAID),
    }


def _said(about: Mapping[str, str], lens: int, value: Value) -> list[dict[str, Any]]:
    """What each layer says at each place of the typed sentence."""
    return [
        {
            **about,
            **{"position": position, "token": token, "layer": layer},
            **{"said": words[position - 1], "said_kl": float(kl[position - 1])},
        }
        for position, token in enumerate(value["token"], start=1)
        for layer, (words, kl) in enumerate(
            zip(value["said"][lens], value["said_kl"][lens], strict=True)
        )
    ]


def at_middle(table: pd.DataFrame, promoted: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of the layer halfway up each model, at which Minder et al. read a change too,
    and of the first words of sentences."""
    middle = promoted.groupby("model")["layer"].max() // 2
    return table[(table["layer"] == table["model"].map(middle)) & (table["places"] == FIRST_FIVE)]


def two_models(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """The first fine-tune whose layers were read, and its base."""
    rows, read = tables["promoted"], set(tables["through_head"]["model"])
    first = rows[(rows["part"] == TUNE) & rows["model"].isin(read)].head(1)
    pairs = zip(first["model"], first["base"], strict=True)
    return [str(ref) for pair in pairs for ref in pair if ref in read]
