"""The probe study: which layers encode syntax linearly, and how does fine-tuning change that?

prepare: read, parse and split the text, identify the models. plan: one task for each model and kind
of tree (real, control), one for the position-only baseline, one for the other baselines, and one
for the parser where gold heads exist. collect: tidy tables with bands, a headline, a methods
paragraph, and the trained probes, which can then be applied to any sentence.

Reference: Hewitt & Manning 2019, NAACL. Deviations: position codes are appended to the vectors of
models that have no positions in them; control trees after Hewitt & Liang 2019, bands and paired
differences are added.

The headline's number: `core.maths.structural.scores.score`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.maths.structural.bands import COVERAGE, Group, Sample, draw_sample
from core.models.costs import Sizes
from core.runs.price import Cost
from core.runs.runner import run
from core.studies.kit import (
    ComparedTable,
    Findings,
    Outputs,
    Study,
    Task,
    Value,
    changes_of,
    depths,
    identities,
    start_notices,
    words_beside,
)
from core.studies.probes.trees.comparisons import (
    added_rows,
    arc_tables,
    baseline_rows,
    best_layer_rows,
    difference_rows,
)
from core.studies.probes.trees.data import Treebank, gold_of
from core.studies.probes.trees.planning import (
    BASELINES,
    TREEBANK,
    beside_task,
    model_tasks,
    prepare,
    rival_tasks,
    tag_tasks,
    training_arguments,
    window_task,
    with_limits,
)
from core.studies.probes.trees.result import ProbeResult, extra_files, model_probes
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.statements import doubts_of, statements_of
from core.studies.probes.trees.sweep import collect_sweep, expected_sweep, plan_sweep
from core.studies.probes.trees.tables import (
    CHAIN,
    COLUMNS,
    CONTROL,
    PARSED,
    POSITION,
    PROBE_OF,
    RANDOM,
    TAGS,
    WINDOW,
    as_table,
    attachment_row,
    baseline_groups,
    probe_groups,
    reaches_in_words,
    score_rows,
)
from core.studies.probes.trees.text import CITATIONS, make_headline, make_methods, make_notices
from core.studies.probes.trees.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd


def plan(spec: ProbeSpec, ready: Outputs) -> list[Task]:
    """The tasks of a study, from the outputs of its first stage; none for a model not found.

    Raises:
        CorpusError: If the text could not be read, or is too small.
        SpecError: If a model has no layer of a number that was asked for.
    """
    treebank: Treebank = ready.need(TREEBANK)
    identified = identities(ready)
    common = training_arguments(treebank)
    tasks = rival_tasks(spec, treebank, common) + tag_tasks(spec, treebank, common)
    for model in spec.probed:
        if model in identified:
            # The untrained model that is added needs no control trees: no claim is made about it.
            tasks += model_tasks(
                spec,
                identified[model],
                common,
                controls=spec.controls if model in spec.models else 0,
            )
    asked = [identified[model] for model in spec.models if model in identified]
    tasks += [beside_task(spec, model, common) for model in asked if spec.conditional]
    # The shortest last: they keep the other cores at work while the last long one runs.
    return tasks + [window_task(spec, model, common) for model in asked]


def collect(spec: ProbeSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements, headline, notices and methods of the tasks' outputs.

    Returns:
        A result with the tables `scores` (COLUMNS of `tables`; UUAS and root accuracy in percent),
        `differences` (every model minus the base, by layer), `margins` (every model minus each
        baseline), `best_layers` (the best layer compared with the others), `arcs` and `arc_margins`
        (UUAS by the length of the arcs), and with `conditional` `added` (layers beside the window).
    """
    treebank: Treebank = ready.values[TREEBANK]
    sample = draw_sample(
        np.array([len(tree.words) for tree in treebank.parts["test"]]), spec.draws, spec.seed
    )
    values = outputs.values
    real = {ref: values["model", ref] for ref in spec.probed if ("model", ref) in values}
    groups = {ref: probe_groups(value, sample) for ref, value in real.items()}
    rivals = {
        role: probe_groups(value, sample)
        for role, value in values.items()
        if role in (POSITION, *TAGS.values()) or role[0] == WINDOW
    }
    tables = {
        "scores": score_table(spec, groups, outputs, sample),
        "differences": difference_rows(groups, spec.models[0], sample),
        "margins": baseline_rows(groups, rivals, sample),
        "best_layers": best_layer_rows(groups, sample),
        **arc_tables(groups, rivals, values, gold_of(treebank.parts["test"]), sample),
        **({"added": added_rows(values, sample)} if spec.conditional else {}),
    }
    coded = tuple(ref for ref in real if "centres" in real[ref])
    metric = "uuas" if "distance" in spec.probes else "root"
    statements, doubts = statements_of(tables, spec.probed, metric), doubts_of(tables, spec)
    read = (*treebank.notices, *notes_of(values.values()))
    starts = start_notices(spec.models[0], changes_of(ready))
    notices = (*starts, *make_notices(doubts), *read, *_ranks(spec, real))
    result = Findings(
        headline=make_headline(statements, metric, parsed=treebank.parsed),
        tables=tables,
        notices=notices,
        statements=(*statements, *doubts),
        models=tuple(real),
        corpus=treebank.corpus,
        methods=make_methods(spec, treebank, coded, depths(ready)) + reaches_in_words(values),
        cites=CITATIONS,
        kind=ProbeResult,
        parts={
            "probes": {ref: model_probes(value) for ref, value in real.items()},
            "test": treebank.parts["test"],
            "parsed": treebank.parsed,
            "pipeline": spec.pipeline,
        },
    )
    return with_limits(result, ready, real, spec.layers)


