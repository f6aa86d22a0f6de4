"""What the alignment study finds, as facts that its sentences are written from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from core.maths.maps.registry import NON_LINEAR, OF_STATES
from core.studies.alignment.seeds.spec import AGAIN
from core.studies.alignment.seeds.tables import GAIN_BESIDE, GAIN_OF_LAYERS, OVERALL, rows_between
from core.studies.text_kit import Estimate, Statement, estimate_of

PREDICTS, PREDICTS_NOTHING, LEAVES = "predicts", "predicts nothing", "leaves unexplained"
BETTER, WORSE, EQUAL = "predicts more", "predicts less", "no detectable difference"
LOWEST, HIGHEST = "lowest error", "highest error"
SEEN = " on seen words"  # behind the name of a method whose fact is of words seen in training
FIRST, SECOND = "first group", "second group"
LAYERS, BESIDE, WINDOW = "the layers", "the layers beside the window", "static-window"
NOTHING = 0.005  # share of the variance below which a map predicts none of it


def judged(methods: pd.DataFrame) -> str:
    """Which rows the result is about: unseen words, or all held-out rows where there are no unseen
    words."""
    return "unseen" if (methods["words"] == "unseen").any() else "all"


def best_map(methods: pd.DataFrame, words: str, group: str = "models") -> str:
    """The map of hidden states with the lowest error in a group; "" where there is none."""
    rows = rows_between(methods, words, group)
    rows = rows[rows["method"].isin(OF_STATES)]
    return "" if rows.empty else str(rows.loc[rows["nmse"].idxmin(), "method"])


def statements_of(
    methods: pd.DataFrame,
    layers: pd.DataFrame,
    differences: pd.DataFrame,
    gains: pd.DataFrame | None = None,
) -> tuple[Statement, ...]:
    """State what the maps predict, how they compare with ridge, and where the error is lowest and
    highest.

    Args:
        methods: group, method, words, nmse, low, high; controls included.
        layers: group, method, words, layer, nmse, low, high, tied.
        differences: group, method, other_group, other_method, words, difference, low, high, level.
        gains: group, gain, words, layer, difference, low, high, level, where there is a static
            window.

    Returns:
        The best map's statement first; subjects are methods or groups. Empty where no pair was
        aligned.
    """
    words = judged(methods)
    first = rows_between(methods, words).set_index("method")
    best = best_map(methods, words)
    if not best:
        return ()
    shown = [
        best,
        *(
            name
            for name in ("ridge", WINDOW, "lookup", "identity")
            if name in first.index and name != best
        ),
    ]
    facts = [_predicts(name, first.loc[name]) for name in shown]
    inside = differences[
        (differences["group"] == "models") & (differences["other_group"] == "models")
    ]
    against_ridge = inside[
        (inside["words"] == words) & (inside["other_method"] == "ridge")
    ].set_index("method")
    bent = against_ridge[against_ridge.index.isin(NON_LINEAR)]
    rivals = [best, *([str(bent["difference"].idxmin())] if len(bent) else []), "inn"]
    facts += [
        _compared(name, against_ridge.loc[name], "ridge")
        for name in dict.fromkeys(rivals)
        if name in against_ridge.index
    ]
    if gains is not None:
        facts += _of_layers(gains, words)
    facts += _of_second_run(methods, words)
    facts += _of_seen_words(methods, inside)
    by_layer = rows_between(layers, words)
    facts += layer_statements(by_layer[by_layer["method"] == best], best)
    between = differences[differences["other_group"] == "models"]
    between = between[(between["words"] == words) & (between["method"] == best)]
    for group, subject in (("against", SECOND), (AGAIN, AGAIN)):
        rows = between[between["group"] == group]
        facts += [_compared(subject, row, FIRST) for _, row in rows.iterrows()]
    return tuple(facts)


def layer_statements(by_layer: pd.DataFrame, method: str) -> list[Statement]:
    """State a map's lowest error, with the layers that are not distinguishable from it, and, of
    several layers, its highest.

    Args:
        by_layer: layer, nmse, low, high, tied of one map.
        method: The map.
    """
    ordered = [row for _, row in by_layer.sort_values("nmse", kind="stable").iterrows()]
    tied = tuple(sorted(int(row["layer"]) for row in ordered if row["tied"]))
    lowest = [Statement(method, LOWEST, estimate_of(row, "nmse"), tied) for row in ordered[:1]]
    return lowest + [
        Statement(method, HIGHEST, estimate_of(row, "nmse"), (int(row["layer"]),))
        for row in ordered[1:][-1:]
    ]


def _predicts(name: str, row: pd.Series) -> Statement:
    """What share of the target's variance a map predicts; its error where that is no share."""
    error = estimate_of(row, "nmse")
    if error.value > 1 - NOTHING:
        return Statement(
            name, PREDICTS_NOTHING, Estimate(error.value, error.low, error.high, kind="amount")
        )
    share = Estimate(1 - error.value, 1 - error.high, 1 - error.low, kind="per cent")
    return Statement(name, PREDICTS, share)


