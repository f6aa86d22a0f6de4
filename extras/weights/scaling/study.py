"""The causal test of intruder dimensions: does a fine-tune need its new directions?

Each fine-tune has two tasks, which score it with its intruder dimensions scaled down, beside as
many other directions, and with the whole update of the same matrices shrunk by an equal norm.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228. Deviations: see
`extras.weights.scaling.tasks`.

The headline's number: `extras.weights.scaling.tables.scaling_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import TaskError
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    View,
    nothing_compared,
    text_task,
    words_beside,
)
from core.studies.weights.clusters.members import named_members
from core.studies.weights.clusters.selection import Selection
from core.studies.weights.intruders.planning import model_arguments, models_task
from core.vectors.examples import METRICS, Examples, examples_task
from extras.weights.scaling import text
from extras.weights.scaling.charts import scaling_panels
from extras.weights.scaling.spec import ScalingSpec
from extras.weights.scaling.tables import LOSS, scaling_table
from extras.weights.scaling.tasks import scale_intruders, shrink_update

SCALED = "scaled"  # role of the tasks that score a model with scaled directions, with the model
SHRUNK = "shrunk"  # of those that score a model whose whole update is shrunk
MOST_SENTENCES = 5_000
CITATIONS = ("shuttleworth2024",)


def prepare(spec: ScalingSpec, texts: Mapping[str, bytes] | None = None) -> list[Task]:
    """Make the tasks of the first stage: find and identify the models, and read what they are
    scored on."""
    refs = tuple(member.ref for member in named_members(spec.base, spec.models))
    reading = examples_task(refs, spec.labelled, spec.text, MOST_SENTENCES)
    return [models_task(spec), reading, text_task(spec.text, (), MOST_SENTENCES)]


def plan(spec: ScalingSpec, ready: Outputs) -> list[Task]:
    """Make the tasks of each fine-tune with a head that can be scored."""
    selection: Selection = ready.need("models")
    examples: Examples = ready.need("examples")
    draws: dict[str, Any] = {"removals": spec.removals, "seed": spec.seed}
    parts: dict[str, tuple[Any, dict[str, Any]]] = {
        SCALED: (scale_intruders, draws), SHRUNK: (shrink_update, {}),
    }  # fmt: skip
    return [
        Task.of(
            f"{member.ref}, {part}",
            function,
            role=(part, member.ref),
            group=member.ref,
            **model_arguments(spec, selection, member),
            threshold=spec.threshold,
            pairs=examples.pairs[examples.heads[member.ref].kind],
            words=ready.need("text").words,
            **more,
        )
        for member in selection.members
        if member.ref in examples.heads
        for part, (function, more) in parts.items()
    ]


def collect(spec: ScalingSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Tabulate scores and losses by scale, with their bands. Raises TaskError if no model could be
    scored or none has intruder dimensions."""
    selection: Selection = ready.values["models"]
    examples: Examples = ready.values["examples"]
    values = {
        ref: value | outputs.values.get((SHRUNK, ref), {})
        for ref, value in outputs.of(SCALED).items()
    }
    if not values:
        raise nothing_compared([*outputs.sentences.values(), *examples.refused.values()])
    metrics = {ref: METRICS[examples.heads[ref].kind] for ref in values}
    table = scaling_table(values, metrics, spec.seed)
    if table.empty:
        why = (*outputs.sentences.values(), *examples.refused.values())
        raise TaskError(" ".join((text.nothing_to_scale([*values]), *why)))
    statements = text.statements_of(table)
    counts = {ref: int(value["scaled"]) for ref, value in values.items()}
    losses = list(table.loc[table["metric"] == LOSS, "model"])
    return Findings(
        headline=text.make_headline(statements),
        statements=statements,
        tables={"scaling": table},
        notices=[*selection.notices, *text.make_notices(counts, examples.refused, losses)],
        failures=selection.failures,
        provenance={"fingerprints": selection.fingerprints(selection.members)},
        methods=text.make_methods(spec),
    )


STUDY = Study(
    name="weights scaling",
    words=words_beside(__file__),
    Spec=ScalingSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=scaling_panels),),
)
