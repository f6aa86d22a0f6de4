"""What a study of behaviour plans: models, heads and texts of the first stage, then the minimal
pairs of every model, the bigrams, and the probes."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import TaskError
from core.models.loading.language_models import head_tasks
from core.studies.kit import Outputs, Task, Text, identities, identity_tasks
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.behaviour.tables import BIGRAM
from core.studies.probes.behaviour.tasks import find_head, read_included, score_bigrams, score_pairs
from core.studies.probes.behaviour.text import refusals
from core.studies.probes.edges.planning import model_task as edge_task
from core.studies.probes.edges.planning import sentences_of
from core.studies.probes.minimal_pairs.pairs_file import OWN, read_own
from core.studies.probes.trees.data import Treebank, read_treebank
from core.studies.probes.trees.planning import (
    TREEBANK,
    chosen_layers,
    headless,
    heads_of,
    model_task,
    training_arguments,
)

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
        refused = refusals(headless(spec.refs, ready))
        raise TaskError(" ".join([*refused, *ready.sentences.values()]))
    first = next(iter(heads))
    given = {"own": ready.need(OWN)} if spec.pairs_file else {}
    tasks = [
        Task.of(
            "bigram baseline",
            score_bigrams,
            role=BIGRAM,
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
