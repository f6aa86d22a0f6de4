"""What the data dictionary's sentences claim, held against the tables: names, units, ranges,
orders, sums."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from core.results.columns import meaning

OF_MODEL = re.compile(r"(?<=static window of )\S+")  # whose window it is
REFERENCE = re.compile(r"(random:)?(zoo|hub|path):\S+")
FREE = re.compile(
    r"reference of the|the text, with|what models are grouped|as its card says|as its column says|"
    r"says: |what the "
    r"finding"
)
FREE_COLUMNS = (
    "says",
    "claim",
    "changed_by",
    "predicted",
    "predicted_token",
    "base_token",
    "equation",
    "same_dose",
    "word",
    "token",
    "said",
    "promoted",
    "span",
    "data_from",
    "corpus",
    "commonest",
    "method",
    "other_method",
    "finder",
)


def false_statements(tables: Iterable[tuple[str, pd.DataFrame]]) -> list[str]:
    """Table, column and what is wrong, for every sentence of the dictionary that its values
    contradict."""
    wrong = []
    for name, table in tables:
        for column in table.columns:
            text = meaning(str(name), str(column)) or ""
            wrong += [
                f"{name}.{column}: {reason} ({text})"
                for reason in contradictions(str(name), table, str(column), text)
            ]
    return list(dict.fromkeys(wrong))


def contradictions(name: str, table: pd.DataFrame, column: str, text: str) -> list[str]:
    """What of one column's sentence is not so."""
    values = table[column].dropna()
    reasons = []
    if "; 0 where" in text and table[column].isna().any():
        reasons.append("empty, not 0")
    if column == "rival_layer" and "rival" in table:
        layered = table["rival"].str.fullmatch(REFERENCE.pattern) | (table["rival"] == "layer 0")
        without = ~layered
        if ("empty where" in text) != bool((table[column].isna() == without).all()):
            reasons.append("not empty where the rival has no layer, or not said to be")
    if values.empty:
        return reasons
    if text.startswith("whether ") != bool(
        is_bool_dtype(values) or values.map(lambda one: isinstance(one, bool)).all()
    ):
        reasons.append("yes or no, and not said to be, or the other way round")
    if is_numeric_dtype(values) and not is_bool_dtype(values):
        reasons += wrong_numbers(name, table, column, values.astype(float), text)
    elif column not in FREE_COLUMNS and values.map(lambda one: isinstance(one, str)).all():
        reasons += unsaid_names(values, text)
    return reasons


def unsaid_names(values: pd.Series, text: str) -> list[str]:
    """Values that the sentence does not name; a reference counts as a model, where the sentence
    speaks of one."""
    said = set(re.findall(r"[\w']+", text))
    unsaid = []
    for value in dict.fromkeys(OF_MODEL.sub("a model", each) for each in values):
        if REFERENCE.fullmatch(value):
            if "reference of" not in text:
                unsaid.append(f"{value!r}, a reference, is not said")
        elif not FREE.search(text) and not set(re.findall(r"[\w']+", value)) <= said:
            unsaid.append(f"{value!r} is not said")
        elif "reference of" in text and not set(re.findall(r"[\w']+", value)) <= said:
            unsaid.append(f"{value!r} is no reference, and not said")
    return unsaid


def wrong_numbers(
    name: str, table: pd.DataFrame, column: str, values: pd.Series, text: str
) -> list[str]:
    """Ranges, units, orders and sums."""
    reasons = []

    def claim(said: bool, holds: bool, what: str) -> None:
        if said and not holds:
            reasons.append(what)

    low, high = values.min(), values.max()
    whole = bool((values == values.round()).all())
    share = text.startswith("share of") and "of the way" not in text
    claim(share, low >= 0 and high <= 1 + 1e-9, "a share outside 0 to 1")
    claim(
        text.endswith("(share)") and "over that of" not in text, low >= -1 and high <= 1, "no share"
    )
    claim("over that of" in text, low >= 0, "a negative ratio of norms")
    claim("p-value" in text or column == "p_value", low > 0 and high <= 1, "no p-value")
    claim("layer number" in text and "-1" not in text, whole and low >= 0, "no layer number")
    claim("number of" in text or "how many fine" in text, whole and low >= 0, "no number of things")
    claim("from 0" in text, whole and low >= 0, "not counted from 0")
    claim("from 1" in text, whole and low == 1, "not counted from 1")
    claim("0 is perfect" in text or ("squared" in text and "rank" not in text), low >= 0, "below 0")
    claim("1 for equal spaces" in text, high <= 1 + 1e-6, "above 1")
    claim(
        "cosine" in text and "absolute" in text, low >= 0 and high <= 1 + 1e-9, "no absolute cosine"
    )
    claim("ratio" in text, low >= 0, "a negative ratio")
    claim(
        "distance" in text and "mean" not in text and "labels" not in text,
        low >= 0,
        "a negative distance",
    )
    claim(
        text.startswith("level of the interval"),
        low >= 0.95 and high < 1,
        "no level of .95 or more",
    )
    claim("sqrt(2 - 2 cosine)" in text, high <= 2, "no distance on the unit sphere")
    if "metric" in table and column in ("value", "rival_value", "dev"):
        reasons += wrong_units(table, column, meaning(name, "metric") or "")
    if "kilobits" in table:
        times = table["uniform_kilobits"] / table["kilobits"]
        claim(
            "times shorter the online code" in text,
            bool((values - times).abs().max() < 1e-6),
            "another ratio",
        )
    claim(column in ("low", "null_low"), text.startswith("lower end"), "not called the lower end")
    claim(column in ("high", "null_high"), text.startswith("upper end"), "not called the upper end")
    upper = column.replace("low", "high")
    if column.endswith("low") and upper in table:
        claim(
            True,
            bool((table[column] <= table[upper]).where(table[column].notna(), True).all()),
            "above its high",
        )
    if "value before it" in text and column == "low":
        before = table.iloc[:, : list(table.columns).index(column)]
        value = before.loc[:, [is_float_dtype(kind) for kind in before.dtypes]].iloc[:, -1]
        outside = (value < table["low"] - 1e-6) | (value > table["high"] + 1e-6)
        claim(True, outside.mean() < 0.05, "not the band of the value before it")
    return reasons


def wrong_units(table: pd.DataFrame, column: str, text: str) -> list[str]:
    """Scores whose metric is said to be in per cent reach beyond 1, others do not; bits and nats
    have no end."""
    cents = re.findall(r"\w+", text.split("per cent")[0]) if "per cent" in text else []
    reasons = []
    for metric, part in table.groupby("metric"):
        values = part[column].dropna().abs()
        if metric in ("bits", "loss") or values.empty:
            continue
        is_cents = str(metric).split()[0] in cents
        if is_cents and (values.max() <= 1 or values.max() > 100) and values.max() > 0:
            reasons.append(f"{metric} is not in per cent")
        if not is_cents and values.max() > 1:
            reasons.append(f"{metric} is beyond 1")
    return reasons
