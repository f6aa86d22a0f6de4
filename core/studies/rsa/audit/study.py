"""Audit: what is wrong with the files of a training series, before anything is measured on them.

Public series have had steps that are copies of each other or of the final model, steps without
weights, steps in the wrong place and steps of another seed. All of that shows in a few numbers of
the weights.

Reference: none. Deviations: none; the rules are in `core.models.weights.audit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.models import costs
from core.models.steps import notices_of_steps, progress_of
from core.models.weights.audit import UNREADABLE, Audit, Verdict, audit_run, audit_seeds
from core.models.weights.samples import (
    MATRICES,
    MOST,
    MOST_LAYERS,
    SHARE,
    identify_weights,
    sample_of,
    sample_weights,
)
from core.runs.price import Price
from core.studies.kit import Findings, Outputs, Study, Task, View, words_beside
from core.studies.rsa import TRAINING
from core.studies.rsa.audit.charts import figures
from core.studies.rsa.audit.spec import AuditSpec
from core.studies.rsa.audit.text import make_headline, make_methods, statements_of

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("model", "steps", "tokens", "verdict", "other", "nearest", "cosine", "read")
STARTING = 0.4  # processor seconds to import numpy
SECONDS = 0.2  # processor seconds to open a checkpoint and to read a few ranges
HASHING = 4e-9  # processor seconds per parameter of a file on this machine


def prepare(spec: AuditSpec, texts: Mapping[str, Any] | None = None) -> list[Task]:
    """Make the tasks of the first stage: identify the weights of each checkpoint."""
    return [
        Task.of(ref, identify_weights, role=("weights", ref), fleeting=True, ref=ref)
        for ref in spec.refs
    ]


def plan(spec: AuditSpec, ready: Outputs) -> list[Task]:
    """Make a task for each checkpoint that was found, which reads a few of its numbers."""
    return [
        Task.of(ref, sample_weights, role=("sample", ref), ref=ref, identity=identity)
        for ref in spec.refs
        if (identity := ready.values.get(("weights", ref))) is not None
    ]


def collect(spec: AuditSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements, headline and methods.

    Returns:
        A result with the tables `audit` (COLUMNS, one row a checkpoint) and `cosines` (model,
        other, cosine).
    """
    values = {
        ref: outputs.values["sample", ref] for ref in spec.refs if ("sample", ref) in outputs.values
    }
    samples = {ref: sample_of(value) for ref, value in values.items()}
    judge = audit_run if spec.kind == "run" else audit_seeds
    contents = {ref: str(value["content"]) for ref, value in values.items()}
    audit = judge(samples, contents) if samples else Audit({}, np.zeros((0, 0)), False)
    tables = {"audit": _rows(spec, audit, values), "cosines": _cosines(audit)}
    statements = statements_of(tables["audit"])
    return Findings(
        headline=make_headline(statements, spec.kind, audit.ordered, audit.forward),
        statements=statements,
        tables=tables,
        notices=tuple(notices_of_steps(spec.models, spec.end, spec.at_most))
        if spec.kind == "run"
        else (),
        provenance={"weights": _identities(spec, ready)},
        methods=make_methods(spec),
    )


def _identities(spec: AuditSpec, ready: Outputs) -> dict[str, str]:
    """What the weights of each checkpoint are known by: a hash, or the Hub's commit."""
    return {
        ref: str(ready.values["weights", ref])
        for ref in spec.refs
        if ("weights", ref) in ready.values
    }


def _rows(spec: AuditSpec, audit: Audit, values: Mapping[str, Any]) -> pd.DataFrame:
    """Make a row of each checkpoint, those that could not be read included."""
    import pandas as pd

    places = {ref: number for number, ref in enumerate(audit.verdicts)}
    rows = []
    for ref in spec.refs:
        verdict = audit.verdicts.get(ref, Verdict(UNREADABLE))
        steps, tokens, _ = progress_of(ref)
        row: dict[str, Any] = {"model": ref, "steps": steps, "tokens": tokens}
        row |= {"verdict": verdict.fault, "other": verdict.partner, "nearest": ""}
        row |= {"cosine": np.nan, "read": np.nan}
        if ref in places:
            row["read"] = float(values[ref]["share"])
            others = audit.cosine[places[ref]].copy()
            others[places[ref]] = -np.inf
            if len(others) > 1:
                at = int(others.argmax())
                row |= {"nearest": list(places)[at], "cosine": float(others[at])}
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"steps": "Int64", "tokens": "Int64"})


def _cosines(audit: Audit) -> pd.DataFrame:
    import pandas as pd

    refs = np.array(list(audit.verdicts), dtype=object)
    cells = {"model": np.repeat(refs, len(refs)), "other": np.tile(refs, len(refs))}
    return pd.DataFrame({**cells, "cosine": audit.cosine.ravel()})


def price(spec: AuditSpec) -> Price:
    """Estimate the price: the hash of a local file, or a few ranges of one on the Hub."""
    sizes = costs.sizes_of(spec.refs).values()
    return costs.price_of(
        {},
        [STARTING, *(SECONDS + HASHING * size.parameters for size in sizes)],
        costs.DOUBLE
        * sum(min((MATRICES + MOST_LAYERS) * MOST, SHARE * size.parameters) for size in sizes),
        libraries=costs.NUMPY,
        more_download=2 * SHARE * sum(size.download for size in sizes) / 1e9,  # and the headers
        work=costs.counted(len(spec.refs), "checkpoint"),
    )


STUDY = Study(
    name="audit",
    words=words_beside(__file__),
    Spec=AuditSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=price,
    views=(View(group=TRAINING),),
)
