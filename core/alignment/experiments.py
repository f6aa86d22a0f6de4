"""Two experiments beside the main study: the bijection check, and stitching one model's lower half to another's upper.

Both are a plan of pure tasks and a collect, like the main study; see `check` and `stitching` for what is measured.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.alignment.check import BLOCKS, check_bijection
from core.alignment.registry import METHODS
from core.alignment.spec import AlignSpec
from core.alignment.stitching import Labelled, stitch_pair
from core.alignment.study import CITATIONS
from core.errors import CorpusError
from core.models import parse_ref, zoo_folder
from core.results.export import Result, provenance
from core.runs.runner import Outputs, Task
from core.statistics import interval, sentence_counts
from core.text.corpora import read_corpus
from core.vectors.pairs import identity

if TYPE_CHECKING:
    import pandas as pd

CHECKED_LAYER = 3
CHECKED = ("identity", "procrustes", "ols", "ridge", "cca", "inn", "mlp")
STITCHED = ("identity", "shuffled", "procrustes", "ols", "ridge", "cca", "inn")
LABELLED_FILE = "corpus/demo-sentiment.tsv"


@dataclass(frozen=True)
class CheckSpec:
    """A bijection check: which model's states, at which layer, bent by how many blocks, undone by which methods."""

    model: str
    layer: int = CHECKED_LAYER
    blocks: tuple[int, ...] = BLOCKS
    methods: tuple[str, ...] = CHECKED
    corpus: str = "demo"
    items: str = "words"
    limit: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", str(parse_ref(self.model)))
        # The rules for methods, items and sizes are those of the main study.
        AlignSpec((self.model, f"random:{self.model}"), methods=self.methods, items=self.items, limit=self.limit)


@dataclass(frozen=True)
class StitchSpec:
    """Stitching: models with one task's head, every ordered pair, and each stitched into itself as a check."""

    models: tuple[str, ...]
    methods: tuple[str, ...] = STITCHED
    corpus: str = "demo"
    labelled: str = ""
    limit: int = 300
    draws: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        checked = AlignSpec(self.models, methods=self.methods, limit=self.limit, draws=self.draws)
        object.__setattr__(self, "models", checked.models)


def plan_check(spec: CheckSpec) -> list[Task]:
    """One task a number of blocks."""
    sentences = read_corpus(spec.corpus, limit=spec.limit).words
    common: dict[str, Any] = {
        "model": spec.model,
        "identity": identity(spec.model),
        "sentences": sentences,
        "items": spec.items,
        "layer": spec.layer,
        "methods": spec.methods,
        "seed": spec.seed,
    }
    return [
        Task.of(f"{blocks} blocks", check_bijection, group=spec.model, **common, blocks=blocks)
        for blocks in spec.blocks
    ]


def collect_check(spec: CheckSpec, outputs: Outputs) -> Result:
    """The table `check` (method, blocks, nmse, inverse_error) and its headline."""
    import pandas as pd

    rows, notices = [], []
    for blocks in spec.blocks:
        value = outputs.values.get(f"{blocks} blocks")
        if value is None:
            continue
        notices += value["notices"]
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(value[f"{method}/refused"])
            if f"{method}/nmse" in value:
                inverse = value.get(f"{method}/inverse", float("nan"))
                nmse = value[f"{method}/nmse"]
                rows.append({"method": method, "blocks": blocks, "nmse": nmse, "inverse_error": inverse})
    table = pd.DataFrame(rows, columns=["method", "blocks", "nmse", "inverse_error"])
    corpus = read_corpus(spec.corpus, limit=spec.limit)
    return Result(
        study="align check",
        spec=asdict(spec),
        headline=_check_headline(table),
        tables={"check": table},
        notices=tuple(dict.fromkeys(notices)),
        failures=dict(outputs.failures),
        provenance=provenance((spec.model,), corpus),
        methods=(
            f"States of {spec.model} at layer {spec.layer} were centred, scaled, rotated and sent through a random "
            "invertible network of affine coupling blocks; each method was fitted to undo it on training sentences and "
            "scored on held-out ones. The truth is a bijection, so what is left is the method's own error."
        ),
        citations=CITATIONS,
    )


def plan_stitch(spec: StitchSpec) -> list[Task]:
    """One task an ordered pair, and one for each model with itself.

    Raises:
        CorpusError: If the labelled sentences cannot be read.
    """
    sentences = read_corpus(spec.corpus, limit=spec.limit).words
    labelled = read_labelled(spec.labelled)
    identities = {ref: identity(ref) for ref in spec.models}
    pairs = [*((ref, ref) for ref in spec.models), *permutations(spec.models, 2)]
    return [
        Task.of(
            f"{source} → {target}",
            stitch_pair,
            group=target,
            source=source,
            target=target,
            source_identity=identities[source],
            target_identity=identities[target],
            sentences=sentences,
            labelled=labelled,
            methods=spec.methods,
            seed=spec.seed,
        )
        for source, target in pairs
    ]


