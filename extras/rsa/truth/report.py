"""The benchmark in a report: statements, headline, and the AUCs as a heatmap with a row per measure
and a column per rounding or per thing compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.maths.similarity.registry import MEASURES
from core.studies.chart_kit import PAGE, Chart, Context, Result, Tip, heatmap
from core.studies.text_kit import (
    Estimate,
    Statement,
    counted,
    estimate_of,
    listed,
    text_of,
    words_beside,
)

said = words_beside(__file__).sentence
UNFROZEN = said("unfrozen")
RIVALS = {"depth": "layer number alone", "weights": "size of the weight change"}
READINGS = {
    "state": "state",
    "drop": "drop",
    "answer": "output",
}  # what is compared, on a chart's axis
EQUAL = 1.0  # the rounding that the headline states
ROUNDINGS = {0.0: "unrounded", 0.5: "half", EQUAL: "equal", 2.0: "twice"}  # over the weight change
ROUNDED = "size of the rounding, over that of the weight change"
LOWEST, HIGHEST, RIVAL = (
    "lowest AUC of the measures",
    "highest AUC of the measures",
    "AUC of a baseline",
)
UNROUNDED, FROZEN, FROZEN_DEPTH = (
    "unchanged states of frozen fine-tunes, not rounded",
    "unchanged states of frozen fine-tunes",
    "unchanged states of frozen fine-tunes, equal depth",
)
STATE, STATE_DEPTH = "unchanged layers, by state", "unchanged layers, by state, equal depth"
DROP, DROP_DEPTH = "unchanged layers, by drop", "unchanged layers, by drop, equal depth"
OUTPUT, OUTPUT_DEPTH = "unchanged layers, by output", "unchanged layers, by output, equal depth"
NEAR_1 = 0.95  # AUCs above it have bands that are too narrow
ABOVE = "measures detectably above guessing, corrected for their number"
COMPARED = "measures compared"
GUESSING = 0.5
Facts = dict[
    tuple[str, str], Statement
]  # verdict (or baseline's name), what changed layers are compared with
ROW = 26  # pixels
COLUMNS = {
    "frozen": "rounding, over the size of the weight change",
    "planted": "state, drop from the layer below, output on the base's input",
}
TITLES = {
    "frozen": "Frozen fine-tunes: finding changed states",
    "planted": "Layers inserted into the base (planted): finding them",
}


def finder_label(name: str) -> str:
    """Give a measure or a baseline its name for readers."""
    return RIVALS[name] if name in RIVALS else MEASURES[name].label


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State the worst and the best measure, and the baselines, at each task of the benchmark; rows
    matched in size are left out."""
    whole = table[~table["matched"].astype(bool)]
    frozen, planted = whole[whole["truth"] == "frozen"], whole[whole["truth"] == "planted"]
    statements: list[Statement] = []
    if len(frozen):
        statements.append(Statement("frozen fine-tunes", ROUNDED, Estimate(EQUAL, kind="whole")))
    tasks = (
        (frozen[frozen["rounding"] == 0], UNROUNDED, ""),
        (frozen[frozen["rounding"] == EQUAL], FROZEN, FROZEN_DEPTH),
        (planted[planted["reading"] == "state"], STATE, STATE_DEPTH),
        (planted[planted["reading"] == "drop"], DROP, DROP_DEPTH),
        (planted[planted["reading"] == "answer"], OUTPUT, OUTPUT_DEPTH),
    )
    for rows, unchanged, at_depth in tasks:
        statements += _of_task(rows.dropna(subset=["auc"]), "auc", unchanged)
        if at_depth:
            statements += _of_task(rows.dropna(subset=["same_depth"]), "same_depth", at_depth)
    return tuple(statements)


