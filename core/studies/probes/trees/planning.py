"""Planning that a study and its rank sweep share: the first stage, and the arguments of training.

A position code is appended to a model's vectors where the model adds no positions to them, or where
the spec asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import SpecError
from core.maths.arrays import Value
from core.maths.structural.positions import SIZE
from core.models import costs
from core.models.changes import change_tasks
from core.models.identity import Identity, identities, identity_tasks
from core.models.sizes import Size
from core.results.names import first_of, listed, short_names
from core.runs.price import Price
from core.runs.runner import Outputs, Task
from core.studies.probes.prices import (
    CLASSES,
    COPIES_BESIDE,
    DRAWN,
    EPOCHS,
    MEASURED,
    PARSING,
    PROJECTED,
    SINGLE,
    USED,
    WINDOW_WORDS,
    bytes_to_train,
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
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tables import BESIDE, PARSED, POSITION, TAGS, WINDOW
from core.studies.probes.trees.tasks import Regime, is_exact, score_probes, train_probes
from core.studies.probes.trees.text import MOST_NAMED
from core.text.reading import Text

if TYPE_CHECKING:
    from core.findings import Findings
    from core.results.export import Result

R = TypeVar("R", bound="Findings | Result")
TREEBANK = "treebank"  # role of the first stage's task
BASELINES = "baselines"


def prepare(
    spec: ProbeSpec, texts: Mapping[str, Text] | None = None, others: Sequence[str] = ()
) -> list[Task]:
    """The first stage: read, parse and split the text, identify the models, compare their weights.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.
        others: Further models that will be probed on the same sentences.
    """
    reading: dict[str, Any] = {"spec": spec, "texts": texts, "others": others}
    return [
        Task.of("read the text", read_treebank, role=TREEBANK, fleeting=True, **reading),
        *identity_tasks(spec.probed),
        *change_tasks(spec.models[0], spec.models[1:]),
    ]


def training_arguments(treebank: Treebank) -> dict[str, Any]:
    """The arguments that all training tasks of a study share."""
    trees = [tree for part in treebank.parts.values() for tree in part]
    return {"trees": Trees.of(trees), "sizes": tuple(len(part) for part in treebank.parts.values())}


def model_arguments(spec: ProbeSpec, model: Identity) -> dict[str, Any]:
    """The arguments that all training tasks of one model share; of a small one none says that it
    is exact, so that its results keep their keys."""
    coded = spec.position == "on" or (spec.position == "auto" and not model.positions)
    exact = {} if is_exact(model.parameters) else {"exact": False}
    return {"model": model.ref, "model_identity": model.content, "position": coded, **exact}


def model_tasks(
    spec: ProbeSpec, model: Identity, common: Mapping[str, Any], *, controls: int, maps: bool = True
) -> list[Task]:
    """The tasks of one model: its probes on real trees and, with `controls`, on control trees.

    Args:
        spec: The study.
        model: Its identity, from the first stage.
        common: See `training_arguments`.
        controls: Draws of control trees.
        maps: Whether the trained maps are stored with their scores.

    Raises:
        SpecError: If the model has no layer of a number that was asked for.
    """
    arguments = {**model_arguments(spec, model), **common, "layers": chosen_layers(spec, model)}
    how = Regime(spec.probes, (min(spec.rank, model.d_model),), spec.seeds, spec.seed, spec.epochs)
    ref = model.ref
    real: Callable[..., Value] = train_probes if maps else score_probes
    tasks = [Task.of(ref, real, role=("model", ref), group=ref, how=how, **arguments)]
    if controls:
        arguments["how"] = replace(how, draws=controls, control=True)
        tasks.append(
            Task.of(
                f"control trees: {ref}", train_probes, role=("control", ref), group=ref, **arguments
            )
        )
    return tasks


def window_task(spec: ProbeSpec, model: Identity, common: Mapping[str, Any]) -> Task:
    """Probes on a model's embedding table, read through a window of words."""
    arguments = {**model_arguments(spec, model), **common, **_alone(spec)}
    name = f"static window: {model.ref}"
    return Task.of(name, score_window, role=(WINDOW, model.ref), group=model.ref, **arguments)


