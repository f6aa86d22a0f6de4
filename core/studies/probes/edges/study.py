"""The edge-probing study: which layers encode tags, labels and heads linearly, and how learnably?

prepare: read, parse and split the text as for the structural probes, identify the models. plan: one
task for each model and target, one for the baselines of each target. collect: accuracy and online
code length by layer with bands, control labels, differences from the base, margins over baselines,
a headline, a methods paragraph.

References: Tenney et al. 2019, ICLR; Voita & Titov 2020, EMNLP; Hewitt & Liang 2019, EMNLP.
Deviations: see `edge_items` (single words, linear, layer by layer) and `codelength` (blocks end
with a sentence).

The headline's number: `core.maths.classifier.fit_classifiers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import CorpusError
from core.maths.structural.bands import COVERAGE
from core.models.identity import Identity
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    changes_of,
    depths,
    identities,
    start_notices,
    words_beside,
)
from core.studies.probes.edges import tables
from core.studies.probes.edges.charts import VIEWS, draw_targets
from core.studies.probes.edges.items import TARGETS, edge_items, tags_of
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.edges.statements import doubts_of, statements_of
from core.studies.probes.edges.tables import CONTROL, REAL, Groups
from core.studies.probes.edges.tasks import (
    probe_beside_window,
    probe_edges,
    probe_window,
    score_rivals,
    score_tags,
)
from core.studies.probes.edges.text import (
    CITATIONS,
    CONDITIONAL,
    make_headline,
    make_methods,
    make_notices,
)
from core.studies.probes.trees.comparisons import (
    baselines_of,
    best_layers,
    differences,
    gains_over_window,
    margins,
)
from core.studies.probes.trees.data import NAMED, PARTS, Tree, Treebank, Trees
from core.studies.probes.trees.planning import TREEBANK, chosen_layers, with_limits, word_classes
from core.studies.probes.trees.planning import prepare as prepare_probes
from core.studies.probes.trees.tables import BESIDE, TAGS, WINDOW, as_table, reaches_in_words
from core.text.unread import UnreadCorpus

if TYPE_CHECKING:
    import pandas as pd


RIVALS, TAGGED = "rivals", "parts of speech"  # in roles of tasks


def prepare(spec: EdgeSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read, parse and split the text, identify the models."""
    return prepare_probes(spec.as_probes, texts)


def plan(spec: EdgeSpec, ready: Outputs) -> list[Task]:
    """The tasks of a study, from the outputs of its first stage; none for a model not found.

    Raises:
        CorpusError: If the text could not be read, is too small, or has no labels of a target.
        SpecError: If a model has no layer of a number that was asked for.
    """
    treebank: Treebank = ready.need(TREEBANK)
    identified = identities(ready)
    tasks = []
    for target in spec.targets:
        common = sentences_of(spec, treebank, target)
        tasks.append(
            Task.of(
                f"baselines: {target}",
                score_rivals,
                role=(RIVALS, target),
                penalty=spec.penalty,
                **common,
            )
        )
        tasks += _tag_tasks(spec, treebank, target, common)
        for model in spec.probed:
            if model not in identified:
                continue
            # The untrained model that is added needs no control labels: no claim is made about it.
            controls = spec.controls if model in spec.models else 0
            tasks.append(model_task(spec, identified[model], common, controls=controls))
            if model in spec.models:
                name, role = f"static window, {target}: {model}", (WINDOW, model, target)
                asked = _model_arguments(spec, identified[model], common)
                tasks.append(Task.of(name, probe_window, role=role, group=model, **asked))
                if spec.conditional:
                    tasks.append(_beside_task(spec, identified[model], common))
    return tasks


def model_task(
    spec: EdgeSpec, model: Identity, common: Mapping[str, Any], *, controls: int
) -> Task:
    """The classifiers of one target on every layer of a model. Raises SpecError if the model has no
    layer of a number that was asked for."""
    return Task.of(
        f"{common['target']}: {model.ref}",
        probe_edges,
        role=(model.ref, common["target"]),
        group=model.ref,
        controls=controls,
        seed=spec.seed,
        layers=chosen_layers(spec.as_probes, model),
        **_model_arguments(spec, model, common),
    )


