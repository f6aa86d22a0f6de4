"""The intruder experiment: which leading directions of a fine-tune's matrices resemble none of the
base's.

Each fine-tune is one task, which compares every matrix with the base's and with random updates of
equal norm. A running task keeps finished matrices, so that an interrupted run goes on where it
stopped. The threshold is applied afterwards, so another threshold computes nothing.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228. Deviations: see
`core.maths.spectra.intruders`.

The headline's number: `core.studies.weights.intruders.tables.family_row`. It counts by the cosines
of `core.maths.spectra.intruders.compare_directions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.maths.statistics import SIGNIFICANT, corrected
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Value,
    View,
    nothing_compared,
    words_beside,
)
from core.studies.weights.clusters.selection import Selection
from core.studies.weights.intruders import text
from core.studies.weights.intruders.charts import intruder_panels
from core.studies.weights.intruders.planning import model_arguments, models_task
from core.studies.weights.intruders.spec import IntruderSpec
from core.studies.weights.intruders.tables import (
    DIRECTION_COLUMNS,
    direction_rows,
    family_row,
    joint_p_values,
    matrix_row,
)
from core.studies.weights.intruders.tasks import (
    PARTS,
    joined_parts,
    measure_intruders,
    measure_turned,
)

MEASURED = "measured"  # role of the tasks that compare directions, with their model and part
TURNED = "turned"  # of those that draw updates of the same spectrum, with their model
CITATIONS = ("shuttleworth2024",)


def prepare(spec: IntruderSpec, texts: Mapping[str, bytes] | None = None) -> list[Task]:
    """Make the task of the first stage: find and identify the models."""
    return [models_task(spec)]


def plan(spec: IntruderSpec, ready: Outputs) -> list[Task]:
    """Make the tasks of each fine-tune."""
    selection: Selection = ready.need("models")
    measured = [
        Task.of(
            member.ref,
            measure_intruders,
            role=(MEASURED, member.ref, part),
            group=member.ref,
            **model_arguments(spec, selection, member),
            draws=spec.draws,
            seed=spec.seed,
            part=part,
        )
        for member in selection.members
        for part in range(PARTS)
    ]
    turned = [
        Task.of(
            f"{member.ref}, turned",
            measure_turned,
            role=(TURNED, member.ref),
            group=member.ref,
            **model_arguments(spec, selection, member),
            threshold=spec.threshold,
            draws=spec.draws,
            seed=spec.seed,
        )
        for member in selection.members
    ]
    return [*measured, *turned]


def collect(spec: IntruderSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Count intruder dimensions by matrix, by family and in all, each with its null distribution.
    Raises TaskError if every task failed."""
    selection: Selection = ready.values["models"]
    measured = _measured(selection, outputs)
    if not measured:
        raise nothing_compared(outputs.sentences.values())
    matrices: list[dict[str, Any]] = []
    directions: list[dict[str, Any]] = []
    families: list[dict[str, Any]] = []
    notices = list(selection.notices)
    for model, value in measured.items():
        below = value["null"] < spec.threshold  # False for NaN, as it should be
        together = joint_p_values(value, len(measured))
        clear = (value["cosines"] < spec.threshold) & (together < SIGNIFICANT)
        for place, (family, layer) in enumerate(value["places"]):
            row = {"model": model, "family": str(family), "layer": int(layer) + 1}
            new = direction_rows(value, place, row, spec.threshold, together[place])
            directions += new
            matrices.append(row | matrix_row(value, place, new, below[place].sum(1)))
        names = [str(family) for family, _ in value["places"]]
        for family in (text.ALL, *dict.fromkeys(names)):
            of_family = np.array([family in (text.ALL, name) for name in names])
            families.append(
                {"model": model, "family": family}
                | family_row(value, of_family, below, spec.threshold)
                | {"significant": int(clear[of_family].sum())}
            )
    models = len(measured)
    tables = {
        "families": pd.DataFrame(families).assign(
            corrected_p=lambda rows: [corrected(p, models) for p in rows["p_value"]],
            corrected_turned_p=lambda rows: [corrected(p, models) for p in rows["turned_p"]],
        ),
        "intruders": pd.DataFrame(matrices),
        "directions": pd.DataFrame(directions, columns=[*DIRECTION_COLUMNS]),
    }
    notices += text.near_threshold(spec, tables["directions"])
    statements = text.statements_of(spec, tables["families"])
    return Findings(
        headline=text.make_headline(spec, statements, tables["families"]),
        statements=statements,
        tables=tables,
        notices=notices,
        failures=selection.failures,
        provenance={"fingerprints": selection.fingerprints(selection.members)},
        methods=text.make_methods(spec),
    )


def _measured(selection: Selection, outputs: Outputs) -> dict[str, Value]:
    """The values of the models whose parts have all been measured."""
    joined = {}
    for member in selection.members:
        roles = [(MEASURED, member.ref, part) for part in range(PARTS)]
        if all(role in outputs.values for role in (*roles, (TURNED, member.ref))):
            turned = outputs.values[TURNED, member.ref]
            joined[member.ref] = joined_parts([outputs.values[role] for role in roles]) | turned
    return joined


STUDY = Study(
    name="weights intruders",
    words=words_beside(__file__),
    Spec=IntruderSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=intruder_panels),),
)
