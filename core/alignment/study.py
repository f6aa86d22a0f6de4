"""The seed-alignment study: do two models learn the same space up to a bijection?

plan: for every ordered pair of models one task for all closed-form maps and one for each network (they take their
time), and one for the layer-by-layer map of the first pair. collect: tidy tables, bands over models and sentences, a
headline that says whether the invertible network beats least squares here, and a methods paragraph.

Reference: arXiv 2305.14555, *All Roads Lead to Rome?*. Deviations, and why: see `METHOD_NOTE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.alignment.headline import make_headline, make_methods
from core.alignment.protocol import bootstrap_pairs, pooled_nmse
from core.alignment.registry import METHODS
from core.alignment.spec import AlignSpec
from core.alignment.tasks import align_layers, align_pair
from core.results.export import Result, provenance
from core.runs.runner import Outputs, Task, run
from core.runs.store import Value
from core.statistics import interval
from core.text.corpora import Corpus, read_corpus
from core.vectors.pairs import identity

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("source", "target", "layer", "method", "split", "nmse", "l2", "r2", "retrieval", "inverse_error")
CITATIONS = (
    "All Roads Lead to Rome? Exploring the Invariance of Transformers' Representations. arXiv 2305.14555.",
    "Dinh, Sohl-Dickstein & Bengio 2017. Density estimation using Real NVP. ICLR.",
    "Schönemann 1966. A generalized solution of the orthogonal Procrustes problem. Psychometrika.",
    "Raghu et al. 2017. SVCCA. NeurIPS. Morcos, Raghu & Bengio 2018. Insights on representational similarity. NeurIPS.",
)
METHOD_NOTE = (
    "The code that was released with the paper pairs unrelated sentences, keeps dropout on, averages over padding, "
    "shares one map over all layers and trains at a learning rate of 1e-6. Here both models read the same sentences in "
    "evaluation mode, only words count, every layer has a map of its own, and every number is of held-out sentences."
)


def plan(spec: AlignSpec, corpora: Mapping[str, Corpus] | None = None) -> list[Task]:
    """The tasks of a study.

    Args:
        spec: The study.
        corpora: Corpora already read (an upload), by CorpusRef; the others are read here.

    Raises:
        CorpusError: If the corpus cannot be read. A model that cannot be found fails in its own tasks.
    """
    sentences = _corpus(spec, corpora).words
    identities = {ref: identity(ref) for refs in spec.groups.values() for ref in refs}
    closed = tuple(name for name in spec.methods if METHODS[name].kind != "network")
    networks = [(name,) for name in spec.methods if METHODS[name].kind == "network"]
    tasks = []
    for group, source, target in spec.pairs():
        common: dict[str, Any] = {
            "source": source,
            "target": target,
            "source_identity": identities[source],
            "target_identity": identities[target],
            "sentences": sentences,
            "items": spec.items,
            "seed": spec.seed,
        }
        for methods in [closed, *networks] if closed else networks:
            name = _name(group, source, target, "closed forms" if methods == closed else methods[0])
            arguments = {**common, "methods": methods, "layers": spec.layers}
            tasks.append(Task.of(name, align_pair, group=target, **arguments))
        if spec.grid and (group, source, target) == spec.pairs()[0]:
            name = _name(group, source, target, "layers")
            tasks.append(Task.of(name, align_layers, group=target, **common, method=spec.grid))
    return tasks


def collect(spec: AlignSpec, outputs: Outputs, corpora: Mapping[str, Corpus] | None = None) -> Result:
    """Tables, headline, notices and methods from the tasks' outputs.

    Returns:
        A result with the tables `alignment` (COLUMNS), `layers` (group, method, layer, nmse, low, high), `methods`
        (group, method, nmse, low, high over all layers), and where there are any `curves` (source, target, method,
        layer, step, training, validation) and `grid` (source_layer, target_layer, nmse). Arrays hold the points of
        the pictures, by `group|source|target|method|what`.
    """
    import pandas as pd

    parts = {name: _parse(name) for name in outputs.values}
    pairs = {name: part for name, part in parts.items() if part[3] != "layers"}
    rows, curves, notices = [], [], []
    arrays: dict[str, np.ndarray] = {}
    noise: dict[tuple[str, str], dict[tuple[str, str], Value]] = {}
    for name, (group, source, target, _) in pairs.items():
        value = outputs.values[name]
        notices += value["notices"]
        if value["d_source"] >= value["rows"]:
            notices.append(
                f"{value['rows']} training rows are no more than {value['d_source']} dimensions: least squares and CCA "
                "fit them exactly and mean nothing on held-out rows. Use more sentences, or read ridge and Procrustes."
            )
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(f"{source} to {target}: {value[f'{method}/refused']}")
            if f"{method}/nmse" not in value:
                continue
            rows.append(_rows(value, method, source, target))
            noise.setdefault((group, method), {})[source, target] = value
            if f"{method}/steps" in value:
                curves.append(_curves(value, method, source, target))
            arrays |= _points(value, method, f"{group}|{source}|{target}|{method}")
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(COLUMNS))
    tables = {"alignment": table}
    tables["layers"], tables["methods"], tables["differences"] = _bands(spec, noise)
    if curves:
        tables["curves"] = pd.concat(curves, ignore_index=True)
    grid = next((outputs.values[name] for name, part in parts.items() if part[3] == "layers"), None)
    if grid is not None:
        source_layer, target_layer = np.indices(grid["nmse"].shape)
        cells = {
            "source_layer": source_layer.ravel(),
            "target_layer": target_layer.ravel(),
            "nmse": grid["nmse"].ravel(),
        }
        tables["grid"] = pd.DataFrame(cells)
    corpus = _corpus(spec, corpora)
    found = tuple(dict.fromkeys(ref for _, source, target, _ in pairs.values() for ref in (source, target)))
    return Result(
        study="align",
        spec=spec.plain(),
        headline=make_headline(tables["methods"], tables["layers"], tables["differences"], bool(spec.against)),
        tables=tables,
        arrays=arrays,
        notices=tuple(dict.fromkeys([*corpus.notices, *notices])),
        failures=dict(outputs.failures),
        provenance=provenance(found, corpus),
        methods=make_methods(spec, len(corpus.sentences)),
        citations=CITATIONS,
    )


def run_study(spec: AlignSpec, corpora: Mapping[str, Corpus] | None = None, **options: Any) -> Result:
    """Plan, run and collect.

    Args:
        spec: The study.
        corpora: Corpora already read, by CorpusRef.
        options: For `core.runs.runner.run`: store, executor, progress, cancel.
    """
    return collect(spec, run(plan(spec, corpora), **options), corpora)


def _name(group: str, source: str, target: str, part: str) -> str:
    return f"{group}: {source} → {target}: {part}"


def _parse(name: str) -> tuple[str, str, str, str]:
    """(group, source, target, part) of a task's name; a folder's name may hold ': ', the ends do not."""
    group, _, rest = name.partition(": ")
    pair, _, part = rest.rpartition(": ")
    source, target = pair.split(" → ")
    return group, source, target, part


def _corpus(spec: AlignSpec, corpora: Mapping[str, Corpus] | None) -> Corpus:
    if corpora and spec.corpus in corpora:
        known = corpora[spec.corpus]
        chosen = [s for s in known.sentences if not spec.genres or s.genre in spec.genres][: spec.limit]
        return Corpus(known.ref, tuple(chosen), known.notices)
    return read_corpus(spec.corpus, limit=spec.limit, genres=spec.genres)


def _rows(value: Value, method: str, source: str, target: str) -> pd.DataFrame:
    import pandas as pd

    frames = []
    for place, split in enumerate(("train", "test")):
        columns = {name: value[f"{method}/{name}"][place] for name in ("nmse", "l2", "r2", "retrieval")}
        columns["inverse_error"] = value[f"{method}/inverse"][place]
        frames.append(pd.DataFrame({"layer": value["layers"], "split": split, **columns}))
    return pd.concat(frames).assign(source=source, target=target, method=method)[list(COLUMNS)]


def _curves(value: Value, method: str, source: str, target: str) -> pd.DataFrame:
    import pandas as pd

    check, place = np.indices(value[f"{method}/validation"].shape)
    return pd.DataFrame(
        {
            "source": source,
            "target": target,
            "method": method,
            "layer": value["layers"][place.ravel()],
            "step": value[f"{method}/steps"][check.ravel()],
            "training": value[f"{method}/training"].ravel(),
            "validation": value[f"{method}/validation"].ravel(),
        }
    )


def _points(value: Value, method: str, name: str) -> dict[str, np.ndarray]:
    points = {f"{name}|mapped": value[f"{method}/mapped"], f"{name}|target": value["target_points"]}
    if "source_points" in value:
        points[f"{name}|source"] = value["source_points"]
    return points


def _bands(spec: AlignSpec, noise: Mapping) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Errors with bands by layer and over all layers, and differences between methods and groups, same draws.

    Draws depend on the seed and on the pairs only, so two methods on the same pairs are resampled together, and
    their difference has a band of its own, narrower than the bands suggest.
    """
    import pandas as pd

    by_layer, overall, drawn = [], [], {}
    for (group, method), by_pair in noise.items():
        ends, refs = list(by_pair), spec.groups[group]
        places = [(refs.index(source), refs.index(target)) for source, target in ends]
        error = np.stack([by_pair[end][f"{method}/error"] for end in ends])
        spread = np.stack([by_pair[end][f"{method}/spread"] for end in ends])
        point = pooled_nmse(error, spread, np.ones(len(ends)), np.ones(error.shape[-1]))
        draws = bootstrap_pairs(error, spread, places, spec.draws, np.random.default_rng(spec.seed))
        low, high = interval(draws)
        layers = by_pair[ends[0]]["layers"]
        columns = {"layer": layers, "nmse": point, "low": low, "high": high}
        by_layer.append(pd.DataFrame({"group": group, "method": method, **columns}))
        ends_of_band = dict(zip(("low", "high"), map(float, interval(draws.mean(1))), strict=True))
        overall.append({"group": group, "method": method, "nmse": point.mean(), **ends_of_band})
        drawn[group, method] = (tuple(ends), float(point.mean()), draws.mean(1))
    differences = []
    for first, second in _contrasts(drawn):
        (pairs, one, draws_one), (other_pairs, two, draws_two) = drawn[first], drawn[second]
        if first[0] == second[0] and pairs != other_pairs:
            continue  # one of them failed on some pairs: not the same draws
        ends_of_band = dict(zip(("low", "high"), map(float, interval(draws_one - draws_two)), strict=True))
        contrast = {"group": first[0], "method": first[1], "other_group": second[0], "other_method": second[1]}
        differences.append({**contrast, "difference": one - two, **ends_of_band})
    empty = ["group", "method", "nmse", "low", "high"]
    layer_table = pd.concat(by_layer, ignore_index=True) if by_layer else pd.DataFrame(columns=[*empty, "layer"])
    names = ["group", "method", "other_group", "other_method", "difference", "low", "high"]
    overall.sort(key=lambda row: (list(spec.groups).index(row["group"]), row["nmse"]))
    return layer_table, pd.DataFrame(overall, columns=empty), pd.DataFrame(differences, columns=names)


def _contrasts(drawn: Mapping[tuple[str, str], object]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Every method against least squares and against ridge in its group, and every method between the groups."""
    inside = [
        ((group, method), (group, other))
        for other in ("ols", "ridge")
        for group, method in drawn
        if method != other and (group, other) in drawn
    ]
    across = [(("against", m), ("models", m)) for group, m in drawn if group == "against" and ("models", m) in drawn]
    return inside + across