def tag_tasks(spec: ProbeSpec, treebank: Treebank, common: Mapping[str, Any]) -> list[Task]:
    """Probes on parts of speech, alone and with their neighbours'; none for text without tags."""
    tags = word_classes(treebank, [tree for part in treebank.parts.values() for tree in part])
    arguments = {"tags": tags, **_alone(spec), **common}
    return [
        Task.of(name, score_tags, role=name, reach=reach, **arguments)
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
    arguments = {**model_arguments(spec, model), **common, "layers": chosen_layers(spec, model)}
    rank = min(spec.rank, 2 * model.d_model)
    how = Regime(spec.probes, (rank,), spec.seeds, spec.seed, spec.epochs)
    name = f"beside the static window: {model.ref}"
    role = (BESIDE, model.ref)
    return Task.of(name, score_beside_window, role=role, group=model.ref, how=how, **arguments)


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
        parser: dict[str, Any] = {"pipeline": spec.pipeline, "pipeline_identity": treebank.parser}
        tasks.append(
            Task.of("parser", score_parser, role=PARSED, trees=Trees.of(treebank.judged), **parser)
        )
    return tasks


def chosen_layers(spec: ProbeSpec, model: Identity) -> tuple[int, ...]:
    """The layers to probe.

    Raises:
        SpecError: If the model has no layer of a number that was asked for.
    """
    missing = [layer for layer in spec.layers if layer > model.layers]
    if missing:
        named = (
            f"layer {missing[0]} is"
            if len(missing) == 1
            else f"layers {', '.join(map(str, missing))} are"
        )
        raise SpecError(f"{model.ref} has layers 0 to {model.layers}; {named} not among them.")
    return spec.layers or tuple(range(model.layers + 1))


def few_sentences(ready: Outputs, models: Iterable[str]) -> list[str]:
    """Say of which models the vectors have more dimensions than there are training sentences: a
    probe may then fall below a baseline because it is fitted worse.

    Args:
        ready: Outputs of the study's first stage.
        models: References.
    """
    treebank: Treebank = ready.need(TREEBANK)
    count, identified = len(treebank.parts["train"]), identities(ready)
    widths = {ref: identified[ref].d_model for ref in models}
    wide = {ref: width for ref, width in widths.items() if width > count}
    if not wide:
        return []
    names, named = short_names(wide), first_of([*wide], MOST_NAMED)
    widths_in_words = [f"{names[ref]} ({wide[ref]:,})" for ref in named]
    if len(named) < len(wide):
        widths_in_words.append(f"{len(wide) - len(named)} more models")
    return [
        f"There are fewer training sentences ({count:,}) than dimensions of "
        f"{listed(widths_in_words)}, so a "
        "probe may fall below a baseline for want of text alone."
    ]


def with_limits(result: R, ready: Outputs, models: Iterable[str]) -> R:
    """Say in the headline and the notices of a study of probes what its numbers cannot show.

    Where training sentences are few, a sentence follows the headline. Where the trees are those of
    a parser that cannot parse the text, this is all that the headline says, and nothing is stated.

    Args:
        result: The study's.
        ready: Outputs of its first stage.
        models: References of those that were probed.
    """
    if foreign := ready.need(TREEBANK).foreign:
        return replace(result, headline=foreign, caution=foreign, statements=())
    few = few_sentences(ready, models)
    headline = " ".join([result.headline, *few])
    return replace(result, headline=headline, notices=(*few, *result.notices))


def probe_price(spec: ProbeSpec) -> Price:
    """The price of the main study: a bank of probes for each model, on its trees and on control
    trees."""
    return price_of_banks(
        spec, spec.probed, controlled=spec.models, sweep=spec.sweep, windows=spec.models
    )


def sweep_price(spec: ProbeSpec, models: Iterable[str]) -> Price:
    """The price of the rank sweep: probes of every rank on one layer of each model."""
    sizes = costs.sizes_of(models)
    words = costs.WORDS * costs.sentences_of(spec)
    tasks = [costs.STARTING, PARSING * costs.sentences_of(spec)]
    tasks += [costs.opening(size) + _swept(spec, size, words) for size in sizes.values()]
    return costs.price_of(
        sizes,
        tasks,
        bytes_to_train(sizes, spec.layers, words),
        work=costs.counted(len(sizes), "model"),
    )


def price_of_banks(
    spec: ProbeSpec,
    refs: Sequence[str],
    *,
    controlled: Sequence[str],
    sweep: bool = False,
    windows: Sequence[str] = (),
    longer: float = 1.0,
) -> Price:
    """The price of banks of probes on every layer of these models, on control trees of some of
    them, and on the static windows of some; training takes `longer` times as long."""
    sizes, sentences = costs.sizes_of(refs), costs.sentences_of(spec)
    words = costs.WORDS * sentences
    tasks = [costs.STARTING, PARSING * sentences]
    for ref, size in sizes.items():
        states = len(spec.layers) or size.layers + 1
        tasks.append(costs.vectors(size, sentences))
        for draws in (spec.seeds, spec.controls if ref in controlled else 0):
            once = longer * sum(
                of_layer(spec, kind, spec.rank, size, words) for kind in spec.probes
            )
            tasks.append(states * draws * (once + DRAWN * 0.1 * sentences * spec.draws))
        if ref in windows:
            once = _windows(spec, size, words)
            tasks.append(once + spec.seeds * DRAWN * 0.1 * sentences * spec.draws)
            tasks += [_windows(spec, size, words, states + 1, beside=1)] * spec.conditional
        if sweep:
            tasks.append(_swept(spec, size, words))
    tasks += [_tagged(spec, words)] if windows else []
    memory = bytes_to_train(sizes, spec.layers, words) * (COPIES_BESIDE if spec.conditional else 1)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def _windows(spec: ProbeSpec, size: Size, words: float, states: int = 1, beside: int = 0) -> float:
    """Processor seconds to choose a static window's reach and to train probes on it, or on each of
    these states beside it."""
    tried = [*WINDOW_WORDS, *[USED] * spec.seeds * states]
    return in_precision(size) * sum(
        training_of_bank(spec, kind, min(spec.rank, wide), wide, words)
        for wide in (size.d_model * (n + beside) for n in tried)
        for kind in spec.probes
    )


def _tagged(spec: ProbeSpec, words: float) -> float:
    """Processor seconds to train probes on parts of speech, alone and with their neighbours'."""
    widths = [(2 * reach + 1) * CLASSES["pos"] + SIZE for reach in TAGS]
    banks = [
        training_of_bank(spec, kind, min(spec.rank, width), width, words)
        for width in widths
        for kind in spec.probes
    ]
    return spec.seeds * sum(banks)


def in_precision(size: Size) -> float:
    """Time to train a probe on a model's vectors, over that in double precision."""
    return 1.0 if is_exact(size.parameters) else SINGLE


def of_layer(spec: ProbeSpec, kind: str, rank: int, size: Size, words: float) -> float:
    """Processor seconds to train one probe on a layer of a model."""
    wide = size.d_model
    return in_precision(size) * training_of_bank(spec, kind, min(rank, wide), wide, words)


def training_of_bank(spec: ProbeSpec, kind: str, rank: int, width: int, words: float) -> float:
    """Processor seconds to train one probe in double precision."""
    epochs = min(spec.epochs, EPOCHS)
    once = PROJECTED * rank * width + (MEASURED * rank if kind == "distance" else 0.0)
    return epochs * words * once


def _swept(spec: ProbeSpec, size: Size, words: float) -> float:
    """Processor seconds to train probes of every rank; the whole bank is as wide as the widest."""
    ranks = size.d_model.bit_length() + 1
    return spec.seeds * ranks * of_layer(spec, "distance", size.d_model, size, words)
