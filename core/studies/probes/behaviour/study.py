"""Behaviour beside probes: does a model whose layers give syntax away prefer grammatical sentences?

prepare: find out which models kept a language-model head, read the sentences of the probes and
those from which bigrams are counted. plan: a task for each model and kind of minimal pairs, one for
the bigrams, and the probes of every model. collect: accuracy by model and kind, differences from
the bigrams and from the first step of a run, each probe's best score beside accuracy, and their
rank correlation over models.

References: Warstadt et al. 2020, TACL; Salazar et al. 2020, ACL; Kauf & Ivanova 2023, ACL.
Deviations: pairs are made from templates of our own, see `minimal_pairs.templates`.

The headline's number: `core.studies.probes.minimal_pairs.accuracy.correct`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import TaskError
from core.maths.structural.bands import draw_sample
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
from core.studies.probes.behaviour import tables
from core.studies.probes.behaviour.charts import draw_behaviour
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.behaviour.statements import doubts_of, statements_of
from core.studies.probes.behaviour.tables import BIGRAM, Hits, hits_of
from core.studies.probes.behaviour.tasks import find_head, read_included, score_bigrams, score_pairs
from core.studies.probes.behaviour.text import (
    CITATIONS,
    PROBE_CITATIONS,
    make_headline,
    make_methods,
    make_notices,
    pairs_sentence,
    refusal,
)
from core.studies.probes.edges.statements import best_rows
from core.studies.probes.edges.study import model_task as edge_task
from core.studies.probes.edges.study import sentences_of
from core.studies.probes.edges.tables import REAL, groups_of, samples
from core.studies.probes.edges.tables import SCORES as EDGE_SCORES
from core.studies.probes.edges.tables import score_rows as edge_rows
from core.studies.probes.minimal_pairs.own import OWN, own_groups, read_own
from core.studies.probes.trees.data import Treebank, read_treebank
from core.studies.probes.trees.planning import (
    TREEBANK,
    few_sentences,
    model_tasks,
    training_arguments,
)
from core.studies.probes.trees.study import notes_of
from core.studies.probes.trees.tables import as_table, best_row, probe_groups, score_rows

if TYPE_CHECKING:
    import pandas as pd


INCLUDED, PAIRS, UUAS = "included sentences", "pairs", "uuas"


def prepare(spec: BehaviourSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Make the tasks of the first stage: identify the models and their heads, read the texts."""
    refs = spec.refs
    tasks = [
        Task.of(f"head of {ref}", find_head, role=("head", ref), fleeting=True, ref=ref)
        for ref in refs
    ]
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
    """Make the tasks of every model with a language-model head, and that of the bigrams.

    Raises:
        TaskError: If no model has such a head.
        CorpusError: If a text could not be read, or is too small.
    """
    identified, heads = identities(ready), heads_of(spec, ready)
    if not heads:
        refused = [refusal(without)] if (without := refused_of(spec, ready)) else []
        raise TaskError(" ".join([*refused, *ready.sentences.values()]))
    first = next(iter(heads))
    own = {"own": ready.need(OWN)} if spec.pairs_file else {}
    tasks = [
        Task.of(
            "bigram baseline",
            score_bigrams,
            role=BIGRAM,
            model=first,
            model_identity=identified[first].content,
            sentences=ready.need(INCLUDED),
            kinds=spec.scored_kinds,
            pairs=spec.pairs,
            **own,
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
                **own,
            )
            for kind in spec.scored_kinds
        ]
    if spec.probes:
        treebank: Treebank = ready.need(TREEBANK)
        common = training_arguments(treebank)
        labelled = [sentences_of(spec.as_edges(first), treebank, target) for target in spec.targets]
        for ref in heads:
            probes, edges = spec.as_probes(ref), spec.as_edges(ref)
            tasks += model_tasks(probes, identified[ref], common, controls=0, maps=False)
            tasks += [edge_task(edges, identified[ref], each, controls=0) for each in labelled]
    return tasks


def heads_of(spec: BehaviourSpec, ready: Outputs) -> dict[str, str]:
    """List the models that can be scored, each with how its head reads a sentence."""
    identified = identities(ready)
    kinds = {ref: str(ready.values.get(("head", ref), "")) for ref in spec.refs}
    return {ref: kind for ref, kind in kinds.items() if kind and ref in identified}