def collect_stitch(spec: StitchSpec, outputs: Outputs) -> Result:
    """The tables `stitching` (source, target, layer, method, accuracy, band) and `own` (model, accuracy, band)."""
    import pandas as pd

    rows, own, notices = [], {}, []
    for name, value in outputs.values.items():
        source, target = name.split(" → ")
        counts = sentence_counts(len(value["own_target"]), spec.draws, np.random.default_rng(spec.seed))
        for ref, what in ((source, "own_source"), (target, "own_target")):
            own[ref] = {"model": ref, **_accuracy(value[what][None], counts).iloc[0].to_dict()}
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(f"{name}: {value[f'{method}/refused']}")
            if f"{method}/correct" in value:
                found = _accuracy(value[f"{method}/correct"], counts)
                rows.append(found.assign(source=source, target=target, method=method, layer=range(len(found))))
    columns = ["source", "target", "layer", "method", "accuracy", "low", "high"]
    table = pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)
    mine = pd.DataFrame(own.values(), columns=["model", "accuracy", "low", "high"])
    corpus = read_corpus(spec.corpus, limit=spec.limit)
    return Result(
        study="align stitch",
        spec=asdict(spec),
        headline=_stitch_headline(table, mine),
        tables={"stitching": table, "own": mine},
        notices=tuple(dict.fromkeys(notices)),
        failures=dict(outputs.failures),
        provenance=provenance(tuple(own), corpus),
        methods=(
            f"Maps between subword states were fitted on {len(corpus.sentences):,} unlabelled sentences of "
            f"{spec.corpus}, layer by layer; {len(read_labelled(spec.labelled)):,} labelled sentences then went "
            "through the source's layers up to l, the map at l, and the target's layers from l to its head. Bands "
            "are 95 % bootstrap intervals over labelled sentences."
        ),
        citations=(*CITATIONS, "Bansal, Nakkiran & Barak 2021. Revisiting model stitching. NeurIPS."),
    )


def read_labelled(path: str = "") -> Labelled:
    """(text, label) pairs from a file of `label<TAB>text` lines; the box's own sentences without a path.

    Raises:
        CorpusError: If the file is missing or a line has no tab.
    """
    file = Path(path) if path else zoo_folder() / LABELLED_FILE
    if not file.is_file():
        raise CorpusError(f"No labelled sentences at {file}; give a file of lines `label<TAB>sentence`.")
    pairs = []
    with file.open(encoding="utf8", newline="") as handle:
        for number, row in enumerate(csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE), start=1):
            if len(row) != 2:
                raise CorpusError(
                    f"{file.name}, line {number}: expected `label<TAB>sentence`, found {len(row)} columns."
                )
            pairs.append((row[1], row[0]))
    if not pairs:
        raise CorpusError(f"{file.name} holds no labelled sentence.")
    return tuple(pairs)


def _accuracy(correct: np.ndarray, counts: np.ndarray) -> pd.DataFrame:
    """accuracy, low, high of each row of `correct` (layer, text) under bootstrap counts (draw, text)."""
    import pandas as pd

    correct = correct.astype(np.float64)
    low, high = interval(counts @ correct.T / correct.shape[1])
    return pd.DataFrame({"accuracy": correct.mean(1), "low": low, "high": high})


def _check_headline(table: pd.DataFrame) -> str:
    if table.empty:
        return "The check could not be run; the reasons are below."
    most = table[table["blocks"] == table["blocks"].max()].sort_values("nmse")
    best = most.iloc[0]
    count = int(best["blocks"])
    text = f"{METHODS[best['method']].label} undoes a bijection of {count} blocks best (error {best['nmse']:.3f})"
    by_method: Mapping[str, Any] = most.set_index("method")["nmse"].to_dict()
    if {"inn", "ols"} <= by_method.keys():
        ratio = by_method["ols"] / max(by_method["inn"], 1e-12)
        verb = f"leaves {ratio:.1f} times less error than" if ratio > 1 else "leaves no less error than"
        text += f"; the invertible network {verb} least squares ({by_method['inn']:.3f} and {by_method['ols']:.3f})"
    return _upper(text) + "."


def _stitch_headline(table: pd.DataFrame, own: pd.DataFrame) -> str:
    across = table[table["source"] != table["target"]]
    if across.empty:
        return "No pair could be stitched; the reasons are below."
    middle = across[across["layer"] == int(across["layer"].max()) // 2].groupby("method")["accuracy"].mean()
    mapped = middle.drop([name for name in ("identity", "shuffled") if name in middle.index])
    home = float(own["accuracy"].mean())
    if mapped.empty:
        return f"The models reach {100 * home:.0f} % by themselves."
    text = (
        f"Stitched at the middle layer, models reach {100 * mapped.max():.0f} % accuracy with "
        f"{METHODS[mapped.idxmax()].label}; whole they reach {100 * home:.0f} %"
    )
    if "identity" in middle:
        text += f", and stitched without a map {100 * middle['identity']:.0f} %"
    return text + "."


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
