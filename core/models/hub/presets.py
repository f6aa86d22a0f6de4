"""Public models of the Hub that forms offer offline too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A public model that forms offer offline too: reference, label, base and data set."""

    ref: str
    label: str
    base: str = ""
    data: str = ""


ALL_MULTIBERTS = "hub:google/multiberts-seed_*"
"""All 25 seeds, as one reference."""

PRESETS: tuple[Preset, ...] = (
    Preset("hub:bert-base-uncased", "BERT base (uncased)"),
    Preset(
        "hub:yoshitomo-matsubara/bert-base-uncased-mnli",
        "BERT base, MNLI",
        "hub:bert-base-uncased",
        "MNLI",
    ),
    Preset(
        "hub:textattack/bert-base-uncased-MNLI",
        "BERT base, MNLI (TextAttack)",
        "hub:bert-base-uncased",
        "MNLI",
    ),
    Preset(
        "hub:csarron/bert-base-uncased-squad-v1",
        "BERT base, SQuAD 1.1",
        "hub:bert-base-uncased",
        "SQuAD 1.1",
    ),
    Preset(
        "hub:deepset/bert-base-uncased-squad2",
        "BERT base, SQuAD 2.0",
        "hub:bert-base-uncased",
        "SQuAD 2.0",
    ),
    *(
        Preset(f"hub:google/multiberts-seed_{seed}", f"MultiBERTs, seed {seed}")
        for seed in range(25)
    ),
    Preset("hub:roberta-base", "RoBERTa base"),
    Preset("hub:gpt2-medium", "GPT-2 medium"),
    Preset("hub:t5-base", "T5 base"),
)
