"""Tables of the lineage study: the tree, all pairs, how many recorded parents a rule finds, and the
changes of two fine-tunes of one base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from core.errors import SpecError
from core.maths.arrays import Value
from core.maths.spectra import forests
from core.maths.spectra.forests import NONE, Forest
from core.maths.spectra.products import change_cosines, cosines_from, distances_from, norms_of
from core.maths.statistics import SIGNIFICANT, corrected
from core.models.changes import share_start
from core.models.identity import IDENTICAL, Identity, find_copies
from core.models.steps import STEP, in_order_of_training
from core.models.zoo import included_entries

ROOT, DESCENDS, ALONE = "root", "descends", "unrelated"
UNCHANGED, LEFT_OUT = "unchanged", "left out"
FINE_TUNE, CHECKPOINT = "fine-tune", "checkpoint"
NORM, KURTOSIS = "norm", "kurtosis"
BY_NORM, BY_KURTOSIS = "tree from the smallest norm", "tree from the highest kurtosis"
DIRECTED = (BY_NORM, BY_KURTOSIS)
UNDIRECTED, RANDOM = "tree without direction", "tree from a random model"
NEAREST, SIZES = "nearest model", "nearest by norms of matrices"
PERMUTED = "nearest with rows permuted"
LINEAGE = (
    *("model", "verdict", "parent", "root", "generation", "relative_delta", "cosine", "norm"),
    *("norm_change", "kurtosis", "kurtosis_root", "nearest", "recorded", "agrees", "start_p"),
)
IN_ORDER, REORDERED, INDEPENDENT = "in one order", "in another order", "not detectably related"
INDEPENDENCE = (
    *("model", "other", "outcome", "one_tree", "order_correlation", "order_p"),
    *("matched_correlation", "matched_p", "corrected_p", "agreeing", "matched_units"),
)
SIBLINGS = ("model", "other", "base", "cosine", "permuted_cosine")
CHANGES = (*SIBLINGS[:3], "family", "layer", *SIBLINGS[3:])
TESTS_OF_A_PAIR = 2  # units as they stand, and in any order
TEXTS = ("parent", "root", "kurtosis_root", "nearest", "recorded")  # "" where there is none


@dataclass(frozen=True)
class Relatives:
    """What is known of the models that are compared, copies left out.

    Attributes:
        refs: References.
        distances: Frobenius distances of the weights.
        permuted: The same with the rows of one of the two in random order.
        cosines: Of the weights.
        norms, kurtosis: Of each model; kurtosis is the mean over matrices.
        forest: Trees of related models.
        parents: Of each model, in trees from the smallest norm.
        recorded: Parents on record.
        kinds: `FINE_TUNE` or `CHECKPOINT` where a parent is on record, else "".
        paired, mixed: Inner products by matrix, (matrix, model, model), as they are and with the
            rows of the second model in random order.
    """

    refs: tuple[str, ...]
    distances: ndarray
    permuted: ndarray
    cosines: ndarray
    norms: ndarray
    kurtosis: ndarray
    forest: Forest
    parents: list[int]
    recorded: list[int]
    kinds: list[str]
    paired: ndarray
    mixed: ndarray


def copies_in(value: Value, identities: Mapping[str, Identity]) -> dict[str, tuple[str, str]]:
    """Find the models that equal an earlier one: that model, and whether all weights are
    `IDENTICAL` or only the matrices `UNCHANGED`."""
    refs = list(value["models"])
    equal = np.asarray(value["equal"]) == len(value["places"])
    earliest = {ref: refs[first] for ref, first in zip(refs, equal.argmax(1), strict=True)}
    copies = {ref: (UNCHANGED, first) for ref, first in earliest.items() if ref != first}
    identical = find_copies({ref: identities[ref].weights for ref in refs})
    return copies | {ref: (IDENTICAL, original) for ref, original in identical.items()}


def relatives_of(value: Value, copies: Mapping[str, Any]) -> Relatives:
    """Find the trees of the models that are no copies."""
    numbers = [number for number, ref in enumerate(value["models"]) if ref not in copies]
    refs = tuple(value["models"][number] for number in numbers)
    places = np.ix_(range(len(value["places"])), numbers, numbers)
    paired, mixed = value["paired"][places], value["permuted"][places]
    total, norms = paired.sum(0), norms_of(paired.sum(0))
    distances, cosines = distances_from(total, norms), cosines_from(total, norms)
    forest = forests.span_models(distances, share_start(cosines))
    recorded, kinds = recorded_parents(refs)
    return Relatives(
        refs, distances, distances_from(mixed.sum(0), norms), cosines, norms,
        value["kurtosis"][:, numbers].mean(0), forest, forests.root_at_lowest(forest, norms),
        recorded, kinds, paired, mixed,
    )  # fmt: skip


def recorded_parents(refs: Sequence[str]) -> tuple[list[int], list[str]]:
    """Look up the place of each model's parent among these, `NONE` without one, and the kind of its
    record: a fine-tune's is the base of its card, a checkpoint's the one before it in its run."""
    bases = {ref: entry.get("base") for ref, entry in included_entries().items()}
    runs: dict[str, list[str]] = {}
    for ref in refs:
        runs.setdefault(ref.partition("@")[0], []).append(ref)
    parents, kinds = [NONE] * len(refs), [""] * len(refs)
    for number, ref in enumerate(refs):
        if bases.get(ref) in refs:
            parents[number], kinds[number] = refs.index(bases[ref]), FINE_TUNE
    for run in runs.values():
        if not any(STEP.search(ref.partition("@")[2]) for ref in run):
            continue
        for before, after in pairwise(in_order_of_training(run)):
            parents[refs.index(after)] = refs.index(before)
            kinds[refs.index(after)] = CHECKPOINT
    return parents, kinds


def build_lineage(
    relatives: Relatives,
    refs: Sequence[str],
    copies: Mapping[str, tuple[str, str]],
    start_p: Mapping[str, float],
) -> pd.DataFrame:
    """Build the main table: a row for each of `refs` with its parent in the tree, copies and models
    that were left out too."""
    rows, nearest = {}, forests.nearest_of(relatives.distances)
    alone = {tree[0] for tree in relatives.forest.trees if len(tree) == 1}
    by_kurtosis = forests.root_at_lowest(relatives.forest, -relatives.kurtosis)
    for number, ref in enumerate(relatives.refs):
        parent = relatives.parents[number]
        verdict = ALONE if number in alone else ROOT if parent == NONE else DESCENDS
        ancestors = _ancestors(relatives.parents, number)
        row: dict[str, Any] = {
            "verdict": verdict,
            "generation": len(ancestors),
            "root": relatives.refs[(number, *ancestors)[-1]],
            "kurtosis_root": relatives.refs[(number, *_ancestors(by_kurtosis, number))[-1]],
            "norm": relatives.norms[number],
            "kurtosis": relatives.kurtosis[number],
        }
        if nearest[number] != NONE and verdict != ALONE:
            row["nearest"] = relatives.refs[nearest[number]]
        if parent != NONE:
            before = relatives.norms[parent]
            row |= {
                "parent": relatives.refs[parent],
                "relative_delta": relatives.distances[number, parent] / before,
                "cosine": relatives.cosines[number, parent],
                "norm_change": relatives.norms[number] / before - 1,
            }
        truth = relatives.recorded[number]
        if truth != NONE:
            row |= {"recorded": relatives.refs[truth], "agrees": bool(truth == parent)}
        rows[ref] = row
    for ref, (verdict, original) in copies.items():
        rows[ref] = {"verdict": verdict, "parent": original}
    empty = {"verdict": LEFT_OUT} | dict.fromkeys(TEXTS, "")
    complete = [
        {"model": ref, "start_p": start_p.get(ref, np.nan)} | empty | rows.get(ref, {})
        for ref in refs
    ]
    table = pd.DataFrame(complete, columns=list(LINEAGE))
    return table.astype({"generation": "Int64", "agrees": "boolean"})


def build_independence(value: Value) -> pd.DataFrame:
    """Build the table of the tests of independence: a row for each pair whose units were matched,
    with two tests, corrected together for those of all pairs."""
    names = np.asarray(value["models"], dtype=object)[np.asarray(value["pairs"])]
    least = np.finfo(np.float64).tiny  # of what a table holds: none of them is 0
    order, matched = (
        np.maximum(np.exp(value[f"{name}_log_p"]), least) for name in ("order", "matched")
    )
    tests = TESTS_OF_A_PAIR * len(names)
    outcome = [
        IN_ORDER if corrected(in_order, tests) < SIGNIFICANT
        else REORDERED if corrected(in_any, tests) < SIGNIFICANT else INDEPENDENT
        for in_order, in_any in zip(order, matched, strict=True)
    ]  # fmt: skip
    columns = (
        *(names[:, 0], names[:, 1], outcome, value["related"], value["order"].mean(1), order),
        *(value["matched"].mean(1), matched),
        [corrected(p, tests) for p in np.minimum(order, matched)],
        *(value["agreeing"].mean(1), int(value["units"].sum())),
    )
    return pd.DataFrame(dict(zip(INDEPENDENCE, columns, strict=True)))


def start_p_values(tests: pd.DataFrame) -> dict[str, float]:
    """Find the smallest p-value of each model's tests with its units in any order, corrected for
    their number."""
    p_values = pd.concat([tests.set_index(side)["matched_p"] for side in ("model", "other")])
    by_model = p_values.groupby(level=0)
    return {str(ref): corrected(float(mine.min()), len(mine)) for ref, mine in by_model}


def build_relatives(relatives: Relatives) -> pd.DataFrame:
    """Build the table of all pairs of models: distance and cosine, plain and with rows permuted."""
    first, second = np.triu_indices(len(relatives.refs), 1)
    names = np.asarray(relatives.refs, dtype=object)
    mixed = relatives.mixed.sum(0).astype(np.float64)  # with the rows of the second permuted
    permuted = cosines_from((mixed + mixed.T) / 2, relatives.norms)
    return pd.DataFrame(
        {
            "model": names[first],
            "other": names[second],
            "distance": relatives.distances[first, second],
            "cosine": relatives.cosines[first, second],
            "permuted_cosine": permuted[first, second],
        }
    )


def build_rules(relatives: Relatives) -> pd.DataFrame:
    """Build the table of how many recorded parents each rule finds, by kind of model."""
    recorded = np.array(relatives.recorded, dtype=int)
    by_kurtosis = forests.root_at_lowest(relatives.forest, -relatives.kurtosis)
    sizes = norms_of(relatives.paired)
    by_size = np.linalg.norm(sizes[:, :, None] - sizes[:, None], axis=0)
    beside = zip(recorded, relatives.forest.neighbours, strict=True)
    finds = {  # whether each model's parent is found
        BY_NORM: np.equal(relatives.parents, recorded),
        BY_KURTOSIS: np.equal(by_kurtosis, recorded),
        UNDIRECTED: np.array([truth in neighbours for truth, neighbours in beside], dtype=bool),
        NEAREST: np.equal(forests.nearest_of(relatives.distances), recorded),
        SIZES: np.equal(forests.nearest_of(by_size), recorded),
        PERMUTED: np.equal(forests.nearest_of(relatives.permuted), recorded),
    }
    rows: list[tuple[str, str, float, int, float, float]] = []
    for kind in dict.fromkeys(filter(None, relatives.kinds)):
        of_kind = np.array(relatives.kinds) == kind
        of = int(of_kind.sum())
        truths = np.where(of_kind, recorded, NONE).tolist()
        chances = forests.random_root_chances(relatives.forest, truths)
        rights = {rule: int(hits[of_kind].sum()) for rule, hits in finds.items()}
        p_values = {rule: min(1.0, float(chances[rights[rule] :].sum())) for rule in DIRECTED}
        rows += [
            (kind, rule, right, of, right / of, p_values.get(rule, np.nan))
            for rule, right in rights.items()
        ]
        mean = float(chances @ np.arange(len(chances)))
        rows.append((kind, RANDOM, mean, of, mean / of, np.nan))
    return pd.DataFrame(rows, columns=["kind", "rule", "right", "of", "share", "p_value"])


def build_growth(relatives: Relatives) -> pd.DataFrame:
    """Build the table of how often norm and kurtosis are larger than the recorded parent's."""
    rows = []
    for kind in dict.fromkeys(filter(None, relatives.kinds)):
        pairs = [
            (number, relatives.recorded[number])
            for number, each in enumerate(relatives.kinds)
            if each == kind
        ]
        starts = len({parent for _, parent in pairs})
        for name, values in ((NORM, relatives.norms), (KURTOSIS, relatives.kurtosis)):
            rising = sum(bool(values[child] > values[parent]) for child, parent in pairs)
            rows.append((kind, name, rising, len(pairs), starts))
    return pd.DataFrame(rows, columns=["kind", "property", "rising", "of", "starts"])


