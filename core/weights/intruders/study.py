"""The intruder experiment: which leading directions of a fine-tune's matrices resemble none of the
base's.

Each fine-tune is one task, which compares every matrix with the base's and with random updates of
equal norm. A running task keeps finished matrices, so that an interrupted run goes on where it
stopped. The threshold is applied afterwards, so another threshold computes nothing.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228. Deviations: see
`core.weights.vectors.intruders`.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import TaskError
from core.models.weights.deltas import Delta
from core.results.export import Result, provenance
from core.results.papers.citing import cite
from core.runs.pieces import keep_pieces
from core.runs.runner import Outputs, Task, span, tick
from core.runs.store import Value, identified, key_of
from core.runs.tasks import pure
from core.statistics import corrected, relative_change
from core.study import Study, View
from core.weights.clusters.selection import Selection, find_models
from core.weights.clusters.tasks import deltas_with_progress, open_pair
from core.weights.intruders import PURPOSE
from core.weights.intruders.charts import figures, intruder_panels
from core.weights.intruders.spec import IntruderSpec
from core.weights.intruders.text import (
    ALL,
    CAVEATS,
    HOW_TO_READ,
    REASON,
    SIGNIFICANT,
    make_headline,
    make_methods,
    statements_of,
)
from core.weights.prices import intruders_price
from core.weights.vectors.intruders import compare_directions, count_p_value, direction_p_values

VERSION = 2  # raised when what is kept of a matrix changes
RARE = 0.01  # p-value below which a direction is more than chance
CITATIONS = ("shuttleworth2024",)


@pure("weights.intruders", version=2)
def measure_intruders(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    families: tuple[str, ...],
    leading: int,
    draws: int,
    seed: int,
) -> Value:
    """Measure how much each matrix's leading directions resemble the base's.

    Args:
        base, model: References.
        base_identity, model_identity: See `core.models.weights.sources.identify`; part of the key.
        families: Only these; all when empty.
        leading, draws, seed: As in the spec.

    Returns:
        "places", pairs of family and layer from 0; "relative" (matrix,); "values" and "cosines"
        (matrix, direction) and "null" (matrix, draw, direction), NaN where a matrix did not move or
        has fewer directions; "notices".

    Raises:
        ModelError: If a model cannot be read or is no fine-tune of the base.
    """
    pair = open_pair(base, model, base_identity, model_identity, families)
    count = len(pair.slots)
    places = [[slot.family, slot.layer] for slot, _ in pair.slots]
    identities = identified(base_identity), identified(model_identity)
    keys = {
        index: key_of("intruders matrix", VERSION, *identities, place, leading, draws, seed)
        for index, place in enumerate(places)
    }
    with keep_pieces(keys) as pieces:
        for done, delta in enumerate(
            deltas_with_progress(pair, pieces.values), start=len(pieces.values)
        ):
            rng = np.random.default_rng(
                zlib.crc32(f"intruders {seed} {places[delta.index]}".encode())
            )
            with span(done / count, (done + 1) / count):
                pieces.add(delta.index, _measure_matrix(delta, leading, draws, rng))
    ordered = [pieces.values[index] for index in range(count)]
    relative = np.array([piece["relative"] for piece in ordered])
    values, cosines = np.full((2, count, leading), np.nan)
    null = np.full((count, draws, leading), np.nan, np.float32)
    for place, piece in enumerate(ordered):
        kept = len(piece["values"])
        values[place, :kept], cosines[place, :kept] = piece["values"], piece["cosines"]
        null[place, :, :kept] = piece["null"]
    return {
        "places": places, "relative": relative, "values": values, "cosines": cosines, "null": null,
        "notices": list(pair.notices),
    }  # fmt: skip


def _measure_matrix(delta: Delta, leading: int, draws: int, rng: np.random.Generator) -> Value:
    """Measure one matrix; an unchanged one has no directions."""
    size = float(np.linalg.norm(delta.matrix))
    relative = float(relative_change(size**2, delta.weight_norm**2))
    if not size:
        none = np.zeros(0)
        return {
            "relative": relative,
            "values": none,
            "cosines": none,
            "null": np.zeros((draws, 0), np.float32),
        }
    compared = compare_directions(delta.weight, delta.matrix, leading, draws, rng, tick)
    null = compared.null.astype(np.float32)
    return {
        "relative": relative,
        "values": compared.values,
        "cosines": compared.cosines,
        "null": null,
    }


def prepare(spec: IntruderSpec, texts: Mapping[str, bytes] | None = None) -> list[Task]:
    """Make the task of the first stage, which finds and identifies the models."""
    return [
        Task.of(
            "models", find_models, role="models", fleeting=True,
            base=spec.base, patterns=spec.models, own_bases=False, tree=0,
        )
    ]  # fmt: skip


def plan(spec: IntruderSpec, ready: Outputs) -> list[Task]:
    """Make one task per fine-tune.

    Raises:
        SpecError: If no fine-tune is named.
        ModelError: If something is no reference.
    """
    selection: Selection = ready.need("models")
    return [
        Task.of(
            member.ref,
            measure_intruders,
            role=member.ref,
            group=member.ref,
            base=member.base,
            model=member.ref,
            base_identity=selection.identities[member.base],
            model_identity=selection.identities[member.ref],
            families=spec.families,
            leading=spec.leading,
            draws=spec.draws,
            seed=spec.seed,
        )
        for member in selection.members
    ]


def collect(spec: IntruderSpec, ready: Outputs, outputs: Outputs) -> Result:
    """Count intruder dimensions by matrix, by family and in all, each with its null distribution.

    Raises:
        TaskError: If every task failed.
    """
    import pandas as pd

    selection: Selection = ready.values["models"]
    if not outputs.values:
        raise TaskError(
            f"No model could be compared. {next(iter(outputs.sentences.values()), '')}".strip()
        )
    matrices: list[dict[str, Any]] = []
    directions: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    notices = list(selection.notices)
    for model, value in outputs.values.items():
        notices += value["notices"]
        below = value["null"] < spec.threshold  # False for NaN, as it should be
        together = _together(value, len(outputs.values))
        clear = (value["cosines"] < spec.threshold) & (together < SIGNIFICANT)
        for place, (family, layer) in enumerate(value["places"]):
            row = {"model": model, "family": str(family), "layer": int(layer) + 1}
            new = _directions(value, place, row, spec.threshold, together[place])
            directions += new
            matrices.append(row | _matrix_row(value, place, new, below[place].sum(1)))
        names = [str(family) for family, _ in value["places"]]
        for family in (ALL, *dict.fromkeys(names)):
            chosen = np.array([family in (ALL, name) for name in names])
            families.append(
                {"model": model, "family": family}
                | _total(value, chosen, below, spec.threshold)
                | {"significant": int(clear[chosen].sum())}
            )
    models = len(outputs.values)
    tables = {
        "families": pd.DataFrame(families).assign(
            corrected_p=lambda rows: [corrected(p, models) for p in rows["p_value"]]
        ),
        "intruders": pd.DataFrame(matrices),
        "directions": pd.DataFrame(directions, columns=[*DIRECTION_COLUMNS]),
    }
    refs = dict.fromkeys(ref for member in selection.members for ref in (member.base, member.ref))
    statements = statements_of(spec, tables["families"])
    return Result(
        study="weights intruders",
        spec=spec.plain(),
        headline=make_headline(spec, statements, tables["families"]),
        statements=statements,
        tables=tables,
        notices=tuple(dict.fromkeys(notices)),
        failures={**ready.sentences, **selection.failures, **outputs.sentences},
        provenance=provenance()
        | {"fingerprints": {ref: selection.identities[ref] for ref in refs}},
        methods=f"{make_methods(spec)} {spec.settings()}",
        citations=cite(CITATIONS),
    )


DIRECTION_COLUMNS = (
    "model",
    "family",
    "layer",
    "direction",
    "singular_value",
    "cosine",
    "p_value",
    "corrected_p",
    "intruder",
)


def _directions(
    value: Value, place: int, row: dict[str, Any], threshold: float, together: np.ndarray
) -> list[dict[str, Any]]:
    seen = np.isfinite(value["cosines"][place])
    if not seen.any():
        return []
    cosines = value["cosines"][place][seen]
    p_values = direction_p_values(cosines, value["null"][place][:, seen])
    columns = zip(value["values"][place][seen], cosines, p_values, together[seen], strict=True)
    return [
        row | {
            "direction": number, "singular_value": float(size), "cosine": float(cosine),
            "p_value": float(p), "corrected_p": float(all_p), "intruder": bool(cosine < threshold),
        }
        for number, (size, cosine, p, all_p) in enumerate(columns, start=1)
    ]  # fmt: skip


def _together(value: Value, models: int) -> np.ndarray:
    """p-values that hold for all directions of all models, (matrix, direction); NaN without one.

    The lowest cosine of a draw over all matrices counts; then Bonferroni over the models.
    """
    cosines, null = value["cosines"], value["null"]
    every: np.ndarray = np.full(cosines.shape, np.nan)
    seen = np.isfinite(cosines)
    if seen.any():
        drawn = null.transpose(1, 0, 2)[:, seen]
        p_values = direction_p_values(cosines[seen], drawn)
        every[seen] = [corrected(float(p), models) for p in p_values]
    return every


def _matrix_row(
    value: Value, place: int, directions: list[dict[str, Any]], null: np.ndarray
) -> dict[str, Any]:
    count = sum(each["intruder"] for each in directions)
    return {
        "relative_norm": float(value["relative"][place]),
        "intruders": count,
        "rare": sum(each["intruder"] and each["p_value"] < RARE for each in directions),
        "null_mean": float(null.mean()) if directions else 0.0,
        "p_value": count_p_value(count, null) if directions else 1.0,
    }


def _total(value: Value, chosen: np.ndarray, below: np.ndarray, threshold: float) -> dict[str, Any]:
    cosines = value["cosines"][chosen]
    count = int((cosines < threshold).sum())
    null = below[chosen].sum((0, 2))
    low, high = np.quantile(null, (0.025, 0.975))
    return {
        "looked": int(np.isfinite(cosines).sum()),
        "intruders": count,
        "null_mean": float(null.mean()),
        "null_low": float(low),
        "null_high": float(high),
        "p_value": count_p_value(count, null),
    }


STUDY = Study(
    name="weights intruders",
    title="Intruders",
    purpose=PURPOSE,
    Spec=IntruderSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=intruders_price,
    caveats=CAVEATS,
    reason=REASON,
    views=(View(draw=intruder_panels, how_to_read=HOW_TO_READ),),
)
