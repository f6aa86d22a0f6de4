"""The RSA study: which layers does fine-tuning change, and how much?

prepare: the texts are read, the models asked for. plan: one task for each compared model, one for each reference
model, and on request one for each layer-by-layer grid and for each model on a second corpus. collect: tidy tables, a
headline and a methods paragraph.

Reference:
    Merchant et al. 2020, BlackboxNLP, What Happens To BERT Embeddings During Fine-tuning?
Deviations: any of eight measures; bands, nulls and references are added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.models import parse_ref, zoo_folder, zoo_models
from core.models.identity import identities, identity_tasks
from core.results.export import Result, provenance
from core.results.names import corpus_name, short_name
from core.rsa.charts import figures
from core.rsa.headline import make_headline, make_methods
from core.rsa.measures import MEASURES
from core.rsa.spec import RsaSpec
from core.rsa.tasks import compare_layers, compare_models
from core.runs.runner import Outputs, Task, run_stages
from core.runs.store import Value
from core.text.corpora import Corpus
from core.text.reading import Text, text_task
from core.vectors.pairs import Kept, Words, sample_words

if TYPE_CHECKING:
    import pandas as pd

Spec = RsaSpec
__all__ = ["Spec", "collect", "figures", "plan", "prepare", "run_study"]
COLUMNS = ("model", "layer", "similarity", "low", "high", "null_low", "null_high")
MOSTLY_NULL = 0.5
FEW_SENTENCES = 30  # below, bands cover less than they say: benchmarks/coverage.txt
CITATIONS = (
    "Merchant, Rahimtoroghi, Pavlick & Tenney 2020. What Happens To BERT Embeddings During Fine-tuning? BlackboxNLP.",
    "Kriegeskorte, Mur & Bandettini 2008. Representational similarity analysis. Frontiers in Systems Neuroscience.",
)


def prepare(spec: RsaSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read the texts, ask what the models are.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.
    """
    tasks = [text_task(spec.corpus, spec.genres, spec.sentences, texts)]
    if spec.second_corpus:
        tasks.append(text_task(*spec.second_corpus, spec.sentences, texts, role="second text"))
    return tasks + identity_tasks((spec.base, *spec.compare, *find_references(spec)))


def plan(spec: RsaSpec, ready: Outputs) -> list[Task]:
    """The tasks of a study, from what its first stage brought. A model that could not be found has none.

    Raises:
        ModelError: If the base model could not be found.
        CorpusError: If a text could not be read.
    """
    known = {ref: found.content for ref, found in identities(ready).items()}
    base = ready.need(("identity", spec.base)).content
    first = _choose_items(spec, ready.need("text"))
    second = _choose_items(spec, ready.need("second text")) if spec.second_corpus else first

    def task(part: str, model: str) -> Task:
        words, positions = second if part == "against" else first
        function = compare_layers if part == "grid" else compare_models
        more: dict[str, Any] = {} if part == "grid" else {"draws": spec.draws, "seed": spec.seed}
        return Task.of(
            model if part == "model" else f"{part}: {model}",
            function,
            role=(part, model),
            group=spec.base,
            base=spec.base,
            other=model,
            base_identity=base,
            other_identity=known[model],
            sentences=words,
            kept=positions,
            items=spec.items,
            measure=spec.measure,
            kernel=spec.kernel if spec.measure == "rsa" else "cosine",
            comparison=spec.comparison if spec.measure == "rsa" else "pearson",
            standardise=spec.standardise,
            drop_rogue=spec.drop_rogue,
            **more,
        )

    compared = [ref for ref in spec.compare if ref in known]
    tasks = [task("model", ref) for ref in compared]
    tasks += [task("reference", ref) for ref in find_references(spec) if ref in known]
    tasks += [task("grid", ref) for ref in compared if spec.grid]
    return tasks + [task("against", ref) for ref in compared if spec.second_corpus]


def collect(spec: RsaSpec, ready: Outputs, outputs: Outputs) -> Result:
    """Tables, headline, notices and methods from the tasks' outputs.

    Returns:
        A result with the tables `similarity` (COLUMNS), `references` (the same; where asked for), `grid` (model,
        base_layer, layer, similarity; where asked for) and `domains` (corpus and COLUMNS; with a second corpus).
    """
    import pandas as pd

    corpus: Corpus = ready.values["text"]
    values = outputs.values
    models = [ref for ref in spec.compare if ("model", ref) in values]
    references = [ref for ref in find_references(spec) if ("reference", ref) in values]
    tables = {"similarity": _rows({ref: values["model", ref] for ref in models})}
    if spec.references:
        tables["references"] = _rows({ref: values["reference", ref] for ref in references})
    if spec.grid:
        tables["grid"] = _grid_rows({ref: values["grid", ref] for ref in models if ("grid", ref) in values})
    notices = list(corpus.notices)
    if spec.second_corpus:
        notices += [notice for notice in ready.values["second text"].notices if notice not in notices]
        there = {ref: values["against", ref] for ref in models if ("against", ref) in values}
        here = tables["similarity"].assign(corpus=corpus_name(spec.corpus, spec.genres))
        away = _rows(there).assign(corpus=corpus_name(*spec.second_corpus))
        tables["domains"] = pd.concat([here, away], ignore_index=True)[["corpus", *COLUMNS]]
    notices += [notice for notice in _notices(spec, values) if notice not in notices]
    first = values["model", models[0]] if models else {"items": 0, "sentences": 0}
    return Result(
        study="rsa",
        spec=spec.plain(),
        headline=make_headline(tables["similarity"], tables.get("references", _rows({})), spec.measure, spec.base),
        tables=tables,
        notices=tuple(notices),
        failures={**ready.failures, **outputs.failures},
        provenance=provenance(tuple(dict.fromkeys((spec.base, *models, *references))), corpus),
        methods=make_methods(spec, int(first["items"]), int(first["sentences"])),
        citations=(*CITATIONS, MEASURES[spec.measure].reference),
    )


