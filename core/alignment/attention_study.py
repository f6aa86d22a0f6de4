"""The attention experiment as a study: one task an ordered pair of models, tables of heads and of outputs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.alignment.attention import align_attention
from core.alignment.registry import METHODS
from core.alignment.spec import AlignSpec
from core.alignment.study import CITATIONS
from core.results.export import Result, provenance
from core.runs.runner import Outputs, Task
from core.statistics import interval
from core.text.corpora import read_corpus
from core.vectors.pairs import identity

if TYPE_CHECKING:
    import pandas as pd

HEAD_COLUMNS = ("source", "target", "layer", "head", "match", "correlation", "null_low", "null_high")
OUTPUT_COLUMNS = ("source", "target", "layer", "method", "nmse")
ATTENDED = ("identity", "shuffled", "procrustes", "ols", "ridge")


@dataclass(frozen=True)
class AttentionSpec:
    """Attention of every ordered pair of models."""

    models: tuple[str, ...]
    methods: tuple[str, ...] = ATTENDED
    corpus: str = "demo"
    limit: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        checked = AlignSpec(self.models, methods=self.methods, limit=self.limit)
        object.__setattr__(self, "models", checked.models)


def plan_attention(spec: AttentionSpec) -> list[Task]:
    """One task an ordered pair."""
    sentences = read_corpus(spec.corpus, limit=spec.limit).words
    identities = {ref: identity(ref) for ref in spec.models}
    return [
        Task.of(
            f"{source} → {target}",
            align_attention,
            group=target,
            source=source,
            target=target,
            source_identity=identities[source],
            target_identity=identities[target],
            sentences=sentences,
            methods=spec.methods,
            seed=spec.seed,
        )
        for _, source, target in AlignSpec(spec.models).pairs()
    ]


def collect_attention(spec: AttentionSpec, outputs: Outputs) -> Result:
    """The tables `heads` (source, target, layer, head, match, correlation, null_low, null_high) and `outputs`.

    The null is the mean correlation of heads matched at random; `outputs` has source, target, layer, method, nmse.
    """
    import pandas as pd

    heads, mapped, notices = [], [], []
    for name, value in outputs.values.items():
        source, target = name.split(" → ")
        low, high = interval(value["null"], axis=1)
        layer, head = np.indices(value["matched"].shape)
        heads.append(
            pd.DataFrame(
                {
                    "source": source,
                    "target": target,
                    "layer": layer.ravel() + 1,
                    "head": head.ravel(),
                    "match": value["match"].ravel(),
                    "correlation": value["matched"].ravel(),
                    "null_low": np.repeat(low, value["matched"].shape[1]),
                    "null_high": np.repeat(high, value["matched"].shape[1]),
                }
            )
        )
        for method in spec.methods:
            if f"{method}/refused" in value:
                notices.append(f"{name}: {value[f'{method}/refused']}")
            if f"{method}/nmse" in value:
                nmse = value[f"{method}/nmse"]
                columns = {"layer": np.arange(len(nmse)) + 1, "method": method, "nmse": nmse}
                mapped.append(pd.DataFrame({"source": source, "target": target, **columns}))
    head_table = pd.concat(heads, ignore_index=True) if heads else pd.DataFrame(columns=list(HEAD_COLUMNS))
    output_table = pd.concat(mapped, ignore_index=True) if mapped else pd.DataFrame(columns=list(OUTPUT_COLUMNS))
    corpus = read_corpus(spec.corpus, limit=spec.limit)
    return Result(
        study="align attention",
        spec=asdict(spec),
        headline=_headline(head_table, output_table),
        tables={"heads": head_table, "outputs": output_table},
        notices=tuple(dict.fromkeys(notices)),
        failures=dict(outputs.failures),
        provenance=provenance(spec.models if outputs.values else (), corpus),
        methods=(
            f"On {len(corpus.sentences):,} sentences of {spec.corpus}, each source head was matched with one target "
            "head by the Hungarian method on the correlation of their attention probabilities over training sentences; "
            "correlations shown are of held-out sentences, the null is random matching. Attention outputs (before the "
            "residual connection) of all subwords were mapped as hidden states are."
        ),
        citations=(*CITATIONS, "Kuhn 1955. The Hungarian method for the assignment problem."),
    )


def _headline(heads: pd.DataFrame, outputs: pd.DataFrame) -> str:
    if heads.empty:
        return "No pair could be compared; the reasons are below."
    by_layer = heads.groupby("layer")[["correlation", "null_high"]].mean()
    above = by_layer[by_layer["correlation"] > by_layer["null_high"]]
    best = by_layer["correlation"].idxmax()
    text = (
        f"Matched heads correlate most at layer {best} ({by_layer['correlation'][best]:.2f}, matched at random up to "
        f"{by_layer['null_high'][best]:.2f}), and more than at random at {len(above)} of {len(by_layer)} layers"
    )
    tried = outputs[[METHODS[name].kind != "control" for name in outputs["method"]]]
    if tried.empty:
        return text + "."
    means = tried.groupby("method")["nmse"].mean()
    return (
        f"{text}. Attention outputs are mapped best by {METHODS[str(means.idxmin())].label}, with a held-out error of "
        f"{means.min():.2f} on average over layers."
    )
