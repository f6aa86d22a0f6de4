"""The rank sweep: how many dimensions does syntax need? One layer, probes of rank 1, 2, 4 ... up to full, one bank.

Reference: Hewitt & Manning 2019, NAACL, section 4 and figure 6. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import SpecError
from core.models import describe
from core.probes.data import Treebank, read_treebank
from core.probes.headline import CITATIONS, make_methods
from core.probes.scores import score
from core.probes.spec import ProbeSpec, short_name
from core.probes.study import as_arguments
from core.probes.tables import as_scores, draw_weights
from core.probes.tasks import identity, train_probes
from core.results.export import Result, provenance
from core.runs.runner import Outputs, Task, run
from core.statistics import interval
from core.text.corpora import Corpus

if TYPE_CHECKING:
    import pandas as pd

SWEEP = "rank sweep: "


def sweep_ranks(d_model: int) -> tuple[int, ...]:
    """1, 2, 4 ... and full rank."""
    powers = [2**power for power in range(d_model.bit_length()) if 2**power < d_model]
    return (*powers, d_model)


def plan_sweep(spec: ProbeSpec, layers: Mapping[str, int], treebank: Treebank) -> list[Task]:
    """One task a model: a distance probe of each rank on its layer.

    Raises:
        ModelError: If a model cannot be found.
        SpecError: If a model has no such layer.
    """
    trees = [tree for part in treebank.parts.values() for tree in part]
    sizes = tuple(len(part) for part in treebank.parts.values())
    tasks = []
    for model, layer in layers.items():
        info = describe(model)
        if not 0 <= layer <= info.layers:
            raise SpecError(f"{model} has layers 0 to {info.layers}, not {layer}.")
        tasks.append(
            Task.of(
                SWEEP + model, train_probes, group=model,
                model=model, model_identity=identity(model), sizes=sizes, probes=("distance",),
                ranks=sweep_ranks(info.d_model), layers=(layer,), control=False, seed=spec.seed, epochs=spec.epochs,
                **as_arguments(trees),
            )
        )  # fmt: skip
    return tasks


def collect_sweep(spec: ProbeSpec, outputs: Outputs, treebank: Treebank) -> pd.DataFrame:
    """model, layer, rank, metric, value, low, high: UUAS in percent and DSpr., with bands."""
    import pandas as pd

    lengths = np.array([len(tree.words) for tree in treebank.parts["test"]])
    weights = draw_weights(len(lengths), spec.draws, spec.seed)
    frames = []
    for name, value in outputs.values.items():
        scores = as_scores(value, lengths)
        for metric, scale in (("uuas", 100.0), ("dspr", 1.0)):
            low, high = interval(score(scores, metric, weights) * scale)
            columns: dict[str, Any] = {"model": name.removeprefix(SWEEP), "layer": np.asarray(value["layers"])}
            columns |= {"rank": np.asarray(value["ranks"]), "metric": metric, "value": score(scores, metric) * scale}
            frames.append(pd.DataFrame({**columns, "low": low, "high": high}))
    columns_empty = ["model", "layer", "rank", "metric", "value", "low", "high"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns_empty)


def run_sweep(
    spec: ProbeSpec, layers: Mapping[str, int], corpora: Mapping[str, Corpus] | None = None, **options: Any
) -> Result:
    """Read, plan, run and collect a sweep.

    Args:
        spec: The study that the sweep belongs to: its sentences, seed, epochs and draws.
        layers: Model -> layer.
        corpora: Corpora already read (an upload), by CorpusRef.
        options: For `core.runs.runner.run`.

    Returns:
        A result whose table is that of `collect_sweep`.

    Raises:
        ModelError: If a model cannot be found.
        SpecError: If a model has no such layer.
    """
    treebank = read_treebank(spec, corpora)
    outputs = run(plan_sweep(spec, layers, treebank), **options)
    table = collect_sweep(spec, outputs, treebank)
    return Result(
        study="probe-ranks",
        spec=spec.plain() | {"sweep": dict(layers)},
        headline=sweep_headline(table),
        tables={"sweep": table},
        notices=treebank.notices,
        failures=dict(outputs.failures),
        provenance=provenance(tuple(layers), treebank.corpus),
        methods=make_methods(spec, treebank) + " Ranks were swept at one layer.",
        citations=CITATIONS,
    )


def sweep_headline(table: pd.DataFrame) -> str:
    """For each model the smallest rank that comes within one point of the best UUAS."""
    clauses = []
    for model in dict.fromkeys(table["model"]):
        rows = table[(table["model"] == model) & (table["metric"] == "uuas")].sort_values("rank")
        near = rows[rows["value"] >= rows["value"].max() - 1.0].iloc[0]
        full = rows.iloc[-1]
        clauses.append(
            f"{short_name(model)} comes within 1 UUAS of its best ({rows['value'].max():.1f}) at rank "
            f"{int(near['rank'])} of {int(full['rank'])} (layer {int(full['layer'])})"
        )
    return f"{'; '.join(clauses)}." if clauses else "No rank could be probed; the reasons are below."
