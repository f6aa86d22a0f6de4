"""The probe study: is syntax linearly there, in which layers, and what does fine-tuning do to it?

plan: one task for each model and each kind of tree (real, control), one for the baselines, one for the parser where
gold heads exist. collect: tidy tables with bands from resampling test sentences, a headline, a methods paragraph,
and the trained probes themselves, so that any sentence can be put through them at once.

Reference: Hewitt & Manning 2019, NAACL. Deviations: control trees after Hewitt & Liang 2019, bands and paired
differences are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import CorpusError, ModelError, SpecError
from core.models import describe
from core.probes.data import Tree, Treebank, as_tree, read_treebank
from core.probes.headline import CITATIONS, make_headline, make_methods, make_notices
from core.probes.spec import ProbeSpec
from core.probes.tables import difference_rows, draw_weights, make_table
from core.probes.tasks import identity, score_baselines, score_parser, train_probes
from core.results.export import Result, provenance
from core.runs.runner import Outputs, Task, run
from core.text.corpora import Corpus, read_corpus

if TYPE_CHECKING:
    from core.runs.store import Value

BASELINES, PARSER, CONTROL = "baselines", "parser", "control: "


@dataclass(frozen=True)
class ModelProbes:
    """One model's trained probes and what they make of the test sentences.

    Attributes:
        layers: Layer of each probe.
        distance_maps: (layer, rank, d_model); None where no distance probe was trained.
        depth_maps: The same for depth.
        uuas: Share of edges found, (layer, sentence), NaN where a sentence has none; None without distances.
        heads: Predicted heads, (layer, word), test sentences one after another; None unless both were trained.
    """

    layers: tuple[int, ...]
    distance_maps: np.ndarray | None
    depth_maps: np.ndarray | None
    uuas: np.ndarray | None
    heads: np.ndarray | None


@dataclass(frozen=True)
class ProbeResult(Result):
    """A result that can be asked about sentences.

    Attributes:
        probes: Trained probes by model reference.
        test: The test sentences, in the order of `ModelProbes.uuas` and `.heads`.
        parsed: Whether their trees are a parser's.
        pipeline: The parser for typed sentences.
    """

    probes: Mapping[str, ModelProbes] = field(default_factory=dict)
    test: tuple[Tree, ...] = ()
    parsed: bool = False
    pipeline: str = "box"

    def best_layer(self, model: str, metric: str = "uuas") -> int:
        """The layer where a model scores highest."""
        rows = self.table[(self.table["model"] == model) & (self.table["metric"] == metric)]
        rows = rows[rows["probe"].isin(("distance", "depth"))]
        if rows.empty or rows["value"].isna().all():
            return self.probes[model].layers[0]
        return int(rows.loc[rows["value"].idxmax(), "layer"])


def plan(spec: ProbeSpec, treebank: Treebank | None = None) -> list[Task]:
    """The tasks of a study; nothing is trained here, but a corpus without heads is parsed.

    Args:
        spec: The study.
        treebank: Its sentences, where they have been read already.

    Raises:
        CorpusError: If the text cannot be read or is too small.
        SpecError: If no model has a layer that was asked for.
    """
    treebank = treebank or read_treebank(spec)
    trees = [tree for part in treebank.parts.values() for tree in part]
    sizes = tuple(len(part) for part in treebank.parts.values())
    common = {"sizes": sizes, "probes": spec.probes, "seed": spec.seed, "epochs": spec.epochs, **as_arguments(trees)}
    tasks = [
        Task.of(BASELINES, score_baselines, seed=spec.seed, **as_arguments(treebank.parts["test"])),
        *_parser_task(spec, treebank),
    ]
    for model in spec.probed:
        known = identity(model)
        shape: dict[str, Any] = {"ranks": (spec.rank,), "layers": spec.layers}
        if known:
            shape = _shape(spec, model)
        for prefix, control in (("", False), *(((CONTROL, True),) if spec.controls else ())):
            tasks.append(
                Task.of(
                    prefix + model, train_probes, group=model,
                    model=model, model_identity=known, control=control, **shape, **common,
                )
            )  # fmt: skip
    return tasks


def collect(spec: ProbeSpec, outputs: Outputs, treebank: Treebank | None = None) -> ProbeResult:
    """Tables, headline, notices and methods from the tasks' outputs.

    Returns:
        A result with the tables `scores` (model, layer, probe, metric, value, low, high; UUAS and root accuracy in
        percent) and `differences` (model, base, layer, metric, difference, low, high; on the same resamples).
    """
    treebank = treebank or read_treebank(spec)
    lengths = np.array([len(tree.words) for tree in treebank.parts["test"]])
    weights = draw_weights(len(lengths), spec.draws, spec.seed)
    values = outputs.values
    models = [ref for ref in spec.probed if ref in values]
    real = {ref: values[ref] for ref in models}
    controls = {ref: values[CONTROL + ref] for ref in models if CONTROL + ref in values}
    table = make_table(real, controls, values.get(BASELINES), values.get(PARSER), lengths, weights, spec)
    tables = {"scores": table, "differences": difference_rows(real, spec.models[0], lengths, weights)}
    read = treebank.notices + tuple(note for value in values.values() for note in _notes(value))
    return ProbeResult(
        study="probe",
        spec=spec.plain(),
        headline=make_headline(table, tables["differences"], spec, parsed=treebank.parsed),
        tables=tables,
        notices=tuple(dict.fromkeys((*make_notices(table, tables["differences"], spec), *read, *_ranks(spec, real)))),
        failures=dict(outputs.failures),
        provenance=provenance(tuple(models), treebank.corpus),
        methods=make_methods(spec, treebank),
        citations=CITATIONS,
        probes={ref: _model_probes(value) for ref, value in real.items()},
        test=treebank.parts["test"],
        parsed=treebank.parsed,
        pipeline=spec.pipeline,
    )


def run_study(spec: ProbeSpec, corpora: Mapping[str, Corpus] | None = None, **options: Any) -> ProbeResult:
    """Read, plan, run and collect.

    Args:
        spec: The study.
        corpora: Corpora already read (an upload), by CorpusRef.
        options: For `core.runs.runner.run`: store, executor, progress, cancel.
    """
    treebank = read_treebank(spec, corpora)
    return collect(spec, run(plan(spec, treebank), **options), treebank)


def as_arguments(trees: Sequence[Tree]) -> dict[str, Any]:
    """Sentences as a task's arguments."""
    return {
        "words": tuple(tree.words for tree in trees),
        "heads": tuple(tree.heads for tree in trees),
        "keep": tuple(tree.keep for tree in trees),
    }


