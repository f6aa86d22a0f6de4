"""The RSA study: which layers does fine-tuning change, and how much?

plan: one task for each compared model, one for each yardstick, and on request one for each layer-by-layer grid and
for each model on a second corpus. collect: tidy tables, a headline and a methods paragraph.

Reference:
    Merchant et al. 2020, BlackboxNLP, What Happens To BERT Embeddings During Fine-tuning?
Deviations: any of eight measures; bands, nulls and yardsticks are added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import CorpusError
from core.models import fingerprint, parse_ref, tokenizer_fingerprint, zoo_folder, zoo_models
from core.results.export import Result, provenance
from core.rsa.headline import make_headline, make_methods
from core.rsa.measures import MEASURES
from core.rsa.spec import RsaSpec, corpus_name, short_name
from core.rsa.tasks import compare_layers, compare_models
from core.runs.runner import Outputs, Task, run
from core.runs.store import Value
from core.text.corpora import Corpus, read_corpus
from core.vectors.pairs import Kept, Words, identity, sample_words

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("model", "layer", "similarity", "low", "high", "null_low", "null_high")
MOSTLY_NULL = 0.5
CITATIONS = (
    "Merchant, Rahimtoroghi, Pavlick & Tenney 2020. What Happens To BERT Embeddings During Fine-tuning? BlackboxNLP.",
    "Kriegeskorte, Mur & Bandettini 2008. Representational similarity analysis. Frontiers in Systems Neuroscience.",
)


def plan(spec: RsaSpec, corpora: Mapping[str, Corpus] | None = None) -> list[Task]:
    """The tasks of a study; nothing is run or downloaded but what is needed to name the models' content.

    Args:
        spec: The study.
        corpora: Corpora already read (an upload), by CorpusRef; the others are read here.

    Raises:
        ModelError: If the base model cannot be found. Another model that cannot fails in its own task.
        CorpusError: If a corpus cannot be read.
    """
    first = _choose_items(spec, _corpus(spec, corpora))
    second = _choose_items(spec, _corpus(spec, corpora, second=True)) if spec.second_corpus else first
    identities = {ref: identity(ref) for ref in (*spec.compare, *find_yardsticks(spec))}
    identities[spec.base] = f"{fingerprint(spec.base)} {tokenizer_fingerprint(spec.base)}"

    def arguments(model: str, words: Words, positions: Kept) -> dict[str, Any]:
        return {
            "base": spec.base,
            "other": model,
            "base_identity": identities[spec.base],
            "other_identity": identities[model],
            "sentences": words,
            "kept": positions,
            "items": spec.items,
            "measure": spec.measure,
            "kernel": spec.kernel if spec.measure == "rsa" else "cosine",
            "comparison": spec.comparison if spec.measure == "rsa" else "pearson",
            "standardise": spec.standardise,
            "drop_rogue": spec.drop_rogue,
        }

    def task(part: str, model: str) -> Task:
        words, positions = second if part == "against" else first
        function, more = (compare_layers, {}) if part == "grid" else (compare_models, noise)
        options = {**arguments(model, words, positions), **more}
        return Task.of(_task_name(part, model), function, group=spec.base, **options)

    noise = {"draws": spec.draws, "seed": spec.seed}
    tasks = [task("model", model) for model in spec.compare]
    tasks += [task("yardstick", model) for model in find_yardsticks(spec)]
    tasks += [task("grid", model) for model in spec.compare if spec.grid]
    return tasks + [task("against", model) for model in spec.compare if spec.second_corpus]


def collect(spec: RsaSpec, outputs: Outputs, corpora: Mapping[str, Corpus] | None = None) -> Result:
    """Tables, headline, notices and methods from the tasks' outputs.

    Returns:
        A result with the tables `similarity` (COLUMNS), `yardsticks` (the same; where asked for), `grid` (model,
        base_layer, layer, similarity; where asked for) and `domains` (corpus and COLUMNS; with a second corpus).
    """
    import pandas as pd

    corpus = _corpus(spec, corpora)
    values = outputs.values
    models = [ref for ref in spec.compare if ref in values]
    yardsticks = [ref for ref in find_yardsticks(spec) if _task_name("yardstick", ref) in values]
    tables = {"similarity": _rows({ref: values[ref] for ref in models})}
    if spec.yardsticks:
        tables["yardsticks"] = _rows({ref: values[_task_name("yardstick", ref)] for ref in yardsticks})
    arrays = {}
    if spec.grid:
        arrays = {
            f"grid {ref}": np.asarray(values[name]["similarity"])
            for ref in spec.compare
            if (name := _task_name("grid", ref)) in values
        }
        tables["grid"] = _grid_rows({name.removeprefix("grid "): matrix for name, matrix in arrays.items()})
    notices = list(corpus.notices)
    if spec.second_corpus:
        second = _corpus(spec, corpora, second=True)
        notices += [notice for notice in second.notices if notice not in notices]
        there = {ref: values[name] for ref in spec.compare if (name := _task_name("against", ref)) in values}
        here = tables["similarity"].assign(corpus=corpus_name(spec.corpus, spec.genres))
        away = _rows(there).assign(corpus=corpus_name(*spec.second_corpus))
        tables["domains"] = pd.concat([here, away], ignore_index=True)[["corpus", *COLUMNS]]
    notices += [notice for notice in _notices(spec, values) if notice not in notices]
    first = values[models[0]] if models else {"items": 0, "sentences": 0}
    return Result(
        study="rsa",
        spec=spec.plain(),
        headline=make_headline(tables["similarity"], tables.get("yardsticks", _rows({})), spec.measure, spec.base),
        tables=tables,
        arrays=arrays,
        notices=tuple(notices),
        failures=dict(outputs.failures),
        provenance=provenance(tuple(dict.fromkeys((spec.base, *models, *yardsticks))), corpus),
        methods=make_methods(spec, int(first["items"]), int(first["sentences"])),
        citations=(*CITATIONS, MEASURES[spec.measure].reference),
    )


def read_corpora(spec: RsaSpec, corpora: Mapping[str, Corpus] | None = None) -> dict[str, Corpus]:
    """The study's corpora, read once for `plan` and `collect`: those given (an upload), and the others from their refs.

    Args:
        spec: The study.
        corpora: Corpora already read, by CorpusRef.

    Raises:
        CorpusError: If a corpus cannot be read.
    """
    found = {corpus_name(spec.corpus, spec.genres): _corpus(spec, corpora)}
    if spec.second_corpus:
        found[corpus_name(*spec.second_corpus)] = _corpus(spec, corpora, second=True)
    return found


def run_study(spec: RsaSpec, corpora: Mapping[str, Corpus] | None = None, **options: Any) -> Result:
    """Read the corpora, plan, run and collect.

    Args:
        spec: The study.
        corpora: Corpora already read, by CorpusRef.
        options: For `core.runs.runner.run`: store, executor, progress, cancel.
    """
    texts = read_corpora(spec, corpora)
    return collect(spec, run(plan(spec, texts), **options), texts)


def find_yardsticks(spec: RsaSpec) -> tuple[str, ...]:
    """References that the base is compared with for scale: another pretraining seed of the box, and random weights.

    The other seed is there when the base is `zoo:seed-N`: the lowest-numbered other one that is not compared anyway.
    """
    if not spec.yardsticks:
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


def _task_name(part: str, model: str) -> str:
    return model if part == "model" else f"{part}: {model}"


def _seed_number(name: str) -> int | None:
    match = re.fullmatch(r"seed-(\d+)", name)
    return int(match[1]) if match else None


def _corpus(spec: RsaSpec, corpora: Mapping[str, Corpus] | None, second: bool = False) -> Corpus:
    """The first or the second corpus, its first `limit` sentences of the genres asked for."""
    ref, genres = (spec.second_corpus if second else None) or (spec.corpus, spec.genres)
    known = (corpora or {}).get(corpus_name(ref, genres)) or (corpora or {}).get(ref)
    if known is None:
        return read_corpus(ref, limit=spec.limit, genres=genres)
    chosen = tuple(sentence for sentence in known.sentences if not genres or sentence.genre in genres)[: spec.limit]
    if not chosen:
        raise CorpusError(f"{known.ref} holds no sentence of {', '.join(genres)}: choose other genres.")
    return Corpus(known.ref, chosen, known.notices)


def _choose_items(spec: RsaSpec, corpus: Corpus) -> tuple[Words, Kept]:
    """The sentences that hold items and, for words, the positions of the sampled ones."""
    text = corpus.words
    if spec.items != "words":
        return text, ()
    used, kept = sample_words(text, spec.sample, np.random.default_rng(spec.seed))
    return tuple(text[number] for number in used), kept


def _rows(values: Mapping[str, Value]) -> pd.DataFrame:
    """One row a model and layer."""
    import pandas as pd

    frames = [
        pd.DataFrame({"model": ref, "layer": np.arange(len(value["similarity"])), **{c: value[c] for c in COLUMNS[2:]}})
        for ref, value in values.items()
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def _grid_rows(grids: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """One row a model, layer of the base and layer of the model."""
    import pandas as pd

    frames = []
    for ref, matrix in grids.items():
        rows, columns = np.indices(matrix.shape)
        cells = {"base_layer": rows.ravel(), "layer": columns.ravel(), "similarity": matrix.ravel()}
        frames.append(pd.DataFrame({"model": ref, **cells}))
    empty = pd.DataFrame(columns=["model", "base_layer", "layer", "similarity"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def _notices(spec: RsaSpec, values: Mapping[str, Value]) -> list[str]:
    """What a reader of the numbers must see: items left out, measures that are mostly null, undefined layers."""
    notices = [notice for value in values.values() for notice in value["notices"]]
    label = MEASURES[spec.measure].label
    scored = {name: value for name, value in values.items() if "low" in value}
    for value in scored.values():
        items, width = int(value["items"]), int(value["d_model"])
        if MEASURES[spec.measure].canonical and items <= width:
            notices.append(
                f"{items:,} items are no more than {width:,} dimensions: {label} of any two spaces is then near 1, and "
                "these numbers say nothing. Sample more words, or choose RSA or debiased CKA."
            )
        elif np.nanmax(np.append(value["null_high"], -1.0)) > MOSTLY_NULL:
            notices.append(
                f"{label} of unrelated spaces is up to {np.nanmax(value['null_high']):.2f} here: read each curve "
                "against the grey band, sample more words, or choose RSA or debiased CKA."
            )
        if int(value["sentences"]) < 2:
            notices.append("There is only one sentence, so there is no band: it comes from resampling sentences.")
    for name, value in scored.items():
        flat = np.flatnonzero(np.isnan(value["similarity"])).tolist()
        if flat:
            layers = ", ".join(str(layer) for layer in flat)
            notices.append(
                f"{short_name(name.split(': ')[-1])}: the items do not vary at layer {layers}: no similarity."
            )
    return list(dict.fromkeys(notices))
