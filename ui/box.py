"""The box as a table: what is in it, where each model comes from, and how well it does what it was trained for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

TASKS = {
    "masked-lm": "Masked language model",
    "parse": "Dependency parsing",
    "sentiment": "Sentiment",
    "nli": "Natural language inference",
}
METRICS = {"held_out_loss": "loss", "UAS": "UAS", "accuracy": "accuracy"}
LOSSES = frozenset({"held_out_loss"})


def box_table(entries: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One row a model: reference, task, the model it was fine-tuned from, score beside its trivial baseline, size.

    Args:
        entries: As `core.models.zoo_models` gives them; an entry may lack any field but `ref`.
    """
    import pandas as pd

    rows = [
        {
            "model": str(entry["ref"]),
            "trained for": TASKS.get(
                str(entry.get("task")), str(entry.get("task") or "").replace("-", " ").capitalize()
            ),
            "from": str(entry.get("base") or "scratch"),
            "score": _score(entry),
            "parameters": f"{entry['parameters'] / 1e6:.1f} M" if entry.get("parameters") else "",
        }
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=["model", "trained for", "from", "score", "parameters"])


def _score(entry: dict[str, Any]) -> str:
    """Such as "accuracy .62 (.57 without looking)"; a loss keeps its unit, nats a token."""
    score, baseline, metric = entry.get("score"), entry.get("baseline"), str(entry.get("metric", ""))
    if not isinstance(score, int | float):
        return ""
    name = METRICS.get(metric, metric.replace("_", " "))
    beside = f" (baseline {_number(baseline)})" if isinstance(baseline, int | float) else ""
    return f"{name} {_number(score)}{' nats' if metric in LOSSES else ''}{beside}"


def _number(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if abs(value) < 1 else f"{value:.2f}"