def _shape(spec: ProbeSpec, model: str) -> dict[str, tuple[int, ...]]:
    """Rank and layers as far as the model has them."""
    info = describe(model)
    layers = tuple(layer for layer in spec.layers if layer <= info.layers)
    if spec.layers and not layers:
        raise SpecError(f"{model} has layers 0 to {info.layers}; layers {spec.layers} are not among them.")
    return {"ranks": (min(spec.rank, info.d_model),), "layers": layers}


def _ranks(spec: ProbeSpec, real: Mapping[str, Value]) -> list[str]:
    """A notice for each model that is smaller than the rank asked for."""
    ranks = {ref: int(np.max(value["ranks"])) for ref, value in real.items()}
    return [f"{ref} has {r} dimensions: its probes have rank {r}." for ref, r in ranks.items() if r < spec.rank]


def _parser_task(spec: ProbeSpec, treebank: Treebank) -> list[Task]:
    """Score the parser on the test sentences if they have gold heads, else on the box's hand-checked ones."""
    from core.text.parsing import pipeline_fingerprint

    trees = list(treebank.parts["test"])
    if treebank.gold_heads is not None:
        trees = [Tree(t.words, gold, t.keep) for t, gold in zip(trees, treebank.gold_heads, strict=True)]
    try:
        known = pipeline_fingerprint(spec.pipeline)
        if treebank.parsed and treebank.gold_heads is None:
            trees = [as_tree(sentence) for sentence in read_corpus("demo-gold").sentences]
    except (ModelError, CorpusError):
        return []  # without a parser or anything to hold it against there is no row for it; see `make_notices`
    arguments = as_arguments(trees)
    return [Task.of(PARSER, score_parser, pipeline=spec.pipeline, pipeline_identity=known, **arguments)]


def _notes(value: Value) -> list[str]:
    notices = value.get("notices", [])
    return [str(note) for note in notices] if isinstance(notices, list) else []


def _model_probes(value: Value) -> ModelProbes:
    uuas = None
    if "hits" in value:
        edges = np.asarray(value["edges"], dtype=np.float64)
        uuas = np.divide(value["hits"], edges, out=np.full(np.shape(value["hits"]), np.nan), where=edges > 0)
    return ModelProbes(
        layers=tuple(int(layer) for layer in value["layers"]),
        distance_maps=value.get("distance_maps"),
        depth_maps=value.get("depth_maps"),
        uuas=uuas,
        heads=value.get("heads"),
    )
