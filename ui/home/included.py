"""The table of included models: tasks, base models and scores."""

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
    "causal-lm": "Causal language model (decoder)",
    "review": "Film reviews, written on",
    "qa": "Question answering",
}
METRICS = {"held_out_loss": "held-out loss", "UAS": "UAS", "accuracy": "accuracy", "F1": "F1"}
LOSSES = frozenset({"held_out_loss"})
COLUMNS = ("models", "trained for", "started from", "score")


def included_table(entries: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Make the table with the columns `COLUMNS`: one row per task, base and training recipe.
    Entries of the manifest may lack any field but `ref`; a score is shown with its trivial
    baseline."""
    import pandas as pd

    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for entry in entries:
        task, base = str(entry.get("task") or ""), str(entry.get("base") or "random weights")
        groups.setdefault((task, base, _recipe(entry)), []).append(entry)
    rows = [
        (
            _names([str(entry["ref"]) for entry in group]),
            TASKS.get(task, task.replace("-", " ").capitalize()) + recipe,
            base.removeprefix("zoo:"),
            _scores(group),
        )
        for (task, base, recipe), group in groups.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _recipe(entry: dict[str, Any]) -> str:
    """Say how a model's training differs from that of the others of its task and base."""
    if "@" in str(entry["ref"]):
        return ", intermediate checkpoint"
    frozen, dose = entry.get("frozen") or 0, entry.get("dose") or 1
    if frozen:
        return f", lowest {frozen} layers frozen"
    if "rank" in (entry.get("settings") or {}):
        return ", LoRA adapters"
    return ", another learning rate" if dose != 1 else ""


def _names(refs: list[str]) -> str:
    """List references, such as "zoo:nli-0, nli-1, nli-2"."""
    return ", ".join([refs[0], *(ref.removeprefix("zoo:") for ref in refs[1:])])


def _scores(group: list[dict[str, Any]]) -> str:
    """Write the range of scores, such as "accuracy .67 to .68 (baseline .57)"."""
    scores = [entry["score"] for entry in group if isinstance(entry.get("score"), int | float)]
    if not scores:
        return ""
    metric, baseline = str(group[0].get("metric", "")), group[0].get("baseline")
    low, high = text_of(min(scores)), text_of(max(scores))
    shown = low if low == high else f"{low} to {high}"
    compared = f" (baseline {text_of(baseline)})" if isinstance(baseline, int | float) else ""
    unit = " nats" if metric in LOSSES else ""
    return f"{METRICS.get(metric, metric.replace('_', ' '))} {shown}{unit}{compared}"