def _of_task(rows: pd.DataFrame, column: str, unchanged: str) -> list[Statement]:
    """State the worst and the best measure of one task, and what the baselines reach."""
    measures = rows[~rows["finder"].isin(RIVALS)]
    areas = measures[column]
    ends = ((LOWEST, areas.idxmin()), (HIGHEST, areas.idxmax())) if len(measures) else ()
    statements = [
        Statement(
            str(measures["finder"][place]),
            verdict,
            _auc(measures.loc[place], column),
            baseline=unchanged,
        )
        for verdict, place in ends
    ]
    if column == "auc" and len(measures) and measures["low_together"].notna().all():
        whole = Estimate(float(len(measures)), kind="whole")
        count = Estimate(float((measures["low_together"] > GUESSING).sum()), kind="whole")
        statements += (
            Statement(f"{whole.text} measures", ABOVE, count, baseline=unchanged),
            Statement("measures", COMPARED, whole, baseline=unchanged),
        )
    return statements + [
        Statement(str(row["finder"]), RIVAL, _auc(row, column), baseline=unchanged)
        for _, row in rows[rows["finder"].isin(RIVALS)].iterrows()
    ]


def _auc(row: pd.Series[float], column: str) -> Estimate:
    """Give an AUC with its band, which only the one over all layers has."""
    return estimate_of(row, column) if column == "auc" else Estimate(float(row[column]))


def make_headline(statements: Sequence[Statement]) -> str:
    """Say how well measures find changed layers, in planted models and in frozen fine-tunes, and
    the baselines."""
    facts = {
        (
            statement.subject if statement.verdict == RIVAL else statement.verdict,
            statement.baseline,
        ): statement
        for statement in statements
    }
    rounded = facts.get((ROUNDED, ""))
    frozen = (LOWEST, FROZEN) in facts
    parts = [UNFROZEN] if rounded is not None and not frozen else []
    if (LOWEST, STATE) in facts:
        parts += [
            _best_reading(facts),
            "In planted models, where any layer may have changed and all are rounded in the same "
            "way, similarity of a layer's state ranks changed layers with AUC "
            f"{_range(facts, STATE)}{_above(facts, STATE)}. "
            f"Its drop from the layer below has AUC {_range(facts, DROP)}{_above(facts, DROP)}. "
            "Similarity of the layer's output on the base's input "
            f"has AUC {_range(facts, OUTPUT)}{_above(facts, OUTPUT)}.",
            "Compared only with layers of equal depth, "
            f"the state reaches {_range(facts, STATE_DEPTH)}, "
            f"the drop {_range(facts, DROP_DEPTH)} and the output {_range(facts, OUTPUT_DEPTH)}; "
            f"the size of the weight change reaches {_rival(facts, 'weights', STATE_DEPTH)} there, "
            f"and {_rival(facts, 'weights', STATE)} over all layers.",
        ]
    if frozen and rounded is not None and rounded.estimate is not None:
        parts += [
            "In frozen fine-tunes, "
            f"measures find changed states with AUC {_range(facts, UNROUNDED)}; "
            f"after rounding, {_range(facts, FROZEN)}, the layer number alone "
            f"{_rival(facts, 'depth', FROZEN)}.",
            "Weights are rounded by as much as they changed; without rounding, unchanged states "
            "are equal bit for bit.",
            f"Compared only with states of equal depth, the AUC is {_range(facts, FROZEN_DEPTH)}.",
        ]
    return " ".join(parts)


def _best_reading(facts: Facts) -> str:
    """Say by which reading of a layer measures find the changed ones best, and what the others and
    the weights reach."""
    readings = {OUTPUT: "output on the base's input", DROP: "drop", STATE: "state"}
    stated = [name for name in readings if (HIGHEST, name) in facts]
    best, *rest = sorted(stated, key=lambda name: -facts[HIGHEST, name].number.value)
    others = listed([f"{readings[name]} ({_ends(facts, name)})" for name in rest])
    then = f", then by {others}" if others else ""
    reading = f"its {readings[best]} (AUC {_ends(facts, best)})"
    size = facts.get(("weights", STATE))
    if size and size.estimate and size.number.high >= facts[HIGHEST, best].number.low:
        return (
            f"A changed layer is found by {reading}, not detectably better than by the size of its "
            f"weight change ({size.number.text})."
        )
    return (
        f"A changed layer is found best by {reading}{then}; "
        f"its weight change gives {_rival(facts, 'weights', STATE)}."
    )


