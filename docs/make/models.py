"""The included models, from the manifest that their recipe wrote: a table, and their cards."""

from __future__ import annotations

import re
from typing import Any

from core.models.zoo import CAUSAL, MASKED, read_adapters, read_manifest, zoo_folder
from docs.make.studies import plain
from zoo.recipe.cards import TASKS
from zoo.recipe.tasks import REVIEW

METRICS = {"accuracy": "accuracy", "UAS": "UAS", "F1": "F1"}
HEAD = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)  # of a card, for the Hub
LOSSES = {MASKED: "masked-token loss", CAUSAL: "next-token loss", REVIEW: "next-token loss"}


def models_table() -> str:
    """Write one row a model or adapter: reference, base, task, training, scores, data's licence."""
    rows = [
        "| model | base | task | training | held-out score | baseline | licence of the data |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in (*read_manifest(), *read_adapters()):
        base = f"`{entry['base']}`" if entry["base"] else "none"
        parts = [
            f"`{entry['ref']}`", base, TASKS[entry["task"]], _training(entry),
            *(_score(entry, entry[part]) for part in ("score", "baseline")),
            plain(entry["licence"]),
        ]  # fmt: skip
        rows.append(f"| {' | '.join(parts)} |")
    return "\n".join(rows)


def _training(entry: dict[str, Any]) -> str:
    """Say steps, tokens, and what was special: frozen layers, factors, another learning rate."""
    parts = [f"{entry['steps']:,} steps, {entry['tokens'] / 1e6:.2g} million tokens"]
    if entry["frozen"]:
        parts.append(f"embeddings and layers 1 to {entry['frozen']} frozen")
    if rank := entry["settings"].get("rank"):
        parts.append(f"LoRA of rank {rank}")
    if entry["dose"] not in (None, 1.0):
        parts.append(f"{entry['dose']:.2g} times the learning rate")
    return "; ".join(parts)


def _score(entry: dict[str, Any], score: float) -> str:
    if entry["metric"] == "held_out_loss":
        return f"{LOSSES[entry['task']]} {score:.2f}"
    return f"{METRICS[entry['metric']]} {100 * score:.1f} %"


def cards_page() -> str:
    """Write all model cards on one page, each under its reference."""
    parts = [
        "# Model cards",
        "Every included model has a card beside its weights. These are all of them.",
    ]
    for entry in (*read_manifest(), *read_adapters()):
        card = (zoo_folder() / "models" / entry["name"] / "README.md").read_text(encoding="utf8")
        text = HEAD.sub("", card).strip()
        parts.append(re.sub(r"^#", "##", text, flags=re.MULTILINE))
    return "\n\n".join(parts) + "\n"


def licences() -> str:
    """Write what `zoo/LICENSES.md` says, without its heading."""
    text = (zoo_folder() / "LICENSES.md").read_text(encoding="utf8")
    return text.partition("\n")[2].strip()
