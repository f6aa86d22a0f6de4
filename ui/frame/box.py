"""The box as a table: what is in it, where each model comes from, and how well it does what it was trained for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

TASKS = {
    "masked-lm": "Masked language model",
    "parse": "Dependency parsing",
    "pos": "Part-of-speech tagging",
    "sentiment": "Sentiment",
    "subjectivity": "Subjectivity",
    "question": "Question type",
    "nli": "Natural language inference",
}
METRICS = {"held_out_loss": "loss", "UAS": "UAS", "accuracy": "accuracy"}
LOSSES = frozenset({"held_out_loss"})


def box_table(entries: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One row a task and base: references, task, the model fine-tuned, scores beside the trivial baseline.

    Args:
        entries: as `core.models.zoo_models` gives them; an entry may lack any field but `ref`.
    """
    import pandas as pd

    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for entry in entries:
        key = (str(entry.get("task") or ""), str(entry.get("base") or "scratch"), _otherwise(entry))
        groups.setdefault(key, []).append(entry)
    rows = [
        {
            "models": _names([str(entry["ref"]) for entry in group]),
            "trained for": TASKS.get(task, task.replace("-", " ").capitalize()) + otherwise,
            "from": base.removeprefix("zoo:"),
            "score": _scores(group),
        }
        for (task, base, otherwise), group in groups.items()
    ]
    return pd.DataFrame(rows, columns=["models", "trained for", "from", "score"])


def _otherwise(entry: dict[str, Any]) -> str:
    """What sets a model apart from those of its task and base: how far it was trained, what was frozen, which rate."""
    if "@" in str(entry["ref"]):
        return ", on the way"
    frozen, dose = entry.get("frozen") or 0, entry.get("dose") or 1
    if frozen:
        return f", lowest {frozen} layers frozen"
    return ", other learning rate" if dose != 1 else ""


def _names(refs: list[str]) -> str:
    """Such as "zoo:nli-0, nli-1, nli-2"."""
    return ", ".join([refs[0], *(ref.removeprefix("zoo:") for ref in refs[1:])])


def _scores(group: list[dict[str, Any]]) -> str:
    """Such as "accuracy .67 to .68 (baseline .57)"; a loss keeps its unit, nats a token."""
    scores = [entry["score"] for entry in group if isinstance(entry.get("score"), int | float)]
    if not scores:
        return ""
    metric, baseline = str(group[0].get("metric", "")), group[0].get("baseline")
    low, high = text_of(min(scores)), text_of(max(scores))
    shown = low if low == high else f"{low} to {high}"
    beside = f" (baseline {text_of(baseline)})" if isinstance(baseline, int | float) else ""
    return f"{METRICS.get(metric, metric.replace('_', ' '))} {shown}{' nats' if metric in LOSSES else ''}{beside}"
