"""Planning that a study and its rank sweep share: the first stage, and the arguments of training.

A position code is appended to a model's vectors where the model adds no positions to them, or where
the spec asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.models.identity import Identity, depths
from core.models.loading.language_models import HEAD
from core.options import layer_numbers
from core.studies.kit import (
    Findings,
    Outputs,
    Task,
    Text,
    Value,
    change_tasks,
    identities,
    identity_tasks,
)
from core.studies.probes.trees.data import Tree, Treebank, Trees, read_treebank
from core.studies.probes.trees.rival_tasks import (
    score_baselines,
    score_beside_window,
    score_parser,
    score_positions,
    score_tags,
    score_window,
)
from core.studies.probes.trees.spec import ProbeSpec, SameTrees
from core.studies.probes.trees.tables import BASELINES, BESIDE, PARSED, POSITION, TAGS, WINDOW
from core.studies.probes.trees.tasks import Regime, is_exact, score_probes, train_probes
from core.studies.probes.trees.text import MOST_NAMED
from core.studies.text_kit import listed, short_names

TREEBANK = "treebank"  # role of the first stage's task


def prepare(
    spec: ProbeSpec, texts: Mapping[str, Text] | None = None, others: Sequence[str] = ()
) -> list[Task]:
    """The first stage: read, parse and split the text (an upload, by CorpusRef), identify the
    models, compare their weights."""
    return [
        Task.of(
            "read the text", read_treebank, role=TREEBANK, fleeting=True,
            spec=spec, texts=texts, others=others,
        ),
        *identity_tasks(spec.probed),
        *change_tasks(spec.models[0], spec.models[1:]),
    ]  # fmt: skip


def prepare_same(spec: SameTrees, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage of a study of other probes: that of structural ones."""
    return prepare(spec.as_probes, texts)


def training_arguments(treebank: Treebank) -> dict[str, Any]:
    """The arguments that all training tasks of a study share."""
    trees = [tree for part in treebank.parts.values() for tree in part]
    return {"trees": Trees.of(trees), "sizes": tuple(len(part) for part in treebank.parts.values())}


def found_models(refs: Iterable[str], ready: Outputs) -> list[Identity]:
    """The models that the first stage found."""
    identified = identities(ready)
    return [identified[ref] for ref in refs if ref in identified]


def model_arguments(spec: ProbeSpec, model: Identity) -> dict[str, Any]:
    """The arguments that all training tasks of one model share; of a small one none says that it
    is exact, so that its results keep their keys."""
    coded = spec.position == "on" or (spec.position == "auto" and not model.positions)
    exact = {} if is_exact(model.parameters) else {"exact": False}
    return {"model": model.ref, "model_identity": model.content, "position": coded, **exact}


def model_task(
    spec: ProbeSpec,
    model: Identity,
    common: Mapping[str, Any],
    layers: Sequence[int],
    *,
    maps: bool = True,
) -> Task:
    """Probes of one model on real trees; without `maps`, only their scores are stored."""
    real: Callable[..., Value] = train_probes if maps else score_probes
    return Task.of(
        model.ref,
        real,
        role=("model", model.ref),
        group=model.ref,
        layers=layers,
        how=_regime(spec, model.d_model),
        **model_arguments(spec, model),
        **common,
    )


def control_task(
    spec: ProbeSpec, model: Identity, common: Mapping[str, Any], layers: Sequence[int]
) -> Task:
    """Probes of one model on control trees."""
    return Task.of(
        f"control trees: {model.ref}",
        train_probes,
        role=("control", model.ref),
        group=model.ref,
        layers=layers,
        how=replace(_regime(spec, model.d_model), draws=spec.controls, control=True),
        **model_arguments(spec, model),
        **common,
    )


def _regime(spec: ProbeSpec, width: int) -> Regime:
    """How probes of vectors of this width are trained."""
    return Regime(spec.probes, (min(spec.rank, width),), spec.seeds, spec.seed, spec.epochs)


def window_task(spec: ProbeSpec, model: Identity, common: Mapping[str, Any]) -> Task:
    """Probes on a model's embedding table, read through a window of words."""
    return Task.of(
        f"static window: {model.ref}",
        score_window,
        role=(WINDOW, model.ref),
        group=model.ref,
        **model_arguments(spec, model),
        **common,
        **_alone(spec),
    )


def tag_tasks(spec: ProbeSpec, treebank: Treebank, common: Mapping[str, Any]) -> list[Task]:
    """Probes on parts of speech, alone and with their neighbours'; none for text without tags."""
    tags = word_classes(treebank, [tree for part in treebank.parts.values() for tree in part])
    return [
        Task.of(name, score_tags, role=name, reach=reach, tags=tags, **_alone(spec), **common)
        for reach, name in TAGS.items()
        if tags
    ]