def refused_of(spec: BehaviourSpec, ready: Outputs) -> list[str]:
    """List the models that were found and have no language-model head."""
    return [ref for ref in spec.refs if ready.values.get(("head", ref)) == ""]


def collect(spec: BehaviourSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements, headline, notices and methods of the tasks' outputs.

    Returns:
        A result with the tables `behaviour` and `behaviour_margins` and, with probes, `beside` and
        `rank_correlations`, the latter not on a text that the parser cannot read; see `tables`.
        Scores are in per cent.
    """
    heads, values = heads_of(spec, ready), outputs.values
    hits: dict[str, Hits] = {}
    whole: dict[str, Hits] = {}
    for ref in heads:
        scored = {
            kind: values[PAIRS, ref, kind]
            for kind in spec.scored_kinds
            if (PAIRS, ref, kind) in values
        }
        if scored:
            hits[ref] = {kind: hits_of(value) for kind, value in scored.items()}
            whole[ref] = {kind: hits_of(value, "whole_") for kind, value in scored.items()}
    models = list(hits)
    if BIGRAM in values:
        hits[BIGRAM] = {
            kind: hits_of(values[BIGRAM], ending=f"/{kind}") for kind in spec.scored_kinds
        }
    own = own_groups(ready.values[OWN]) if spec.pairs_file else None
    behaviour = tables.behaviour_table(hits, own)
    made = {
        "behaviour": behaviour,
        "behaviour_margins": tables.margin_table(hits, models, whole, own),
    }
    treebank: Treebank | None = ready.values.get(TREEBANK) if spec.probes else None
    few: list[str] = []
    if treebank is not None:
        beside = tables.beside_table(behaviour, best_scores(spec, treebank, models, outputs))
        made["beside"] = beside
        if not treebank.foreign:
            few = few_sentences(ready, models)
            made["rank_correlations"] = tables.correlation_table(beside, behaviour, spec.seed)
    statements, doubts = statements_of(made, models), doubts_of(made, models)
    counted = int(values[BIGRAM]["tokens"]) if BIGRAM in values else 0
    texts = treebank.notices if treebank else ()
    read = notes_of(values.values())
    notices = (*few, *make_notices(doubts, refused_of(spec, ready)), *texts, *read)
    return Findings(
        headline=" ".join([make_headline(statements), *few]),
        tables=made,
        notices=notices,
        statements=(*statements, *doubts),
        models=tuple(models),
        corpus=treebank.corpus if treebank else None,
        methods=make_methods(spec, heads, counted, treebank, 0 if own is None else len(own)),
        cites=(*CITATIONS, *(PROBE_CITATIONS if treebank else ())),
    )


def best_scores(
    spec: BehaviourSpec, treebank: Treebank, models: list[str], outputs: Outputs
) -> list[dict[str, Any]]:
    """Score each model's probes at the layer that is best on the development sentences.

    Returns:
        A row for each model and probe: model, probe, metric, layer, value, low, high.
    """
    lengths = np.array([len(tree.words) for tree in treebank.parts["test"]])
    sample = draw_sample(lengths, spec.draws, spec.seed)
    rows: list[dict[str, Any]] = []
    for ref in models:
        if ("model", ref) in outputs.values:
            table = score_rows(ref, "", probe_groups(outputs.values["model", ref], sample), sample)
            best = best_row(table, ref, UUAS)
            rows += [] if best is None else [best.to_dict()]
    for target in spec.targets:
        for ref in models:
            if (ref, target) in outputs.values:
                rows += _edge_scores(spec, ref, target, outputs)
    return rows


def _edge_scores(
    spec: BehaviourSpec, ref: str, target: str, outputs: Outputs
) -> list[dict[str, Any]]:
    value = outputs.values[ref, target]
    sample = samples(value, spec.draws, spec.seed)
    frames: list[pd.DataFrame] = edge_rows(ref, target, REAL, groups_of(value, sample), sample)
    return [row.to_dict() for row in best_rows(as_table(frames, EDGE_SCORES), ref).values()]


STUDY = Study(
    name="probe behaviour",
    words=words_beside(__file__),
    Spec=BehaviourSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    views=(
        View(
            draw=draw_behaviour,
            headline=lambda result: pairs_sentence(result.statements),
        ),
    ),
)
