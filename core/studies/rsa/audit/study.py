"""Audit: what is wrong with the files of a training series, before anything is measured on them.

Public series have had steps that are copies of each other or of the final model, steps without
weights, steps in the wrong place and steps of another seed. All of that shows in a few numbers of
the weights.

Reference: none. Deviations: none; the rules are in `core.models.weights.audit`.

The headline's number: `core.models.weights.audit.audit_run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from core.models.changes import COMMON_START
from core.models.steps import notices_of_steps, progress_of
from core.models.weights import audit as rules
from core.models.weights.samples import MATRICES, MOST_LAYERS, sample_of, sample_weights
from core.results.drawing.heatmaps import models_heatmap
from core.studies.kit import Findings, Outputs, Study, Task, View, identities, words_beside
from core.studies.rsa.audit.spec import AuditSpec
from core.studies.text_kit import Estimate, Statement, first_of, short_names, text_of

COLUMNS = ("model", "steps", "tokens", "verdict", "other", "nearest", "cosine", "read")
CHECKED = "checkpoints that were checked"
NEAREST = "lowest cosine of a checkpoint with the most similar other one"
MOST_NAMED = 4
said = words_beside(__file__).sentence


def plan(spec: AuditSpec, ready: Outputs) -> list[Task]:
    """Make a task for each checkpoint that was found, which reads a few of its numbers."""
    return [
        Task.of(ref, sample_weights, role=("sample", ref), ref=ref, identity=model.content)
        for ref, model in identities(ready).items()
    ]


def collect(spec: AuditSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `audit` (COLUMNS; checkpoints) and `cosines` (model, other, cosine)."""
    values = {role[1]: value for role, value in outputs.values.items()}
    samples = {ref: sample_of(values[ref]) for ref in spec.refs if ref in values}
    models = identities(ready)
    weights = {ref: model.weights for ref, model in models.items()}
    is_run = spec.kind == "run"
    judge = rules.audit_run if is_run else rules.audit_seeds
    audit = judge(samples, weights) if samples else rules.Audit({}, np.zeros((0, 0)), False)
    refs = np.array(list(audit.verdicts), dtype=object)
    pairs = {"model": np.repeat(refs, len(refs)), "other": np.tile(refs, len(refs))}
    cosines = pd.DataFrame({**pairs, "cosine": audit.cosine.ravel()})
    tables = {"audit": _rows(spec, audit, values), "cosines": cosines}
    statements = statements_of(tables["audit"])
    return Findings(
        headline=make_headline(statements, spec.kind, audit.ordered, audit.forward),
        statements=statements,
        tables=tables,
        notices=notices_of_steps(spec.models, spec.end, spec.at_most) if is_run else (),
        provenance={"weights": {ref: model.content for ref, model in models.items()}},
        methods=said(
            "methods",
            models=said(spec.kind, end=spec.end),
            matrices=MATRICES,
            layers=MOST_LAYERS,
            cosine=text_of(COMMON_START),
        ),
    )


def _rows(spec: AuditSpec, audit: rules.Audit, values: Mapping[str, Any]) -> pd.DataFrame:
    """Make a row of each checkpoint, those that could not be read included."""
    rows = []
    for ref in spec.refs:
        steps, tokens, _ = progress_of(ref)
        verdict = audit.verdicts.get(ref, rules.Verdict(rules.UNREADABLE))
        nearest = audit.nearest.get(ref, ("", np.nan))
        read = float(values[ref]["share"]) if ref in values else np.nan
        rows.append((ref, steps, tokens, verdict.fault, verdict.partner, *nearest, read))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"steps": "Int64", "tokens": "Int64"})


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State how many checkpoints were checked, how similar the least similar one is to its nearest,
    and the fault of each that has one, or that it is the final model."""
    if table.empty:
        return ()
    count = Estimate(float(len(table)), kind="whole")
    faults = [
        Statement(str(row.model), str(row.verdict), baseline=str(row.other))
        for row in table[table["verdict"] != rules.FINE].itertuples()
    ]
    nearest = table.dropna(subset=["cosine"]).sort_values("cosine", kind="stable").head(1)
    least = [
        Statement(str(row.model), NEAREST, Estimate(float(row.cosine)), baseline=str(row.nearest))
        for row in nearest.itertuples()
    ]
    return (Statement(str(table["model"].iloc[-1]), CHECKED, count), *least, *faults)


def make_headline(statements: Sequence[Statement], kind: str, ordered: bool, forward: bool) -> str:
    """Say what is wrong with which checkpoints, or that nothing is; of a run, whether its order
    could be judged, and whether norms tell that it is not the reverse one."""
    if not statements:
        return ""
    checked, *others = statements
    rest = [each for each in others if each.verdict != NEAREST]
    least = [each.number.value_text for each in others if each.verdict == NEAREST]
    is_run, count = kind == "run", checked.number.value_text
    finals = [each for each in rest if each.verdict == rules.FINAL]
    # equal samples of other files are no fault of a run, whose steps may train biases alone
    alike = [each for each in rest if is_run and each.verdict == rules.ALIKE]
    faults = [each for each in rest if each not in (*finals, *alike)]
    finding = "faults" if faults else "alike" if alike else "distinct" if is_run else "independent"
    name = short_names(each.subject for each in finals)[finals[0].subject] if finals else ""
    but = f", but for {name} (the final model itself)," if finals else ""
    evidence = [said("near", least=text, foreign=text_of(COMMON_START)) for text in least]
    near = f" {evidence[0]}" if evidence and is_run else ""
    swings = any(each.verdict in (rules.SWAPPED, rules.MISPLACED) for each in faults)
    judged = ordered and not (faults and forward)
    order = "forward" if forward else "undirected"
    parts = (
        said(finding, count=count, faults=len(faults), which=_listed(faults), but=but, near=near),
        said("swings") if swings else "",
        said("uncertain", which=_listed(alike)) if alike else "",
        said("unordered") if is_run and not ordered else "",
        said(order, which="The others" if alike else "They") if is_run and judged else "",
    )
    return " ".join(filter(None, parts))


def _listed(statements: Sequence[Statement]) -> str:
    """Say what was found of the first few checkpoints, and how many more there are."""
    refs = (ref for each in statements for ref in (each.subject, each.baseline) if ref)
    names = short_names(dict.fromkeys(refs))
    named = first_of(statements, MOST_NAMED)
    faults = (
        rules.fault_in_words(each.verdict, each.subject, each.baseline, names) for each in named
    )
    more = len(statements) - len(named)
    return "; ".join(faults) + (f"; {more} more are in the table" if more else "")


figures = partial(
    models_heatmap, table="cosines", value="cosine", also="verdict",
    title="Weights of each checkpoint beside every other", axes=("Checkpoint", "Other"),
)  # fmt: skip
STUDY = Study(
    name="audit",
    words=words_beside(__file__),
    Spec=AuditSpec,
    plan=plan,
    collect=collect,
    views=(View(draw=figures),),
)