def build_siblings(relatives: Relatives) -> pd.DataFrame:
    """Build the table of all pairs with one base: cosine of their changes, most similar first.

    The base is the one on record; of models without one, the parent in the tree.
    """
    bases = [
        recorded if kind == FINE_TUNE else parent
        for recorded, kind, parent in zip(
            relatives.recorded, relatives.kinds, relatives.parents, strict=True
        )
    ]
    rows = []
    for base in dict.fromkeys(number for number in bases if number != NONE):
        cosines, permuted = (
            change_cosines(products.sum(0), relatives.paired.sum(0), base)
            for products in (relatives.paired, relatives.mixed)
        )
        children = [number for number, each in enumerate(bases) if each == base]
        rows += [
            (*(relatives.refs[n] for n in (first, second, base)),
             float(cosines[first, second]), float(permuted[first, second]))
            for first, second in combinations(children, 2)
        ]  # fmt: skip
    table = pd.DataFrame(rows, columns=list(SIBLINGS))
    return table.sort_values("cosine", ascending=False, kind="stable", ignore_index=True)


def build_changes(
    relatives: Relatives,
    siblings: pd.DataFrame,
    pair: Sequence[str],
    places: Sequence[tuple[str, int]],
) -> pd.DataFrame:
    """Build the table of one pair, the one with the most similar changes if none is named: cosine
    of the changes by family and layer, NaN where one of the two did not change a matrix. Raises
    SpecError if the two models have no common base here."""
    pairs = siblings.iloc[:1]
    if pair:
        pairs = siblings[
            siblings["model"].isin(pair) & siblings["other"].isin(pair)
        ]  # a table of pairs has each once
        if pairs.empty:
            raise SpecError(
                f"{pair[0]} and {pair[1]} have no common base among the models that are compared; "
                "choose two fine-tunes of one, and their base among the models."
            )
    if pairs.empty:
        return pd.DataFrame(columns=list(CHANGES))
    row = pairs.iloc[0]
    first, second, base = (relatives.refs.index(row[name]) for name in SIBLINGS[:3])
    cosines, permuted = (
        change_cosines(products, relatives.paired, base)[:, first, second]
        for products in (relatives.paired, relatives.mixed)
    )
    return pd.DataFrame(
        {
            **{name: row[name] for name in SIBLINGS[:3]},
            "family": [family for family, _ in places],
            "layer": [layer + 1 for _, layer in places],
            "cosine": cosines,
            "permuted_cosine": np.where(np.isnan(cosines), np.nan, permuted),
        },
        columns=list(CHANGES),
    )


def _ancestors(parents: Sequence[int], number: int) -> list[int]:
    """List a model's parent, the parent's parent, and so on to the root."""
    ancestors = []
    while (number := parents[number]) != NONE:
        ancestors.append(number)
    return ancestors
