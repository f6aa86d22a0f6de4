"""Probes through training: structural probes at the steps of one run, by layer and tokens.

Distance probes are trained on every layer of every step and of the final model, from the same
initial maps and on the same sentences in the same orders. The best layer is chosen on development
sentences. Scores are compared with a position-only baseline, the linear chain, control trees, and
the first step where it is untrained. Whether the best layer moves is tested by paired differences
on the same sentences, not by overlapping bands.

Reference:
    Hewitt & Manning 2019, NAACL (probes); Saphra & Lopez 2019, NAACL (layers through training).
    Liu, Wang, Kasai, Hajishirzi & Smith 2021, EMNLP Findings, Probing Across Time (probes through
    training).
Deviations: structural probes where Liu et al. have classifiers; the loss is the one that the
model's card has.

The headline's number: `core.maths.structural.scores.score`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.maths.statistics import corrected_level
from core.maths.structural.bands import COVERAGE, ProbeScores, banded_sum
from core.models import parse_ref
from core.models.steps import notices_of_steps, progress_of
from core.models.weights.auditing import describe_steps, find_unusable_steps, look_tasks
from core.results.drawing.training import loss_table, with_progress
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    View,
    identities,
    identity_tasks,
    words_beside,
)
from core.studies.probes.training import report
from core.studies.probes.training.spec import ProbeTrainingSpec
from core.studies.probes.trees import comparisons, planning
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.tables import (
    POSITION,
    WINDOW,
    as_table,
    metrics_in,
    probe_groups,
    rival_groups,
    rows_of_metric,
    sample_of,
    score_table,
)

PEAKS = (
    *("model", "metric", "layer", "value", "low", "high", "clear"),
    *("end_layer", "ahead", "ahead_low", "ahead_high"),
)


def prepare(spec: ProbeTrainingSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read, parse and split the text, identify the models."""
    reading = planning.prepare(spec.as_probes, texts, spec.checkpoints)
    looks = look_tasks((*spec.checkpoints, spec.end))
    return [*reading, *identity_tasks(spec.checkpoints), *looks]


def plan(spec: ProbeTrainingSpec, ready: Outputs) -> list[Task]:
    """Two tasks for each step and the final model, real and control trees, and the baselines, among
    them the final model's static window. Raises CorpusError if the text cannot be read or is too
    small."""
    treebank: Treebank = ready.need(planning.TREEBANK)
    identified, probes = identities(ready), spec.as_probes
    common = planning.training_arguments(treebank)
    tasks = planning.rival_tasks(probes, treebank, common)
    if spec.end in identified:
        tasks.append(planning.window_task(probes, identified[spec.end], common))
    unusable = find_unusable_steps(ready, spec.checkpoints, spec.end)
    for model in (*spec.checkpoints, spec.end):
        if model in identified and model not in unusable:
            layers = planning.chosen_layers(probes, identified[model])
            tasks.append(planning.model_task(probes, identified[model], common, layers, maps=False))
            if spec.controls:
                tasks.append(planning.control_task(probes, identified[model], common, layers))
    return tasks


def collect(spec: ProbeTrainingSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs. `best` has the best layer of every step,
    `differences` each step minus the first, `margins` are over positions, an untrained first step
    and, of the final model, its static window."""
    treebank: Treebank = ready.values[planning.TREEBANK]
    sample = sample_of(treebank, spec.draws, spec.seed)
    values = outputs.values
    there = [ref for ref in (*spec.checkpoints, spec.end) if ("model", ref) in values]
    groups = {ref: probe_groups(values["model", ref], sample) for ref in there}
    rivals = rival_groups(values, sample)
    untrained = {ref: groups[ref] for ref in there[:1] if untaught(ref)}
    trained = {ref: group for ref, group in groups.items() if ref not in untrained}
    shared = {name: rivals[name] for name in (POSITION,) if name in rivals}
    above = comparisons.margins(trained, shared | untrained)
    for ref in trained:
        if (WINDOW, ref) in rivals:
            window = {WINDOW: rivals[WINDOW, ref]}
            above += comparisons.margins({ref: trained[ref]}, window)
    differing = comparisons.differences(groups, next(iter(there), ""))
    tables = {
        "scores": with_progress(score_table(spec.as_probes, groups, rivals, values, sample)),
        "best": with_progress(find_peaks(groups)),
        "differences": with_progress(as_table(differing, comparisons.DIFFERENCES)),
        "margins": with_progress(as_table(above, comparisons.MARGINS)),
        "loss": loss_table(there),
    }
    stated = {metric: report.statements_of(tables, metric) for metric in report.METRICS}
    statements = (*stated.pop(report.METRIC), *report.loss_statements(tables["loss"]))
    of_views = [each for others in stated.values() for each in others]
    doubts = report.doubts_of(tables)
    findings = Findings(
        headline=report.make_headline(statements),
        tables=tables,
        notices=(
            *report.make_notices(doubts, tables["best"]),
            *describe_steps(find_unusable_steps(ready, spec.checkpoints, spec.end)),
            *notices_of_steps(spec.steps, spec.end, spec.at_most),
        ),
        statements=(*statements, *doubts, *of_views),
        models=tuple(there),
        methods=report.make_methods(
            spec.as_probes, treebank, tuple(there), planning.layers_read(spec.as_probes, ready)
        ),
    )
    return planning.with_treebank(findings, ready)


def find_peaks(groups: Mapping[str, Mapping[str, ProbeScores]]) -> pd.DataFrame:
    """Find the best layer on the development sentences by model, in the order of training, and
    score: PEAKS. It is `clear` if it beats every other layer, and `ahead` of the final model's best
    layer in this same model, with a band that is simultaneous over steps (Bonferroni)."""
    if not groups:
        return as_table([], PEAKS).astype({"end_layer": "Int64"})
    end, rows = list(groups.values())[-1], []
    together = corrected_level(len(groups) - 1)
    for model, of_model in groups.items():
        for metric, group in of_model.items():
            place, last = (
                comparisons.best_place(group),
                end[metric].layers[comparisons.best_place(end[metric])],
            )
            estimate, lead_over_rest = banded_sum((1, group)), comparisons.lead(group, place)
            every = comparisons.lead(group, place, together)
            where = [layer for at, layer in enumerate(group.layers) if at != place]
            ahead = {
                name: (every[name][where.index(last)] if last in where else 0.0) for name in every
            }
            rows.append(
                (
                    *(model, metric, group.layers[place]),
                    *(float(estimate[name][place]) for name in ("value", "low", "high")),
                    bool(len(where)) and bool((lead_over_rest["low"] > 0).all()),
                    *(last, *(float(ahead[name]) for name in ("value", "low", "high"))),
                )
            )
    table = pd.DataFrame(rows, columns=list(PEAKS))
    return table.astype({"layer": "Int64", "end_layer": "Int64"})


def untaught(ref: str) -> bool:
    """Whether a model is untrained: step 0 of a run, or random weights."""
    steps, tokens, _ = progress_of(ref)
    return parse_ref(ref).random or tokens == 0 or steps == 0


STUDY = Study(
    name="probe training",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=ProbeTrainingSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=report.CITATIONS,
    views=(
        View(
            draw=report.draw_training,
            choices=lambda result: [
                (metric,) for metric in metrics_in(result.tables["best"], report.METRICS)
            ],
            headline=report.view_sentences,
            tables=lambda result, metric=report.METRIC: rows_of_metric(result.tables, metric),
        ),
    ),
)
