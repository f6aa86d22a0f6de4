"""The rank sweep: how many dimensions does a probe need? Ranks 1, 2, 4 ... to full, at one layer.

Reference: Hewitt & Manning 2019, NAACL, section 4 and figure 6. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from core.maths.structural.bands import banded_sum
from core.models.costs import Sizes, expected_costs, expected_outputs, price_tasks
from core.runs.price import Price
from core.runs.runner import run
from core.studies.kit import Findings, Outputs, Result, Task, Text
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.planning import (
    TREEBANK,
    chosen_layers,
    controls_of,
    found_models,
    layers_read,
    model_arguments,
    prepare,
    training_arguments,
    with_treebank,
)
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.statements import WITHIN, sweep_statements
from core.studies.probes.trees.tables import probe_groups, sample_of
from core.studies.probes.trees.tasks import Regime, score_probes
from core.studies.probes.trees.text import CITATIONS, make_methods, said
from core.studies.text_kit import Statement, short_name
from core.study import completed, run_first_stage

SWEEP = ("model", "layer", "rank", "metric", "value", "low", "high")


def sweep_ranks(d_model: int, rank: int) -> tuple[int, ...]:
    """The ranks 1, 2, 4 ... and d_model, with the study's own rank, which is in its table too."""
    powers = [2**power for power in range(d_model.bit_length()) if 2**power < d_model]
    return tuple(sorted({*powers, min(rank, d_model), d_model}))


def plan_sweep(spec: ProbeSpec, layers: Mapping[str, int], ready: Outputs) -> list[Task]:
    """One task per model: distance probes of each rank on its layer, with the study's draws. Raises
    SpecError if a model has no such layer."""
    common = training_arguments(ready.need(TREEBANK))
    tasks = []
    for model in found_models(layers, ready):
        at = replace(spec, layers=(layers[model.ref],))
        ranks = sweep_ranks(model.d_model, spec.rank)
        how = Regime(("distance",), ranks, spec.seeds, spec.seed, spec.epochs)
        tasks.append(
            Task.of(
                f"rank sweep: {model.ref}",
                score_probes,
                role=("sweep", model.ref),
                group=model.ref,
                layers=chosen_layers(at, model),
                how=how,
                **model_arguments(spec, model),
                **common,
            )
        )
    return tasks


def expected_sweep(spec: ProbeSpec, sizes: Sizes, models: Sequence[str]) -> list[Task]:
    """Plan the sweep of a layer of each model from sizes in place of contents."""
    return plan_sweep(spec, dict.fromkeys(models, 0), expected_outputs(prepare(spec), sizes))


def sweep_price(spec: ProbeSpec, models: Sequence[str]) -> Price:
    """Price the rank sweep: probes of every rank on one layer of each model."""
    sizes = Sizes()
    return price_tasks(expected_sweep(spec, sizes, models), sizes)


def perform_sweep(
    spec: ProbeSpec, layers: Mapping[str, int], ready: Outputs, **options: Any
) -> Outputs:
    """Run the tasks of `plan_sweep`; raises as it does."""
    return run(plan_sweep(spec, layers, ready), expected=expected_costs, **options)


def collect_sweep(spec: ProbeSpec, ready: Outputs, outputs: Outputs) -> pd.DataFrame:
    """SWEEP: UUAS in percent and DSpr. by rank, with bands."""
    treebank: Treebank = ready.need(TREEBANK)
    sample = sample_of(treebank, spec.draws, spec.seed)
    frames = []
    for (_, model), value in outputs.values.items():
        ranks = np.asarray(value["ranks"])[np.asarray(value["draws"]) == 0]
        for metric, group in probe_groups(value, sample).items():
            columns = {"model": model, "layer": group.layers, "rank": ranks, "metric": metric}
            frames.append(pd.DataFrame(columns | banded_sum((1, group))))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(SWEEP))


def run_sweep(
    spec: ProbeSpec,
    layers: Mapping[str, int],
    texts: Mapping[str, Text] | None = None,
    **options: Any,
) -> Result:
    """Prepare, plan, run and collect a sweep of one layer of each model, with the study's
    sentences, seeds, epochs and draws. Raises SpecError if a model has no such layer."""
    asked = replace(spec, models=tuple(layers), untrained=False)
    ready = run_first_stage(prepare(asked, texts), **options)
    outputs = perform_sweep(asked, layers, ready, **options)
    table = collect_sweep(asked, ready, outputs)
    treebank: Treebank = ready.need(TREEBANK)
    coded = tuple(ref for (_, ref), value in outputs.values.items() if "centres" in value)
    statements = sweep_statements(table)
    read = layers_read(spec, ready, controls_of(spec))
    findings = Findings(
        headline=sweep_headline(statements),
        tables={"sweep": table},
        statements=statements,
        models=tuple(layers),
        methods=" ".join((make_methods(spec, treebank, coded, read), said("swept"))),
        cites=CITATIONS,
        spec={"sweep": dict(layers)},
    )
    return completed(with_treebank(findings, ready), "probe-ranks", spec, ready, outputs)


def sweep_headline(statements: Sequence[Statement]) -> str:
    """For each model the rank that suffices, from statements in pairs: that rank, the best UUAS."""
    within, clauses = f" comes {WITHIN} its best UUAS", []
    for near, best in zip(statements[::2], statements[1::2], strict=True):
        clauses.append(
            f"{short_name(near.subject)}{within} ({best.number.text}, layer "
            f"{near.layers[0]}) at rank {near.number.value_text} of {near.baseline}"
        )
        within = ""
    return f"{', '.join(clauses)}." if clauses else said("no_rank")
