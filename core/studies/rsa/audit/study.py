"""Audit: what is wrong with the files of a training series, before anything is measured on them.

Public series have had steps that are copies of each other or of the final model, steps without
weights, steps in the wrong place and steps of another seed. All of that shows in a few numbers of
the weights.

Reference: none. Deviations: none; the rules are in `core.models.weights.audit`.

The headline's number: `core.models.weights.audit.audit_run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.models.steps import notices_of_steps, progress_of
from core.models.weights.audit import UNREADABLE, Audit, Verdict, audit_run, audit_seeds
from core.models.weights.samples import sample_of, sample_weights
from core.results.columns import Tip, tip_of
from core.results.drawing.heatmaps import heatmap
from core.results.names import short_names
from core.studies.kit import (
    PAGE,
    Chart,
    Context,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    View,
    contents,
    identities,
    identity_tasks,
    words_beside,
)
from core.studies.rsa.audit.spec import AuditSpec
from core.studies.rsa.audit.text import make_headline, make_methods, statements_of

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("model", "steps", "tokens", "verdict", "other", "nearest", "cosine", "read")


def prepare(spec: AuditSpec, texts: Mapping[str, Any] | None = None) -> list[Task]:
    """Make the tasks of the first stage: identify the weights of each checkpoint."""
    return identity_tasks(spec.refs, run=False)


def plan(spec: AuditSpec, ready: Outputs) -> list[Task]:
    """Make a task for each checkpoint that was found, which reads a few of its numbers."""
    return [
        Task.of(ref, sample_weights, role=("sample", ref), ref=ref, identity=identity)
        for ref, identity in contents(ready).items()
    ]


def collect(spec: AuditSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `audit` (COLUMNS; checkpoints) and `cosines` (model, other, cosine)."""
    values = {
        ref: outputs.values["sample", ref] for ref in spec.refs if ("sample", ref) in outputs.values
    }
    samples = {ref: sample_of(value) for ref, value in values.items()}
    weights = {ref: identity.weights for ref, identity in identities(ready).items()}
    is_run = spec.kind == "run"
    judge = audit_run if is_run else audit_seeds
    audit = judge(samples, weights) if samples else Audit({}, np.zeros((0, 0)), False)
    tables = {"audit": _rows(spec, audit, values), "cosines": _cosines(audit)}
    statements = statements_of(tables["audit"])
    return Findings(
        headline=make_headline(statements, spec.kind, audit.ordered, audit.forward),
        statements=statements,
        tables=tables,
        notices=notices_of_steps(spec.models, spec.end, spec.at_most) if is_run else (),
        provenance={"weights": contents(ready)},
        methods=make_methods(spec),
    )


def _rows(spec: AuditSpec, audit: Audit, values: Mapping[str, Any]) -> pd.DataFrame:
    """Make a row of each checkpoint, those that could not be read included."""
    import pandas as pd

    checked, rows = list(audit.verdicts), []
    for ref in spec.refs:
        verdict = audit.verdicts.get(ref, Verdict(UNREADABLE))
        steps, tokens, _ = progress_of(ref)
        row: dict[str, Any] = {"model": ref, "steps": steps, "tokens": tokens}
        row |= {"verdict": verdict.fault, "other": verdict.partner, "nearest": ""}
        row |= {"cosine": np.nan, "read": np.nan}
        if ref in audit.verdicts:
            row["read"], place = float(values[ref]["share"]), checked.index(ref)
            others = np.where(np.arange(len(checked)) == place, -np.inf, audit.cosine[place])
            if len(checked) > 1:
                nearest = int(others.argmax())
                row |= {"nearest": checked[nearest], "cosine": float(others[nearest])}
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"steps": "Int64", "tokens": "Int64"})


def _cosines(audit: Audit) -> pd.DataFrame:
    import pandas as pd

    refs = np.array(list(audit.verdicts), dtype=object)
    cells = {"model": np.repeat(refs, len(refs)), "other": np.tile(refs, len(refs))}
    return pd.DataFrame({**cells, "cosine": audit.cosine.ravel()})


def figures(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the cosines, if a checkpoint could be read."""
    table = result.tables["cosines"]
    if table.empty:
        return {}
    names = short_names(dict.fromkeys(table["model"]))
    rows = table.assign(
        row=table["model"].map(names),
        column=table["other"].map(names),
        verdict=table["model"].map(result.table.set_index("model")["verdict"].to_dict()),
    )
    chart = heatmap(
        rows, "Weights of each checkpoint beside every other", x="column", y="row", value="cosine",
        value_title=tip_of("cosines.cosine").title, order=([*names.values()],) * 2, angle=-30,
        tips=[Tip("row", "Checkpoint"), Tip("column", "Other")], also=["verdict"], context=context,
    )  # fmt: skip
    return {"audit": chart}


STUDY = Study(
    name="audit",
    words=words_beside(__file__),
    Spec=AuditSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    views=(View(draw=figures),),
)
