"""Statements, headline and methods of the lineage study, and what its tests of independence say."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.arrays import Value
from core.maths.spectra.products import HELD
from core.models.changes import COMMON_START
from core.models.weights.families import family_label
from core.studies.text_kit import (
    Estimate,
    Statement,
    by_number,
    counted,
    listed,
    short_names,
    text_of,
)
from core.studies.weights.lineage.independence import MOST_TREES, MOST_UNITS
from core.studies.weights.lineage.spec import LineageSpec
from core.studies.weights.lineage.tables import (
    ALONE,
    BY_NORM,
    DESCENDS,
    FINE_TUNE,
    IDENTICAL,
    IN_ORDER,
    INDEPENDENT,
    LEFT_OUT,
    NEAREST,
    RANDOM,
    REORDERED,
    ROOT,
    UNCHANGED,
)

FOUND = "parents found"
MOST_NAMED = 3


def statements_of(table: pd.DataFrame, rules: pd.DataFrame) -> tuple[Statement, ...]:
    """State the share of recorded parents that the tree finds, then copies, strangers and roots.

    Args:
        table: `lineage` of the result.
        rules: `rules` of the result.
    """
    stated = []
    kinds = list(dict.fromkeys(rules["kind"]))
    for kind in sorted(kinds, key=lambda kind: kind != FINE_TUNE):
        row = rules[(rules["kind"] == kind) & (rules["rule"] == BY_NORM)].iloc[0]
        share = Estimate(float(row["share"]), kind="per cent")
        stated.append(Statement(str(kind), FOUND, share, baseline=RANDOM))
    stated += [
        Statement(str(row.model), str(row.verdict), baseline=str(row.parent))
        for row in table.itertuples()
        if row.verdict in (IDENTICAL, UNCHANGED, ALONE, LEFT_OUT, ROOT)
    ]
    return tuple(stated)


def make_headline(statements: Sequence[Statement], table: pd.DataFrame, rules: pd.DataFrame) -> str:
    """Say how the models are related, how far that agrees with their cards, and what has no parent.

    Args:
        statements: See `statements_of`.
        table, rules: As there.
    """
    names, parts = short_names(table["model"]), list[str]()
    by_kind = rules.set_index(["kind", "rule"])
    for place, said in enumerate(each for each in statements if each.verdict == FOUND):
        row, chance, nearest = (
            by_kind.loc[(said.subject, rule)] for rule in (BY_NORM, RANDOM, NEAREST)
        )
        counts = f"{int(row['right'])} of {int(row['of'])} {said.subject}s"
        share = said.number.value_text
        if place == 0:
            parts.append(
                f"Trees of the weights give {counts} ({share}) their recorded parent; random roots "
                f"would give it to {text_of(float(chance['share']), 'per cent')} "
                f"({text_of(float(row['p_value']), 'p')}), the nearest model to "
                f"{int(nearest['right'])}."
            )
        else:
            rival = text_of(float(chance["share"]), "per cent")
            parts.append(f"Trees do so for {counts} ({share}; with random roots {rival}).")
    for verdict, words in (
        (IDENTICAL, "has the same weights as"), (UNCHANGED, "has the same matrices as")
    ):  # fmt: skip
        copies = [said for said in statements if said.verdict == verdict]
        pairs = [f"{names[said.subject]} {words} {names[said.baseline]}" for said in copies]
        if pairs:
            parts.append(f"{listed(pairs, MOST_NAMED)}.")
    alone = [names[said.subject] for said in statements if said.verdict == ALONE]
    if alone:
        verb = by_number(len(alone), "has", "have")
        parts.append(f"{listed(alone, MOST_NAMED)} {verb} no relative here.")
    return " ".join([*parts, _trees(statements, table, names)])


def _trees(statements: Sequence[Statement], table: pd.DataFrame, names: dict[str, str]) -> str:
    """Say how many trees the models form, and where the largest begins."""
    joined = table[table["verdict"].isin((ROOT, DESCENDS))]
    roots = [said.subject for said in statements if said.verdict == ROOT]
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
    """Say how similar the updates of the chosen pair are, beside all pairs and permuted rows.

    Args:
        siblings, changes: Tables of the result.
    """
    if changes.empty:
        return ()
    first, second, base = (str(changes[name].iloc[0]) for name in ("model", "other", "base"))
    names = short_names((first, second, base))
    row = siblings[(siblings["model"] == first) & (siblings["other"] == second)].iloc[0]
    text = (
        f"The updates of {names[first]} and {names[second]}, both from {names[base]}, have cosine "
        f"{text_of(float(row['cosine']), 'share')}. With the rows of one of them permuted it is "
        f"{text_of(float(row['permuted_cosine']), 'share')}"
    )
    if len(siblings) > 1:
        median = text_of(float(siblings["cosine"].median()), "share")
        text += f"; the median over {len(siblings)} pairs with a common base is {median}"
    return (f"{text}.",)


def start_statements(tests: pd.DataFrame) -> tuple[Statement, ...]:
    """State the p-value of each pair that only its units relate and of a single pair, and the
    smallest of all pairs of different trees.

    Args:
        tests: `independence` of the result.
    """
    apart = tests[~tests["one_tree"].astype(bool)]
    shown = tests if len(tests) == 1 else apart[apart["outcome"] != INDEPENDENT]
    if shown.empty and len(apart):
        shown = apart.nsmallest(1, "corrected_p")
    statements = []
    for row in shown.nsmallest(MOST_NAMED, "corrected_p").itertuples():
        p_value = row.order_p if row.outcome == IN_ORDER else row.corrected_p
        estimate = Estimate(float(p_value), kind="p")
        statements.append(
            Statement(str(row.model), str(row.outcome), estimate, baseline=str(row.other))
        )
    return tuple(statements)


def start_sentences(statements: Sequence[Statement], tests: pd.DataFrame) -> str:
    """Say which models have a start in common, and which are not detectably related.

    Args:
        statements: See `start_statements`.
        tests: As there.
    """
    if tests.empty:
        return ""
    names, parts = short_names({*tests["model"], *tests["other"]}), list[str]()
    pairs = {each: f"{names[each.subject]} and {names[each.baseline]}" for each in statements}
    for outcome, text in (
        (IN_ORDER, "were not trained independently, by the order of their units"),
        (REORDERED, "were not trained independently, though their units stand in another order"),
    ):
        here = [f"{pairs[each]} ({each.number.value_text})" for each in statements
                if each.verdict == outcome]  # fmt: skip
        if here:
            parts.append(f"{listed(here)} {text}.")
    independent = next((each for each in statements if each.verdict == INDEPENDENT), None)
    apart = int((~tests["one_tree"].astype(bool)).sum())
    if independent is not None and apart > 1:
        parts.append(
            f"None of {counted(apart, 'pair')} from different trees is detectably related by its "
            f"units (smallest {independent.number.value_text}, corrected for "
            f"{counted(len(tests), 'test')})."
        )
    elif independent is not None:
        parts.append(
            f"By their units, {pairs[independent]} are not detectably related "
            f"({independent.number.value_text})."
        )
    return " ".join(parts)


def describe_tests(value: Value) -> str:
    """Say that some trees were not compared with each other, or nothing.

    Args:
        value: Of `compare_orders`.
    """
    left = int(value["trees"]) - MOST_TREES
    if left <= 0:
        return ""
    verb = by_number(left, "was", "were")
    return (
        f"Of {value['trees']} trees, the first {MOST_TREES} were compared by their units; "
        f"{left} {verb} not: name fewer models to compare them."
    )


def make_methods(spec: LineageSpec) -> str:
    """A methods paragraph, ready to paste."""
    chosen = f" ({', '.join(map(family_label, spec.families))})" if spec.families else ""
    return (
        f"All attention and feed-forward matrices{chosen} of {', '.join(spec.models)} were "
        "compared. Models whose matrices are all equal count as copies. Pairs with a cosine above "
        f"{text_of(COMMON_START)} were joined to minimum spanning trees by the Frobenius distance "
        "of their weights, and each tree was directed away from the model with the smallest norm, "
        "because norms grow along training. Model trees from distances of weights follow Horwitz "
        "et al. 2025, who direct them by kurtosis. Parents on record are the bases on the models' "
        "cards and, in a series of checkpoints, the one before. Chance is a random root of every "
        "tree, calculated exactly. Two rivals look for the nearest model by the norms of matrices "
        "alone, and with the rows of one of the two models in random order. Where all copies of a "
        f"matrix have more than {HELD / 1e6:.0f} million numbers together, the matrices are count "
        "sketches. Changes of two models with one base are compared by the cosine of their weights "
        "minus the base's. Independence was tested as by Zhu et al. 2025: the rows of the first "
        "matrix of every "
        f"feed-forward layer, at most {MOST_UNITS} evenly spaced, were matched to those of the "
        "other model by their correlations and the Hungarian method; the p-value is that of the "
        "rank correlation between their places in both models, and, for units in any order, "
        "between this matching and that of the gate's rows or of the second matrix' columns, "
        "one-sided, combined over layers by Fisher's method. Models beside each other in trees by "
        "the middle layer's first matrix were tested, and the first models of every two trees."
    )


CITATIONS = ("horwitz2025", "charikar2002", "zhu2025")
