"""Behaviour beside probes: does a model whose layers give syntax away prefer grammatical sentences?

Each model that kept a language-model head is scored on each kind of minimal pairs, beside bigrams
and the first step of its run, and probed; the probes' best scores are correlated with accuracy over
models.

References: Warstadt et al. 2020, TACL; Salazar et al. 2020, ACL; Kauf & Ivanova 2023, ACL.
Deviations: pairs are made from templates of our own, see `minimal_pairs.templates`.

The headline's number: `core.studies.probes.minimal_pairs.accuracy.correct`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.errors import TaskError
from core.models.loading.language_models import head_tasks
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
from core.studies.probes.behaviour import tables, text
from core.studies.probes.behaviour.charts import draw_behaviour
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.behaviour.tasks import find_head, read_included, score_bigrams, score_pairs
from core.studies.probes.behaviour.text import doubts_of, other_statements, statements_of
from core.studies.probes.edges.planning import model_task as edge_task
from core.studies.probes.edges.planning import sentences_of
from core.studies.probes.edges.tables import best_score_of
from core.studies.probes.minimal_pairs.pairs_file import OWN, own_groups, read_own
from core.studies.probes.trees import tables as trees
from core.studies.probes.trees.data import Treebank, read_treebank
from core.studies.probes.trees.planning import (
    TREEBANK,
    chosen_layers,
    fewer_than_dimensions,
    headless,
    heads_of,
    model_task,
    training_arguments,
)

UUAS = "uuas"
INCLUDED, PAIRS = "included sentences", "pairs"  # in roles of tasks


def prepare(spec: BehaviourSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Make the tasks of the first stage: identify the models and their heads, read the texts."""
    refs = spec.refs
    tasks = head_tasks(refs, find_head)
    if spec.pairs_file:
        tasks.append(Task.of("read pairs", read_own, role=OWN, fleeting=True, path=spec.pairs_file))
    tasks.append(Task.of("read included text", read_included, role=INCLUDED, fleeting=True))
    if spec.probes:
        probes = spec.as_probes(refs[0])
        tasks.append(
            Task.of(
                "read the text",
                read_treebank,
                role=TREEBANK,
                fleeting=True,
                spec=probes,
                texts=texts,
                others=refs,
            )
        )
    return [*tasks, *identity_tasks(refs)]


def plan(spec: BehaviourSpec, ready: Outputs) -> list[Task]:
    """Make the tasks of every model with a language-model head, and that of the bigrams. Raises
    TaskError if no model has such a head, CorpusError if a text cannot be read or is too small."""
    identified, heads = identities(ready), heads_of(spec.refs, ready)
    if not heads:
        refused = text.refusals(headless(spec.refs, ready))
        raise TaskError(" ".join([*refused, *ready.sentences.values()]))
    first = next(iter(heads))
    given = {"own": ready.need(OWN)} if spec.pairs_file else {}
    tasks = [
        Task.of(
            "bigram baseline",
            score_bigrams,
            role=tables.BIGRAM,
            model=first,
            model_identity=identified[first].content,
            words=ready.need(INCLUDED),
            kinds=spec.scored_kinds,
            pairs=spec.pairs,
            **given,
        )
    ]
    for ref, head in heads.items():
        tasks += [
            Task.of(
                f"{kind}: {ref}",
                score_pairs,
                role=(PAIRS, ref, kind),
                group=ref,
                model=ref,
                model_identity=identified[ref].content,
                head=head,
                kind=kind,
                pairs=spec.pairs,
                **given,
            )
            for kind in spec.scored_kinds
        ]
    if spec.probes:
        treebank: Treebank = ready.need(TREEBANK)
        common = training_arguments(treebank)
        labelled = [sentences_of(spec.as_edges(first), treebank, target) for target in spec.targets]
        for ref in heads:
            probes, edges = spec.as_probes(ref), spec.as_edges(ref)
            layers = chosen_layers(probes, identified[ref])
            tasks.append(model_task(probes, identified[ref], common, layers, maps=False))
            tasks += [edge_task(edges, identified[ref], each) for each in labelled]
    return tasks


def collect(spec: BehaviourSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements and texts of the outputs; with probes also the tables `beside` and,
    unless the parser cannot read the text, `rank_correlations`. Scores are in per cent."""
    heads, values = heads_of(spec.refs, ready), outputs.values
    hits: dict[str, tables.Hits] = {}
    whole: dict[str, tables.Hits] = {}
    for ref in heads:
        scored = {
            kind: values[PAIRS, ref, kind]
            for kind in spec.scored_kinds
            if (PAIRS, ref, kind) in values
        }
        if scored:
            hits[ref] = {kind: tables.hits_of(value) for kind, value in scored.items()}
            whole[ref] = {kind: tables.hits_of(value, "whole_") for kind, value in scored.items()}
    models = list(hits)
    if tables.BIGRAM in values:
        hits[tables.BIGRAM] = {
            kind: tables.hits_of(values[tables.BIGRAM], ending=f"/{kind}")
            for kind in spec.scored_kinds
        }
    groups = own_groups(ready.values[OWN]) if spec.pairs_file else None
    behaviour = tables.behaviour_table(hits, groups)
    made = {
        "behaviour": behaviour,
        "behaviour_margins": tables.margin_table(hits, models, whole, groups),
    }
    treebank: Treebank | None = ready.values.get(TREEBANK) if spec.probes else None
    few: list[str] = []
    if treebank is not None:
        beside = tables.beside_table(behaviour, best_scores(spec, treebank, models, outputs))
        made["beside"] = beside
        if not treebank.foreign:
            few = fewer_than_dimensions(ready, models)
            made["rank_correlations"] = tables.correlation_table(beside, behaviour, spec.seed)
    statements = statements_of(made, models)
    doubts = doubts_of(hits, made["behaviour_margins"], models, groups)
    counted = int(values[tables.BIGRAM]["tokens"]) if tables.BIGRAM in values else 0
    return Findings(
        headline=text.make_headline(statements),
        limits=few,
        tables=made,
        notices=text.make_notices(doubts, headless(spec.refs, ready)),
        statements=(*statements, *doubts, *other_statements(made, statements)),
        models=tuple(models),
        corpus=treebank.corpus if treebank else None,
        methods=text.make_methods(
            spec, heads, counted, treebank, 0 if groups is None else len(groups)
        ),
        cites=text.PROBE_CITATIONS if treebank else (),
    )


def best_scores(
    spec: BehaviourSpec, treebank: Treebank, models: list[str], outputs: Outputs
) -> list[dict[str, Any]]:
    """Score each model's probes at the layer that is best on the development sentences: a row by
    model and probe."""
    sample = trees.sample_of(treebank, spec.draws, spec.seed)
    rows: list[pd.Series | None] = []
    for ref in models:
        if ("model", ref) in outputs.values:
            groups = trees.probe_groups(outputs.values["model", ref], sample)
            frames = trees.score_rows(groups, model=ref, labels=trees.REAL)
            rows.append(trees.best_row(trees.tree_table(frames), ref, UUAS))
    rows += [
        best_score_of(ref, target, outputs.values[ref, target], spec.draws, spec.seed)
        for target in spec.targets
        for ref in models
        if (ref, target) in outputs.values
    ]
    return [row.to_dict() for row in rows if row is not None]


STUDY = Study(
    name="probe behaviour",
    words=words_beside(__file__),
    Spec=BehaviourSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=text.CITATIONS,
    views=(
        View(
            draw=draw_behaviour,
            headline=lambda result: text.make_headline(result.statements),
        ),
    ),
)