def _compared(name: str, row: pd.Series, baseline: str) -> Statement:
    """By how many points of variance a map or a group predicts more than its baseline; the error's
    sign turned."""
    value, low, high = (-100 * row[column] for column in ("difference", "high", "low"))
    return _judged(name, Estimate(value, low, high, float(row["level"]), "gain"), (), baseline)


def _judged(name: str, points: Estimate, at: tuple[int, ...], baseline: str) -> Statement:
    verdict = EQUAL if not points.clear else BETTER if points.value > 0 else WORSE
    return Statement(name, verdict, points, at, baseline)


def _of_layers(gains: pd.DataFrame, words: str) -> Iterator[Statement]:
    """How much more states predict than the static window: over all layers that are run, then at
    each; then what each adds beside the window.

    Layer 0 is left out: no layer has been run there.
    """
    rows = rows_between(gains, words)
    rows = rows[rows["layer"] != 0].sort_values("layer")
    for subject, gain in ((LAYERS, GAIN_OF_LAYERS), (BESIDE, GAIN_BESIDE)):
        for _, row in rows[rows["gain"] == gain].iterrows():
            value, low, high = (100 * row[name] for name in ("difference", "low", "high"))
            at = () if row["layer"] == OVERALL else (int(row["layer"]),)
            if subject == LAYERS or at:
                points = Estimate(value, low, high, float(row["level"]), "gain")
                yield _judged(subject, points, at, WINDOW)


def _of_second_run(methods: pd.DataFrame, words: str) -> Iterator[Statement]:
    """What the best map predicts of a second run of the same seed; the best of those that were
    fitted to it, where that one was not."""
    rows = rows_between(methods, words, AGAIN)
    best = best_map(methods, words)
    if best not in set(rows["method"]):
        best = best_map(methods, words, AGAIN)
    for _, row in rows[rows["method"] == best].iterrows():
        fact = _predicts(best, row)
        yield Statement(AGAIN, fact.verdict, fact.estimate, baseline=best)


def _of_seen_words(methods: pd.DataFrame, inside: pd.DataFrame) -> Iterator[Statement]:
    seen = rows_between(methods, "seen").set_index("method")
    if "lookup" not in seen.index:
        return
    yield Statement("lookup" + SEEN, LEAVES, estimate_of(seen.loc["lookup"], "nmse", "per cent"))
    of_ridge = (
        (inside["words"] == "seen")
        & (inside["method"] == "ridge")
        & (inside["other_method"] == "lookup")
    )
    for _, row in inside[of_ridge].iterrows():
        yield _compared("ridge" + SEEN, row, "lookup")


def find(facts: Sequence[Statement], subject: str, baseline: str = "") -> Statement | None:
    """The first statement of a subject compared with a baseline; None without one."""
    return next(
        (fact for fact in facts if (fact.subject, fact.baseline) == (subject, baseline)), None
    )