def score_table(
    spec: ProbeSpec, groups: Mapping[str, Mapping[str, Group]], outputs: Outputs, sample: Sample
) -> pd.DataFrame:
    """Models, their control trees and selectivity, then the baselines: COLUMNS; no row without a
    model, since baselines alone show nothing.

    Args:
        spec: Which probes, how many resamples, and their seed.
        groups: Scores by model.
        outputs: Of the study's tasks.
        sample: The test sentences.
    """
    if not groups:
        return as_table([], COLUMNS)
    values, frames = outputs.values, []
    for ref, of_model in groups.items():
        frames.append(score_rows(ref, "", of_model, sample))
        if ("control", ref) in values:
            control = probe_groups(values["control", ref], sample, control=True)
            frames.append(score_rows(ref, CONTROL, control, sample))
            frames.append(score_rows(ref, "", of_model, sample, control=control))
    if POSITION in values:
        frames.append(
            score_rows(POSITION, "", probe_groups(values[POSITION], sample), sample, layered=False)
        )
    if (WINDOW, spec.models[0]) in values:
        window = probe_groups(values[WINDOW, spec.models[0]], sample)
        frames.append(score_rows(WINDOW, "", window, sample, layered=False))
    for name in TAGS.values():
        if name in values:
            tagged = probe_groups(values[name], sample)
            frames.append(score_rows(name, "", tagged, sample, layered=False))
    if BASELINES in values:
        for name, prefix in ((CHAIN, "chain_"), (RANDOM, "random_")):
            baselines = baseline_groups(values[BASELINES], sample, prefix)
            wanted = {
                metric: group
                for metric, group in baselines.items()
                if PROBE_OF[metric] in spec.probes
            }
            frames.append(score_rows(name, "", wanted, sample, layered=False))
    controlled = next((ref for ref in groups if ("control", ref) in values), None)
    if controlled:  # word types of the first model; others may distinguish fewer
        chain = baseline_groups(values["control", controlled], sample, "chain_")
        wanted = {
            metric: group for metric, group in chain.items() if PROBE_OF[metric] in spec.probes
        }
        frames.append(score_rows(CHAIN, CONTROL, wanted, sample, layered=False))
    if PARSED in values:
        lengths = np.asarray(values[PARSED]["lengths"])
        own_sample = (
            sample
            if len(lengths) == len(sample.lengths)
            else draw_sample(lengths, spec.draws, spec.seed)
        )
        judged = baseline_groups(values[PARSED], own_sample)
        frames += [
            score_rows(PARSED, "", judged, own_sample, layered=False),
            attachment_row(values[PARSED], own_sample),
        ]
    return as_table(frames, COLUMNS)


def _ranks(spec: ProbeSpec, real: Mapping[str, Value]) -> list[str]:
    """A notice for each model with fewer dimensions than the rank."""
    ranks = {ref: int(np.max(value["ranks"])) for ref, value in real.items()}
    return [
        f"{ref} has {rank} dimensions, so its probes have rank {rank}, not {spec.rank}."
        for ref, rank in ranks.items()
        if rank < spec.rank
    ]


def notes_of(values: Iterable[Value]) -> Iterator[str]:
    """The notices in the outputs of tasks."""
    for value in values:
        notices = value.get("notices", [])
        yield from (str(note) for note in notices) if isinstance(notices, list) else ()


def finish(spec: ProbeSpec, ready: Outputs, result: ProbeResult, **options: Any) -> ProbeResult:
    """Add the rank sweep at each model's best layer, with `sweep`."""
    if not spec.sweep:
        return result
    layers = {ref: result.best_layer(ref) for ref in result.probes}
    swept = run(plan_sweep(spec, layers, ready), **options)
    table = collect_sweep(spec, ready, swept)
    return replace(
        result, tables=result.tables | {"sweep": table}, failures=result.failures | swept.reasons
    )


def collecting(spec: ProbeSpec, tasks: Sequence[Task], sizes: Sizes) -> list[Cost]:
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
    collecting=collecting,
    finish=finish,
    files=extra_files,
    views=VIEWS,
    compared=ComparedTable("scores", ("model", "layer", "probe", "metric"), "value", "measure"),
)