def word_classes(treebank: Treebank, trees: Sequence[Tree]) -> tuple[tuple[str, ...], ...]:
    """Parts of speech (UPOS) of the words of these sentences; empty where none has any."""
    of_sentence = {
        (sentence.words, sentence.heads): sentence.upos or ("_",) * len(sentence.words)
        for sentence in treebank.corpus.sentences
    }
    tags = tuple(of_sentence[tree.words, tree.heads] for tree in trees)
    return tags if any(tag != "_" for row in tags for tag in row) else ()


def beside_task(spec: ProbeSpec, model: Identity, common: Mapping[str, Any]) -> Task:
    """Probes on each layer of a model beside its static window."""
    return Task.of(
        f"beside the static window: {model.ref}",
        score_beside_window,
        role=(BESIDE, model.ref),
        group=model.ref,
        layers=chosen_layers(spec, model),
        how=_regime(spec, 2 * model.d_model),
        **model_arguments(spec, model),
        **common,
    )


def _alone(spec: ProbeSpec) -> dict[str, Any]:
    """How probes of one layer are trained that is no layer of a model."""
    return {
        "rank": spec.rank,
        "draws": spec.seeds,
        "probes": spec.probes,
        "seed": spec.seed,
        "epochs": spec.epochs,
    }


def rival_tasks(spec: ProbeSpec, treebank: Treebank, common: Mapping[str, Any]) -> list[Task]:
    """The tasks of the baselines, and of the parser where there are gold heads."""
    tasks = [
        Task.of(
            "baselines",
            score_baselines,
            role=BASELINES,
            seed=spec.seed,
            trees=Trees.of(treebank.parts["test"]),
        ),
        Task.of("position-only baseline", score_positions, role=POSITION, **_alone(spec), **common),
    ]
    if treebank.judged is not None:
        tasks.append(
            Task.of(
                "parser", score_parser, role=PARSED, trees=Trees.of(treebank.judged),
                pipeline=spec.pipeline, pipeline_identity=treebank.parser,
            )
        )  # fmt: skip
    return tasks


def chosen_layers(spec: ProbeSpec, model: Identity, *, control: bool = False) -> tuple[int, ...]:
    """The layers to probe, or those at which controls are computed. Raises SpecError if the model
    has no layer of a number asked for."""
    read = layer_numbers.layers_of_model(spec.layers, model.ref, model.layers)
    return layer_numbers.control_layers(spec.layers, model.layers) if control else read


def controls_of(spec: ProbeSpec, drawn: str = "control trees") -> list[str]:
    """Name what is computed at the layers of controls alone, for a methods paragraph."""
    return [drawn] * bool(spec.controls) + ["the untrained model"] * (spec.probed != spec.models)


def fewer_than_dimensions(ready: Outputs, models: Iterable[str]) -> list[str]:
    """Say of which models the vectors have more dimensions than there are training sentences: a
    probe may then fall below a baseline because it is fitted worse."""
    treebank: Treebank = ready.need(TREEBANK)
    count, identified = len(treebank.parts["train"]), identities(ready)
    widths = {ref: identified[ref].d_model for ref in models}
    wide = {ref: width for ref, width in widths.items() if width > count}
    if not wide:
        return []
    names = short_names(wide)
    widths_in_words = [f"{names[ref]} ({width:,})" for ref, width in wide.items()]
    return [
        f"There are fewer training sentences ({count:,}) than dimensions of "
        f"{listed(widths_in_words, MOST_NAMED, rest='more models')}, so a "
        "probe may fall below a baseline for want of text alone."
    ]


def heads_of(refs: Iterable[str], ready: Outputs) -> dict[str, str]:
    """List the models that kept a head that can be scored, each with the kind of its head, as
    `head_tasks` of the first stage found it."""
    identified = identities(ready)
    kinds = {ref: str(ready.values.get((HEAD, ref), "")) for ref in refs}
    return {ref: kind for ref, kind in kinds.items() if kind and ref in identified}


def headless(refs: Iterable[str], ready: Outputs) -> list[str]:
    """List the models that were found and have no such head."""
    return [ref for ref in refs if ready.values.get((HEAD, ref)) == ""]


def layers_read(spec: ProbeSpec, ready: Outputs, controls: Sequence[str] = ()) -> str:
    """Say which layers are probed, for a methods paragraph; `controls` as of `controls_of`."""
    return layer_numbers.which_layers(spec.layers, depths(ready), controls)


def with_treebank(
    findings: Findings,
    ready: Outputs,
    asked: Sequence[int] | None = None,
    controls: Sequence[str] = (),
) -> Findings:
    """Add the text that was read, and what the numbers cannot show: few sentences, and some layers
    of those `asked`. Of a text that the parser cannot parse, its caution is all that is said."""
    treebank, models = ready.need(TREEBANK), tuple(findings.models)
    findings = replace(findings, corpus=treebank.corpus)
    if treebank.foreign:
        return replace(findings, headline=None, caution=treebank.foreign, statements=())
    deep = {ref: count for ref, count in depths(ready).items() if ref in models}
    some = layer_numbers.some_read(asked, deep, controls) if asked is not None else ""
    limits = fewer_than_dimensions(ready, models)
    return replace(findings, limits=limits, notices=(some, *findings.notices))