def _ends(facts: Facts, unchanged: str) -> str:
    """Give the lowest and the highest AUC of the measures, without their names."""
    low, high = (facts[verdict, unchanged].number.value_text for verdict in (LOWEST, HIGHEST))
    return low if low == high else f"{low} to {high}"


def _range(facts: Facts, unchanged: str) -> str:
    """Give the lowest and the highest AUC of the measures, with their names."""
    ends = [facts.get((verdict, unchanged)) for verdict in (LOWEST, HIGHEST)]
    texts = [
        (end.number.value_text, finder_label(end.subject)) for end in ends if end and end.estimate
    ]
    if len(texts) < 2:
        return "n/a"
    if texts[0][0] == texts[1][0]:
        return f"{texts[0][0]} (every measure)"
    return " to ".join(f"{number} ({name})" for number, name in texts)


def _above(facts: Facts, unchanged: str) -> str:
    """Say for how many measures the interval is above guessing; "" without intervals."""
    statement = facts.get((ABOVE, unchanged))
    if statement is None:
        return ""
    above, whole = statement.number, facts[COMPARED, unchanged].number
    if above.value == 0:
        return f", not detectably above guessing (.5) for any of {whole.text} measures"
    every = above.value == whole.value
    number = "every measure" if every else f"{above.text} of {whole.text} measures"
    return f", detectably above guessing (.5) for {number}"


def _rival(facts: Facts, name: str, unchanged: str) -> str:
    statement = facts.get((name, unchanged))
    return statement.number.value_text if statement and statement.estimate else "n/a"


def make_notices(table: pd.DataFrame, fewest: Mapping[str, int]) -> list[str]:
    """Say why the AUCs of frozen or of planted models have no bands, and that bands of AUCs of
    almost 1 are too narrow."""
    named = {"frozen": "frozen fine-tunes", "planted": "planted models"}
    without = table["low"].isna()
    notices = [
        f"The AUCs of the {named[truth]} have no bands, "
        f"because bands over fewer than {fewest[truth]} fine-tunes mean little."
        for truth in dict.fromkeys(table.loc[without, "truth"])
    ]
    narrow = int((~without & (table["auc"] > NEAR_1)).sum())
    if narrow:
        notices.append(
            f"The bands of {counted(narrow, 'AUC')} above {text_of(NEAR_1)} may be too narrow: "
            "with 6 fine-tunes such bands contain the true AUC in 89 % instead of 95 %."
        )
    return notices


def truth_chart(
    result: Result, truth: str, matched: bool = False, *, context: Context = PAGE
) -> Chart:
    """Draw the AUCs of all measures and baselines for one truth, "frozen" or "planted"."""
    table = result.table
    rows = table[(table["truth"] == truth) & (table["matched"] == matched)]
    rows = rows.assign(
        name=rows["finder"].map(finder_label), what=[column_name(row) for _, row in rows.iterrows()]
    )
    rivals = [finder_label(name) for name in RIVALS]
    order = [*dict.fromkeys(name for name in rows["name"] if name not in rivals), *rivals]
    size = ", changes matched in size" if matched else ""
    return heatmap(
        rows,
        TITLES[truth],
        f"AUC{size}; {COLUMNS[truth]}",
        x="what",
        y="name",
        value="auc",
        ends=(0.5, 1.0),
        tips=[Tip("name", "Measure"), Tip("what", "Column")],
        also=["low", "same_depth", "truth.changed", "truth.unchanged"],
        said=f"{TITLES[truth]}{size}",
        order=(list(dict.fromkeys(rows["what"])), order),
        height=ROW * len(order),
        limit=200,
        context=context,
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every chart that the result has the numbers for, by file name; planted models first,
    which the headline is about."""
    drawn = dict.fromkeys(zip(result.table["truth"], result.table["matched"], strict=True))
    return {
        f"truth-{truth}{'-matched' if matched else ''}": truth_chart(
            result, truth, matched, context=context
        )
        for truth, matched in sorted(drawn, key=lambda each: (each[1], each[0] != "planted"))
    }


def column_name(row: pd.Series[float]) -> str:
    """Name the column of a row, as charts and tables do."""
    if row["truth"] == "planted":
        return READINGS[str(row["reading"])]
    return ROUNDINGS[float(row["rounding"])]
