"""Similarity through training: checkpoints of one pretraining run compared with its final model, by
layer and by training step.

Final models of other runs are compared with the same final model, which shows how similar any
trained model would be. The held-out loss is shown with it: what a checkpoint can do, and where its
layers are.

Reference:
    Saphra & Lopez 2019, NAACL, Understanding Learning Dynamics Of Language Models with SVCCA.
    Sellam et al. 2022, ICLR, The MultiBERTs (steps of several seeds).
Deviations: any of nine measures, with bands; the loss is the one that the model's card has.

The headline's number: `core.maths.similarity.registry.MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.maths.similarity.registry import MEASURES
from core.maths.similarity.scoring import CALIBRATED, COVERAGE, SCORED, calibrate
from core.models.steps import notices_of_steps
from core.models.weights.auditing import describe_steps, find_unusable_steps, look_tasks
from core.results.drawing.training import loss_table, progress_notices, with_progress
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    contents,
    prepare_named,
    sentence_notices,
    sink_argument,
    words_beside,
)
from core.studies.rsa.layers.differences import measured
from core.studies.rsa.layers.notice_text import saturation_notices
from core.studies.rsa.layers.tables import curve_rows, with_calibrated
from core.studies.rsa.layers.tasks import Settings, compare_models
from core.studies.rsa.training.report import (
    figures,
    first_layers,
    make_headline,
    said,
    statements_of,
)
from core.studies.rsa.training.spec import TrainingSpec
from core.studies.rsa.training.tasks import shuffle_layers
from core.vectors.pairs import choose_items

COLUMNS = (
    *("model", "steps", "tokens", "layer", "similarity"),
    *("low", "high", "null_low", "null_high"),
)
PEAK = COLUMNS[:7]  # of the table of peaks
NULL = "null"  # part of a task's role: chance level of the most similar layer
CITATIONS = ("saphra2019", "sellam2022", "groger2026")


def prepare(spec: TrainingSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Make the tasks of the first stage: read the text, identify the models."""
    return [*prepare_named(spec, texts), *look_tasks((*spec.checkpoints, spec.end))]


def plan(spec: TrainingSpec, ready: Outputs) -> list[Task]:
    """Make a task for each checkpoint and each other run, the same as the main study's. Raises
    ModelError if the final model could not be found, CorpusError if the text could not be read."""
    content = contents(ready)
    end = ready.need(("identity", spec.end)).content
    items = choose_items(ready.need("text").words, spec.words, spec.seed)
    unusable = find_unusable_steps(ready, spec.checkpoints, spec.end)

    def task(part: str, ref: str, name: str, function: Callable[..., Value], **more: Any) -> Task:
        return Task.of(
            name,
            function,
            role=(part, ref),
            group=spec.end,
            base=spec.end,
            other=ref,
            base_identity=end,
            other_identity=content[ref],
            items=items,
            seed=spec.seed,
            **sink_argument(spec.sinks, ready, spec.end, ref),
            **more,
        )

    how = {"how": Settings(spec.measure), "share": 1.0}
    steps = [ref for ref in spec.checkpoints if ref in content and ref not in unusable]
    others = [ref for ref in spec.others if ref in content]
    return [
        *(task("step", ref, ref, compare_models, **how) for ref in steps),
        *(task("other", ref, ref, compare_models, **how) for ref in others),
        *(
            task(NULL, ref, f"chance level of {ref}", shuffle_layers, measure=spec.measure)
            for ref in steps
        ),
    ]


def collect(spec: TrainingSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `training` (COLUMNS), `peaks` (the layer most similar to the final model, by
    checkpoint), `loss` and `others` (other runs), and what is said of them."""
    training, others = (
        _table({ref: outputs.values[part, ref] for ref in refs if (part, ref) in outputs.values})
        for part, refs in (("step", spec.checkpoints), ("other", spec.others))
    )
    tables = {
        "training": training,
        "peaks": calibrate_peaks(find_peaks(training), outputs),
        "loss": loss_table((*dict.fromkeys(training["model"]), spec.end)),
        **({"others": others} if spec.others else {}),
    }
    corpus, measure = ready.values["text"], MEASURES[spec.measure]
    scored = {role: value for role, value in outputs.values.items() if role[0] != NULL}
    statements = statements_of(tables, spec.end)
    return Findings(
        headline=make_headline(statements, measure.label, len(tables["peaks"])),
        statements=statements,
        tables=tables,
        notices=(
            *sentence_notices(len(corpus.sentences)),
            *describe_steps(find_unusable_steps(ready, spec.checkpoints, spec.end)),
            *notices_of_steps(spec.steps, spec.end, spec.at_most),
            *progress_notices(training),
            *saturation_notices(measure.label, scored.values()),
        ),
        models=(spec.end, *(ref for _, ref in scored)),
        corpus=corpus,
        methods=said("methods", **vars(spec), how=f"{measure.label}: {measure.formula}"),
        cites=measure.references,
    )


def _table(values: Mapping[str, Value]) -> pd.DataFrame:
    """Tabulate COLUMNS and calibrated similarities, a row per model and layer."""
    kinds = {"model": "str", "layer": "int64", **dict.fromkeys(SCORED, float)}
    return with_calibrated(with_progress(curve_rows(values).astype(kinds)))[[*COLUMNS, *CALIBRATED]]


def find_peaks(training: pd.DataFrame) -> pd.DataFrame:
    """Find the layer most similar to the final model at every checkpoint, `clear` if its band lies
    above every other layer's: conservative, as bands of layers share their sentences."""
    rows = []
    for _, mine in measured(training).groupby("model", sort=False):
        best = mine.loc[mine["similarity"].idxmax()]
        rest = mine[mine["layer"] != best["layer"]]
        clear = bool(len(rest)) and bool(best["low"] > rest["high"].max())
        rows.append({**{name: best[name] for name in PEAK}, "clear": clear})
    peaks = pd.DataFrame(rows, columns=[*PEAK, "clear"])
    return peaks.astype(training.dtypes[list(PEAK)].to_dict() | {"clear": bool})


def calibrate_peaks(peaks: pd.DataFrame, outputs: Outputs) -> pd.DataFrame:
    """Add the chance level of the most similar of all layers, and similarities calibrated by it."""
    most = [outputs.values.get((NULL, ref), {}).get("null_most", np.nan) for ref in peaks["model"]]
    similarity, low, high = (peaks[name].astype(float) for name in SCORED[:3])
    return peaks.assign(null_most=most, **calibrate(similarity, low, high, most))


STUDY = Study(
    name="training",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=TrainingSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=figures, first=first_layers),),
)
