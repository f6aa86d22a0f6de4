"""Tables of the lineage study: the tree, all pairs, and how many recorded parents a rule finds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from core.maths.arrays import Value
from core.maths.spectra import forests
from core.maths.spectra.forests import NONE, Forest
from core.maths.spectra.products import cosines_from, distances_from, norms_of
from core.maths.statistics import SIGNIFICANT, corrected
from core.models import read_manifest
from core.models.changes import share_start
from core.models.identity import Identity
from core.models.steps import STEP, progress_of

ROOT, DESCENDS, ALONE = "root", "descends", "unrelated"
IDENTICAL, UNCHANGED, LEFT_OUT = "identical", "unchanged", "left out"
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
        sizes: Norms by matrix, (matrix, model).
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
    sizes: ndarray
    norms: ndarray
    kurtosis: ndarray
    forest: Forest
    parents: list[int]
    recorded: list[int]
    kinds: list[str]
    paired: ndarray
    mixed: ndarray


def copies_in(value: Value, identities: Mapping[str, Identity]) -> dict[str, tuple[str, str]]:
    """Find the models whose matrices all equal an earlier model's: that model, and whether all
    weights are `IDENTICAL` or only these `UNCHANGED`."""
    refs, copies = list(value["models"]), dict[str, tuple[str, str]]()
    whole = len(value["places"])
    for number, ref in enumerate(refs):
        first = next((n for n in range(number) if value["equal"][number][n] == whole), None)
        if first is not None:
            same = identities[ref].weights == identities[refs[first]].weights
            copies[ref] = (IDENTICAL if same else UNCHANGED, refs[first])
    return copies


def relatives_of(value: Value, copies: Mapping[str, Any]) -> Relatives:
    """Find the trees of the models that are no copies."""
    kept = [number for number, ref in enumerate(value["models"]) if ref not in copies]
    refs = tuple(value["models"][number] for number in kept)
    chosen = np.ix_(range(len(value["places"])), kept, kept)
    paired, permuted = value["paired"][chosen], value["permuted"][chosen]
    norms, total = norms_of(paired.sum(0)), paired.sum(0)
    distances, cosines = distances_from(total, norms), cosines_from(total, norms)
    forest = forests.span_models(distances, share_start(cosines))
    recorded, kinds = recorded_parents(refs)
    return Relatives(
        refs, distances, distances_from(permuted.sum(0), norms), cosines, norms_of(paired), norms,
        value["kurtosis"][:, kept].mean(0), forest, forests.root_at_lowest(forest, norms), recorded,
        kinds, paired, permuted,
    )  # fmt: skip


def recorded_parents(refs: Sequence[str]) -> tuple[list[int], list[str]]:
    """Look up the place of each model's parent among these, `NONE` without one, and the kind of its
    record: a fine-tune's is the base of its card, a checkpoint's the one before it in its run."""
    bases = {str(entry["ref"]): str(entry.get("base") or "") for entry in read_manifest()}
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
        steps = {ref: progress_of(ref)[0] for ref in run}
        ends = {ref: math.inf if step is None else float(step) for ref, step in steps.items()}
        ordered = sorted(run, key=ends.__getitem__)
        for before, after in pairwise(ordered):
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
    values = {}
    for ref in {*tests["model"], *tests["other"]}:
        mine = tests.loc[(tests["model"] == ref) | (tests["other"] == ref), "matched_p"]
        values[str(ref)] = corrected(float(mine.min()), len(mine))
    return values


def build_relatives(relatives: Relatives) -> pd.DataFrame:
    """Build the table of all pairs of models: distance and cosine, plain and with rows permuted."""
    first, second = np.triu_indices(len(relatives.refs), 1)
    names = np.asarray(relatives.refs, dtype=object)
    lengths = np.outer(relatives.norms, relatives.norms)
    mixed = (np.add.outer(relatives.norms**2, relatives.norms**2) - relatives.permuted**2) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        mixed = mixed / lengths
    return pd.DataFrame(
        {
            "model": names[first],
            "other": names[second],
            "distance": relatives.distances[first, second],
            "cosine": relatives.cosines[first, second],
            "permuted_cosine": mixed[first, second],
        }
    )


def build_rules(relatives: Relatives) -> pd.DataFrame:
    """Build the table of how many recorded parents each rule finds, by kind of model."""
    recorded = np.array(relatives.recorded, dtype=int)
    by_kurtosis = forests.root_at_lowest(relatives.forest, -relatives.kurtosis)
    sizes = np.linalg.norm(relatives.sizes[:, :, None] - relatives.sizes[:, None], axis=0)
    beside = zip(recorded, relatives.forest.neighbours, strict=True)
    finds = {  # whether each model's parent is found
        BY_NORM: np.equal(relatives.parents, recorded),
        BY_KURTOSIS: np.equal(by_kurtosis, recorded),
        UNDIRECTED: np.array([truth in neighbours for truth, neighbours in beside], dtype=bool),
        NEAREST: np.equal(forests.nearest_of(relatives.distances), recorded),
        SIZES: np.equal(forests.nearest_of(sizes), recorded),
        PERMUTED: np.equal(forests.nearest_of(relatives.permuted), recorded),
    }
    rows: list[tuple[str, str, float, int, float, float]] = []
    for kind in dict.fromkeys(filter(None, relatives.kinds)):
        chosen = np.array(relatives.kinds) == kind
        of = int(chosen.sum())
        truths = np.where(chosen, recorded, NONE).tolist()
        chances = forests.random_root_chances(relatives.forest, truths)
        rights = {rule: int(hits[chosen].sum()) for rule, hits in finds.items()}
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


def _ancestors(parents: Sequence[int], number: int) -> list[int]:
    """List a model's parent, the parent's parent, and so on to the root."""
    ancestors = []
    while (number := parents[number]) != NONE:
        ancestors.append(number)
    return ancestors
