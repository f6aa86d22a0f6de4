"""The probe study: which layers encode syntax linearly, and how does fine-tuning change that?

Each model has a task on real and one on control trees; positions, static windows, parts of speech,
the linear chain, random trees and, where gold heads exist, the parser are its baselines. The
trained probes can be applied to any sentence.

Reference: Hewitt & Manning 2019, NAACL. Deviations: position codes are appended to the vectors of
models that have no positions in them; control trees after Hewitt & Liang 2019, bands and paired
differences are added.

The headline's number: `core.maths.structural.scores.score`. `score_distances` beside it counts the
right edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.maths.structural.bands import COVERAGE
from core.studies.kit import (
    ComparedTable,
    Findings,
    Outputs,
    Study,
    Task,
    Value,
    changes_of,
    start_notices,
    words_beside,
)
from core.studies.probes.trees import comparisons, planning
from core.studies.probes.trees.data import Treebank, gold_of
from core.studies.probes.trees.planning import prepare
from core.studies.probes.trees.result import ProbeResult, extra_files, model_probes
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.statements import doubts_of, statements_of, view_statements
from core.studies.probes.trees.sweep import collect_sweep, expected_sweep, perform_sweep
from core.studies.probes.trees.tables import (
    BESIDE,
    as_table,
    probe_groups,
    reaches_in_words,
    rival_groups,
    sample_of,
    score_table,
)
from core.studies.probes.trees.text import CITATIONS, make_headline, make_methods, notice_of, said
from core.studies.probes.trees.views import VIEWS
from core.studies.task_kit import Cost, Sizes


def plan(spec: ProbeSpec, ready: Outputs) -> list[Task]:
    """Plan the tasks of a study; a model that was not found has none. Raises CorpusError if the
    text cannot be read or is too small, SpecError if a model has no layer of a number that was
    asked for."""
    treebank: Treebank = ready.need(planning.TREEBANK)
    common = planning.training_arguments(treebank)
    rivals = planning.rival_tasks(spec, treebank, common)
    rivals += planning.tag_tasks(spec, treebank, common)
    real, controls = [], []
    for model in planning.found_models(spec.probed, ready):
        listed = model.ref in spec.models
        layers = planning.chosen_layers(spec, model, control=not listed)
        real.append(planning.model_task(spec, model, common, layers))
        # The untrained model that is added needs no control trees: no claim is made about it.
        if listed and spec.controls:
            layers = planning.chosen_layers(spec, model, control=True)
            controls.append(planning.control_task(spec, model, common, layers))
    asked = planning.found_models(spec.models, ready)
    beside = [planning.beside_task(spec, model, common) for model in asked if spec.conditional]
    windows = [planning.window_task(spec, model, common) for model in asked]
    # While one task reads the text with a model, the others must not wait for the model: tasks that
    # need none come next, and controls after the vectors are stored. The shortest come last: they
    # keep the other cores at work while the last long one runs.
    return [*real[:1], *rivals, *real[1:], *controls, *beside, *windows]


def collect(spec: ProbeSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs. `scores` has UUAS and root accuracy in
    percent, `arcs` is UUAS by the length of the arcs, `added`, with `conditional`, layers beside
    the window."""
    treebank: Treebank = ready.values[planning.TREEBANK]
    sample = sample_of(treebank, spec.draws, spec.seed)
    values = outputs.values
    real = {ref: values["model", ref] for ref in spec.probed if ("model", ref) in values}
    groups = {ref: probe_groups(value, sample) for ref, value in real.items()}
    rivals = rival_groups(values, sample)
    added = [
        frame
        for role, value in values.items()
        if role[0] == BESIDE
        for frame in comparisons.gains_over_window(role[1], probe_groups(value, sample))
    ]
    gold = gold_of(treebank.parts["test"])
    tables = {
        "scores": score_table(spec, groups, rivals, values, sample),
        **comparisons.compared_tables(groups, rivals, spec.models[0]),
        **comparisons.arc_tables(groups, rivals, values, gold, sample),
        **({"added": as_table(added, comparisons.ADDED)} if spec.conditional else {}),
    }
    coded = tuple(ref for ref in real if "centres" in real[ref])
    metric = "uuas" if "distance" in spec.probes else "root"
    statements, doubts = statements_of(tables, spec.probed, metric), doubts_of(tables, spec)
    of_views = view_statements(tables, spec.probed, metric)
    controls = planning.controls_of(spec)
    findings = Findings(
        headline=make_headline(statements, metric, parsed=treebank.parsed),
        tables=tables,
        notices=(
            *start_notices(spec.models[0], changes_of(ready)),
            *map(notice_of, doubts),
            *_ranks(spec, real),
        ),
        statements=(*statements, *doubts, *of_views),
        models=tuple(real),
        methods=make_methods(spec, treebank, coded, planning.layers_read(spec, ready, controls))
        + reaches_in_words(values),
        parts={
            "probes": {ref: model_probes(value) for ref, value in real.items()},
            "test": treebank.parts["test"],
            "parsed": treebank.parsed,
            "pipeline": spec.pipeline,
        },
    )
    return planning.with_treebank(findings, ready, spec.layers, controls)


def _ranks(spec: ProbeSpec, real: Mapping[str, Value]) -> list[str]:
    """A notice for each model with fewer dimensions than the rank."""
    ranks = {ref: int(np.max(value["ranks"])) for ref, value in real.items()}
    return [
        said("fewer_dimensions", model=ref, rank=rank, asked=spec.rank)
        for ref, rank in ranks.items()
        if rank < spec.rank
    ]


def finish(spec: ProbeSpec, ready: Outputs, result: ProbeResult, **options: Any) -> ProbeResult:
    """Add the rank sweep at each model's best layer, with `sweep`."""
    if not spec.sweep:
        return result
    layers = {ref: result.best_layer(ref) for ref in result.probes}
    swept = perform_sweep(spec, layers, ready, **options)
    table = collect_sweep(spec, ready, swept)
    return replace(
        result, tables=result.tables | {"sweep": table}, failures=result.failures | swept.reasons
    )


def collect_costs(spec: ProbeSpec, tasks: Sequence[Task], sizes: Sizes) -> list[Cost]:
    """Estimate the rank sweep, where it is asked for."""
    swept = expected_sweep(spec, sizes, spec.probed) if spec.sweep else []
    return [replace(task.cost(sizes), shared={}) for task in swept]


STUDY = Study(
    name="probe",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=ProbeSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    collect_costs=collect_costs,
    finish=finish,
    files=extra_files,
    kind=ProbeResult,
    views=VIEWS,
    compared=ComparedTable(
        *("scores", ("model", "layer", "probe", "metric"), "value", "measure"),
        drawn=(("metric", "uuas"), ("probe", "distance")),
    ),
    light=True,
)
