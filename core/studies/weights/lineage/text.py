"""Statements, headline and methods of the lineage study, and what its tests of independence say."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.arrays import Value
from core.maths.spectra.products import HELD
from core.models.changes import COMMON_START
from core.models.identity import IDENTICAL, SAME_WEIGHTS
from core.models.weights.matrix_families import family_label
from core.studies.text_kit import (
    Statement,
    by_number,
    counted,
    estimate_of,
    listed,
    short_names,
    text_of,
    words_beside,
)
from core.studies.weights.lineage.independence import MOST_TREES, MOST_UNITS
from core.studies.weights.lineage.spec import LineageSpec
from core.studies.weights.lineage.tables import (
    ALONE,
    BY_NORM,
    DESCENDS,
    FINE_TUNE,
    IN_ORDER,
    INDEPENDENT,
    LEFT_OUT,
    NEAREST,
    RANDOM,
    REORDERED,
    ROOT,
    TESTS_OF_A_PAIR,
    UNCHANGED,
)

said = words_beside(__file__).sentence
FOUND = "parents found"
SAME = {IDENTICAL: SAME_WEIGHTS, UNCHANGED: "has the same matrices as"}
RELATED = {
    IN_ORDER: "were not trained independently, by the order of their units",
    REORDERED: "were not trained independently, though their units stand in another order",
}
MOST_NAMED = 3


def statements_of(table: pd.DataFrame, rules: pd.DataFrame) -> tuple[Statement, ...]:
    """State the share of recorded parents that the tree finds, then copies, strangers and roots."""
    by_norm = rules[rules["rule"] == BY_NORM].to_dict("records")
    by_norm.sort(key=lambda row: row["kind"] != FINE_TUNE)
    return (
        *(
            Statement(str(row["kind"]), FOUND, estimate_of(row, "share"), baseline=RANDOM)
            for row in by_norm
        ),
        *(
            Statement(str(row.model), str(row.verdict), baseline=str(row.parent))
            for row in table.itertuples()
            if row.verdict in (IDENTICAL, UNCHANGED, ALONE, LEFT_OUT, ROOT)
        ),
    )


def make_headline(statements: Sequence[Statement], table: pd.DataFrame, rules: pd.DataFrame) -> str:
    """Say how the models are related, how far that agrees with their cards, and what has no
    parent."""
    names, by_kind = short_names(table["model"]), rules.set_index(["kind", "rule"])
    shares = [each for each in statements if each.verdict == FOUND]
    copies = [
        listed(
            [
                f"{names[each.subject]} {words} {names[each.baseline]}"
                for each in statements
                if each.verdict == verdict
            ],
            MOST_NAMED,
        )
        for verdict, words in SAME.items()
    ]
    alone = [names[each.subject] for each in statements if each.verdict == ALONE]
    verb = by_number(len(alone), "has", "have")
    parts = (
        *(_parents(each, by_kind, first=each is shares[0]) for each in shares),
        *(f"{pairs}." for pairs in copies if pairs),
        f"{listed(alone, MOST_NAMED)} {verb} no relative here." if alone else "",
        _trees(statements, table, names),
    )
    return " ".join(filter(None, parts))


def _parents(share: Statement, by_kind: pd.DataFrame, first: bool) -> str:
    """Say how many recorded parents of one kind the trees find; with `first`, beside all rivals."""
    row, chance, nearest = (
        by_kind.loc[(share.subject, rule)] for rule in (BY_NORM, RANDOM, NEAREST)
    )
    counts = f"{int(row['right'])} of {int(row['of'])} {share.subject}s"
    rival, closest = (estimate_of(rule, "share").value_text for rule in (chance, nearest))
    if not first:
        return f"Trees do so for {counts} ({share.number.value_text}; with random roots {rival})."
    return (
        f"Trees of the weights give {counts} ({share.number.value_text}) their recorded parent; "
        f"random roots would give it to {rival} ({estimate_of(row, 'p_value').text}), the "
        f"nearest model to {closest}."
    )


def _trees(statements: Sequence[Statement], table: pd.DataFrame, names: dict[str, str]) -> str:
    """Say how many trees the models form, and where the largest begins."""
    joined = table[table["verdict"].isin((ROOT, DESCENDS))]
    roots = [each.subject for each in statements if each.verdict == ROOT]
    if not roots:
        return "No two of the models are related by their weights."
    sizes = joined["root"].value_counts()
    largest = max(roots, key=lambda ref: int(sizes[ref]))
    root, by_kurtosis = (
        names[joined.loc[joined["root"] == largest, rule].iloc[0]]
        for rule in ("root", "kurtosis_root")
    )
    begins = f"begins at {root}"
    if by_kurtosis != root:
        begins = (
            f"begins at {root} by the smallest norm and at {by_kurtosis} by the highest kurtosis, "
            "so its root is undecided"
        )
    if len(roots) == 1:
        return f"{len(joined)} models form one tree, which {begins}."
    trees = joined.drop_duplicates("root")
    disagreeing = int((trees["root"] != trees["kurtosis_root"]).sum())
    more = f" The two rules disagree in {disagreeing} of the trees." if disagreeing > 1 else ""
    return (
        f"{len(joined)} models form {len(roots)} trees; the largest, of {sizes[largest]}, {begins}."
        f"{more}"
    )


def describe_changes(siblings: pd.DataFrame, changes: pd.DataFrame) -> tuple[str, ...]:
    """Say how similar the updates of the chosen pair are, beside all pairs and permuted rows."""
    if changes.empty:
        return ()
    first, second, base = (str(changes[name].iloc[0]) for name in ("model", "other", "base"))
    names = short_names((first, second, base))
    row = siblings[(siblings["model"] == first) & (siblings["other"] == second)].iloc[0]
    median = text_of(float(siblings["cosine"].median()), "share")
    parts = (
        f"The updates of {names[first]} and {names[second]}, both from {names[base]}, have cosine "
        f"{text_of(float(row['cosine']), 'share')}. With the rows of one of them permuted it is "
        f"{text_of(float(row['permuted_cosine']), 'share')}",
        f"; the median over {len(siblings)} pairs with a common base is {median}"
        if len(siblings) > 1
        else "",
    )
    return (f"{''.join(parts)}.",)


def start_statements(tests: pd.DataFrame) -> tuple[Statement, ...]:
    """State the corrected p-value of each pair that only its units relate and of a single pair, or
    else the smallest of all pairs of different trees; the smallest first."""
    apart = tests[~tests["one_tree"].astype(bool)]
    shown = tests if len(tests) == 1 else apart[apart["outcome"] != INDEPENDENT]
    if shown.empty and len(apart):
        shown = apart.nsmallest(1, "corrected_p")
    return tuple(
        Statement(
            row["model"],
            row["outcome"],
            estimate_of(row, "corrected_p"),
            baseline=row["other"],
        )
        for row in shown.sort_values("corrected_p", kind="stable").to_dict("records")
    )


def start_sentences(statements: Sequence[Statement], tests: pd.DataFrame) -> str:
    """Say which models have a start in common, and which are not detectably related."""
    if tests.empty:
        return ""
    names = short_names({*tests["model"], *tests["other"]})
    pairs = {each: f"{names[each.subject]} and {names[each.baseline]}" for each in statements}
    related = {
        text: [
            f"{pairs[each]} ({each.number.value_text})"
            for each in statements
            if each.verdict == outcome
        ]
        for outcome, text in RELATED.items()
    }
    sentences = [
        f"{listed(here, MOST_NAMED, rest='more pairs')} {text}."
        for text, here in related.items()
        if here
    ]
    independent = next((each for each in statements if each.verdict == INDEPENDENT), None)
    apart = int((~tests["one_tree"].astype(bool)).sum())
    if independent is None:
        return " ".join(sentences)
    p_value = independent.number.value_text
    unrelated = (
        said(
            "none_related",
            pairs=counted(apart, "pair"),
            p=p_value,
            tests=counted(TESTS_OF_A_PAIR * len(tests), "test"),
        )
        if apart > 1
        else said("unrelated", pair=pairs[independent], p=p_value)
    )
    return " ".join([*sentences, unrelated])


def describe_tests(value: Value) -> str:
    """Say that some trees were not compared with each other, or nothing."""
    left = int(value["trees"]) - MOST_TREES
    if left <= 0:
        return ""
    verb = by_number(left, "was", "were")
    return said("tests_left", trees=value["trees"], most=MOST_TREES, left=left, verb=verb)


def make_methods(spec: LineageSpec) -> str:
    """A methods paragraph, ready to paste."""
    families = f" ({', '.join(map(family_label, spec.families))})" if spec.families else ""
    return said(
        "methods",
        chosen=families,
        models=", ".join(spec.models),
        start=text_of(COMMON_START),
        millions=f"{HELD / 1e6:.0f}",
        units=MOST_UNITS,
    )


CITATIONS = ("horwitz2025", "charikar2002", "zhu2025")