def _beside_task(spec: EdgeSpec, model: Identity, common: Mapping[str, Any]) -> Task:
    """The classifiers of one target on every layer of a model beside its static window."""
    arguments = _model_arguments(spec, model, common)
    layers = chosen_layers(spec.as_probes, model)
    name, role = f"{common['target']}, {BESIDE}: {model.ref}", (BESIDE, model.ref, common["target"])
    return Task.of(
        name, probe_beside_window, role=role, group=model.ref, layers=layers, **arguments
    )


def _model_arguments(spec: EdgeSpec, model: Identity, common: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that all tasks of one model and target share."""
    return {
        "model": model.ref, "model_identity": model.content, "penalty": spec.penalty, **common,
    }  # fmt: skip


def _tag_tasks(
    spec: EdgeSpec, treebank: Treebank, target: str, common: Mapping[str, Any]
) -> list[Task]:
    """Classifiers of parts of speech, for targets that are none, where the text has tags."""
    classes = word_classes(treebank, common["trees"].rows) if target != "pos" else ()
    arguments = {"classes": classes, "penalty": spec.penalty, **common}
    name = f"parts of speech: {target}"
    return [Task.of(name, score_tags, role=(TAGGED, target), **arguments)] if classes else []


def collect(spec: EdgeSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make tables, statements, headline, notices and methods of the tasks' outputs.

    Returns:
        A result with the tables `edges` (SCORES of `edge_tables`; accuracy and unseen in percent,
        bits a label), `codes` (whole code lengths), `differences`, `edge_margins`, `best_layers`
        and, with `conditional`, `added` (layers beside the static window).
    """
    treebank: Treebank = ready.values[TREEBANK]
    values = outputs.values
    models = [ref for ref in spec.probed if any((ref, target) in values for target in spec.targets)]
    frames: dict[str, list[pd.DataFrame]] = {
        "edges": [],
        "codes": [],
        "differences": [],
        "edge_margins": [],
        "best_layers": [],
        "added": [],
    }
    for target in spec.targets:
        trained = {ref: values[ref, target] for ref in models if (ref, target) in values}
        _add_target(spec, target, trained, values, frames)
    tables_by_name = {
        "edges": as_table(frames["edges"], tables.SCORES),
        "codes": as_table(frames["codes"], tables.CODES),
        "differences": as_table(frames["differences"], tables.DIFFERENCES),
        "edge_margins": as_table(frames["edge_margins"], tables.MARGINS),
        "best_layers": as_table(frames["best_layers"], tables.BEST_LAYERS),
    }
    if spec.conditional:
        tables_by_name["added"] = as_table(frames["added"], tables.ADDED)
    starts = start_notices(spec.models[0], changes_of(ready))
    statements = statements_of(tables_by_name, spec.probed)
    doubts = doubts_of(tables_by_name, spec)
    read = [str(note) for value in values.values() for note in np.asarray(value["notices"])]
    notices = (*starts, *make_notices(doubts), *treebank.notices, *read)
    result = Findings(
        headline=make_headline(statements),
        tables=tables_by_name,
        notices=notices,
        statements=(*statements, *doubts),
        models=tuple(models),
        corpus=treebank.corpus,
        methods=make_methods(spec, treebank, depths(ready)) + reaches_in_words(values),
        cites=(*CITATIONS, *[CONDITIONAL] * spec.conditional),
    )
    return with_limits(result, ready, models, spec.layers)


def _add_target(
    spec: EdgeSpec,
    target: str,
    trained: Mapping[str, Value],
    values: Mapping[Any, Value],
    frames: dict[str, list[pd.DataFrame]],
) -> None:
    """Add the rows of one target to every table."""
    first = next(iter(trained.values()), values.get((RIVALS, target)))
    if first is None:
        return
    sample = tables.samples(first, spec.draws, spec.seed)
    groups = {ref: tables.groups_of(value, sample) for ref, value in trained.items()}
    for ref, value in trained.items():
        frames["edges"] += tables.score_rows(ref, target, REAL, groups[ref], sample)
        frames["codes"] += tables.code_rows(ref, target, value)
        if np.asarray(value["bits"]).shape[1] > 1:
            control = tables.groups_of(value, sample, control=True)
            frames["edges"] += tables.score_rows(ref, target, CONTROL, control, sample)
            frames["edges"] += tables.selectivity_rows(ref, target, groups[ref], control, sample)
    rivals: dict[Any, Groups] = {}
    named = {RIVALS: tables.RIVALS, TAGGED: tuple(TAGS.values())}
    for kind, names in named.items():
        if (kind, target) in values:
            scores = tables.groups_of(values[kind, target], sample)
            rivals |= tables.split_rivals(scores, names)
            frames["codes"] += tables.code_rows("", target, values[kind, target], names)
    windows = {ref: values[key] for ref in groups if (key := (WINDOW, ref, target)) in values}
    rivals |= {(WINDOW, ref): tables.groups_of(value, sample) for ref, value in windows.items()}
    shown = {name: rivals[name] for name in rivals if isinstance(name, str)}
    if (WINDOW, spec.models[0]) in rivals:
        shown[WINDOW] = rivals[WINDOW, spec.models[0]]
        frames["codes"] += tables.code_rows("", target, windows[spec.models[0]], (WINDOW,))
    for name, scores in shown.items():
        frames["edges"] += tables.score_rows(name, target, REAL, scores, sample, layered=False)
    frames["differences"] += differences(groups, spec.models[0], sample, probe=target)
    for ref in groups:
        if (BESIDE, ref, target) in values:
            both = tables.groups_of(values[BESIDE, ref, target], sample)
            frames["added"] += gains_over_window(ref, both, sample, _chooser, probe=target)
    for ref, theirs in baselines_of(groups, rivals):
        frames["edge_margins"] += margins(
            {ref: groups[ref]},
            theirs,
            sample,
            _chooser,
            tables.UNLAYERED,
            probe=target,
        )
    accuracy = {ref: {tables.ACCURACY: group[tables.ACCURACY]} for ref, group in groups.items()}
    frames["best_layers"] += best_layers(accuracy, sample, str, probe=target)


def _chooser(metric: str) -> str:
    """The metric that chooses layers, whichever is compared: accuracy."""
    return tables.ACCURACY


def sentences_of(spec: EdgeSpec, treebank: Treebank, target: str) -> dict[str, Any]:
    """A target's sentences as arguments of tasks; training sentences in the order of coding.

    Raises:
        CorpusError: If a part has no labels, or all training labels are the same.
    """
    tags = tags_of(treebank, target)
    order = np.random.default_rng(spec.seed).permutation(len(treebank.parts["train"]))
    trees: dict[str, list[Tree]] = {part: list(treebank.parts[part]) for part in PARTS}
    trees["train"] = [trees["train"][place] for place in order]
    for part, rows in ({} if isinstance(treebank.corpus, UnreadCorpus) else trees).items():
        asked = edge_items(
            target, [tree.heads for tree in rows], [tree.keep for tree in rows],
            [tags[tree.words, tree.heads] for tree in rows],
        )  # fmt: skip
        if len(set(asked.labels)) < (2 if part == "train" else 1):
            raise CorpusError(
                f"The {NAMED[part]} sentences of {treebank.corpus.ref} have too few labels of "
                f"{target} ({TARGETS[target]}). Use more text, or leave {target} out."
            )
    every = [tree for rows in trees.values() for tree in rows]
    sizes = tuple(len(rows) for rows in trees.values())
    return {
        "trees": Trees.of(every), "target": target, "sizes": sizes,
        "tags": tuple(tags[tree.words, tree.heads] for tree in every),
    }  # fmt: skip


STUDY = Study(
    name="probe edges",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=EdgeSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    views=(
        View(
            draw=draw_targets,
            choices=lambda result: [(view,) for view in VIEWS],
            tables=tables.rows_of,
        ),
    ),
)
