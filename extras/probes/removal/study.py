"""The study that erases a probe's subspace: does a model use what its structural probe reads?

Each model and layer has a task, which trains a probe, erases its subspace there and scores the
model, beside random subspaces of equal rank and of equal change.

References: Belrose et al. 2023, NeurIPS (LEACE); Elazar et al. 2021, TACL (amnesic probing);
Hewitt & Manning 2019, NAACL. Deviations: see `core.maths.erasure`; random subspaces of
equal change are added.

The headline's number: `core.maths.erasure.fit_eraser`.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import TaskError
from core.models.loading.language_models import head_tasks
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    identities,
    words_beside,
)
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.planning import (
    TREEBANK,
    chosen_layers,
    headless,
    heads_of,
    layers_read,
    model_arguments,
    training_arguments,
    with_treebank,
)
from core.studies.probes.trees.planning import prepare as prepare_probes
from core.studies.probes.trees.tables import metrics_in, rows_of_metric
from extras.probes.removal.report import (
    CITATIONS,
    draw_removal,
    make_headline,
    make_methods,
    make_notices,
    statements_of,
    view_sentences,
)
from extras.probes.removal.spec import RemovalSpec
from extras.probes.removal.tables import LOSS, METRICS, TITLES, tables_of
from extras.probes.removal.tasks import RemovalRegime, erase_subspace, find_head

ERASED = "erased"  # in roles of tasks


def prepare(spec: RemovalSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read, parse and split the text, identify the models and their heads."""
    return [*prepare_probes(spec.as_probes, texts), *head_tasks(spec.models, find_head)]


def plan(spec: RemovalSpec, ready: Outputs) -> list[Task]:
    """A task for each layer of each model with a head that can be scored. Raises TaskError if no
    model has one, CorpusError if the text cannot be used, SpecError if a model has no layer asked
    for."""
    treebank: Treebank = ready.need(TREEBANK)
    identified, heads = identities(ready), heads_of(spec.models, ready)
    if not heads:
        refused = make_notices(spec.models)
        raise TaskError(" ".join([*refused, *ready.sentences.values()]))
    common = training_arguments(treebank)
    tasks = []
    for ref, head in heads.items():
        model = identified[ref]
        how = RemovalRegime(
            min(spec.rank, model.d_model), spec.randoms, spec.scored, spec.kinds, spec.pairs,
            spec.seed, spec.epochs,
        )  # fmt: skip
        shared = {**model_arguments(spec.as_probes, model), **common, "head": head, "how": how}
        tasks += [
            Task.of(
                f"{ref}, layer {layer}", erase_subspace, role=(ERASED, ref, layer), group=ref,
                layer=layer, **shared,
            )
            for layer in chosen_layers(spec.as_probes, model)
        ]  # fmt: skip
    return tasks


def collect(spec: RemovalSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs."""
    treebank: Treebank = ready.values[TREEBANK]
    heads = heads_of(spec.models, ready)
    values: dict[tuple[str, int], Value] = outputs.of(ERASED)
    made = tables_of(values, spec.draws, spec.seed)
    scored = tuple(dict.fromkeys(model for model, _ in values))
    statements = statements_of(made, scored)
    findings = Findings(
        headline=make_headline(statements),
        tables=made,
        notices=make_notices(headless(spec.models, ready)),
        statements=statements,
        models=scored,
        methods=make_methods(spec, treebank, [*heads], layers_read(spec.as_probes, ready)),
    )
    return with_treebank(findings, ready, spec.layers)


STUDY = Study(
    name="probe removal",
    words=words_beside(__file__),
    Spec=RemovalSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(
        View(
            draw=draw_removal,
            choices=lambda result: [(metric,) for metric in metrics_in(result.table, METRICS)],
            asked="Cost",
            titles=TITLES,
            headline=view_sentences,
            tables=lambda result, metric=LOSS: rows_of_metric(result.tables, metric),
        ),
    ),
)