def run_study(spec: RsaSpec, texts: Mapping[str, Text] | None = None, **options: Any) -> Result:
    """Prepare, plan, run and collect.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.
        options: For `core.runs.runner.run_stages`: store, executor, progress, cancel.
    """
    ready, outputs = run_stages(prepare(spec, texts), lambda ready: plan(spec, ready), **options)
    return collect(spec, ready, outputs)


def find_references(spec: RsaSpec) -> tuple[str, ...]:
    """References that the base is compared with for scale: another pretraining seed of the box, and random weights.

    The other seed is there when the base is `zoo:seed-N`: the lowest-numbered other one that is not compared anyway.
    """
    if not spec.references:
        return ()
    ref = parse_ref(spec.base)
    found: list[str] = []
    if ref.kind == "zoo" and not ref.random and _seed_number(ref.name) is not None:
        names = [str(entry.get("name", "")) for entry in zoo_models()]
        names = names or [path.name for path in (zoo_folder() / "models").glob("seed-*")]
        others = {seed: name for name in names if (seed := _seed_number(name)) is not None and name != ref.name}
        found += [f"zoo:{others[min(others)]}"] if others else []
    if not ref.random:
        found.append(f"random:{spec.base}")
    return tuple(found)


def _seed_number(name: str) -> int | None:
    match = re.fullmatch(r"seed-(\d+)", name)
    return int(match[1]) if match else None


def _choose_items(spec: RsaSpec, corpus: Corpus) -> tuple[Words, Kept]:
    """The sentences that hold items and, for words, the positions of the sampled ones."""
    text = corpus.words
    if spec.items != "words":
        return text, ()
    used, kept = sample_words(text, spec.words, np.random.default_rng(spec.seed), once=spec.one_per_word)
    return tuple(text[number] for number in used), kept


def _rows(values: Mapping[str, Value]) -> pd.DataFrame:
    """One row a model and layer."""
    import pandas as pd

    frames = [
        pd.DataFrame({"model": ref, "layer": np.arange(len(value["similarity"])), **{c: value[c] for c in COLUMNS[2:]}})
        for ref, value in values.items()
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def _grid_rows(grids: Mapping[str, Value]) -> pd.DataFrame:
    """One row a model, layer of the base and layer of the model."""
    import pandas as pd

    frames = []
    for ref, value in grids.items():
        matrix = np.asarray(value["similarity"])
        rows, columns = np.indices(matrix.shape)
        cells = {"base_layer": rows.ravel(), "layer": columns.ravel(), "similarity": matrix.ravel()}
        frames.append(pd.DataFrame({"model": ref, **cells}))
    empty = pd.DataFrame(columns=["model", "base_layer", "layer", "similarity"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def _notices(spec: RsaSpec, values: Mapping[tuple[str, str], Value]) -> list[str]:
    """What a reader of the numbers must see: items left out, measures that are mostly null, undefined layers."""
    notices = [notice for value in values.values() for notice in value["notices"]]
    label = MEASURES[spec.measure].label
    scored = {role: value for role, value in values.items() if "low" in value}
    for value in scored.values():
        items, width = int(value["items"]), int(value["d_model"])
        if MEASURES[spec.measure].canonical and items <= width:
            notices.append(
                f"{items:,} items are no more than {width:,} dimensions: {label} of any two spaces is then near 1, and "
                "these numbers say nothing. Sample more words, or choose RSA or debiased CKA."
            )
        elif np.nanmax(np.append(value["null_high"], -1.0)) > MOSTLY_NULL:
            notices.append(
                f"{label} of sentences paired at random is up to {np.nanmax(value['null_high']):.2f} here: read each curve "
                "against the grey band, sample more words, or choose RSA or debiased CKA."
            )
        sentences = int(value["sentences"])
        if sentences < 2:
            notices.append("There is only one sentence, so there is no band: it comes from resampling sentences.")
        elif sentences < FEW_SENTENCES:
            notices.append(
                f"With {sentences} sentences the bands are too narrow: a 95 % band from fewer than {FEW_SENTENCES} holds "
                "the truth less often than it says. Read more sentences."
            )
    for (_, model), value in scored.items():
        flat = np.flatnonzero(np.isnan(value["similarity"])).tolist()
        if flat:
            layers = ", ".join(str(layer) for layer in flat)
            notices.append(f"{short_name(model)}: the items do not vary at layer {layers}: no similarity.")
    return list(dict.fromkeys(notices))
