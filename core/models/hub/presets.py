"""Public models of the Hub that forms offer offline too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A public model that forms offer offline too: reference, base and data set."""

    ref: str
    base: str = ""
    data: str = ""


MULTIBERTS = tuple(f"hub:google/multiberts-seed_{seed}" for seed in range(25))
ALL_MULTIBERTS = "hub:google/multiberts-seed_*"
"""All 25 seeds, as one reference."""

PRESETS: tuple[Preset, ...] = (
    Preset("hub:bert-base-uncased"),
    Preset("hub:yoshitomo-matsubara/bert-base-uncased-mnli", "hub:bert-base-uncased", "MNLI"),
    Preset("hub:textattack/bert-base-uncased-MNLI", "hub:bert-base-uncased", "MNLI"),
    Preset("hub:csarron/bert-base-uncased-squad-v1", "hub:bert-base-uncased", "SQuAD 1.1"),
    Preset("hub:deepset/bert-base-uncased-squad2", "hub:bert-base-uncased", "SQuAD 2.0"),
    *map(Preset, MULTIBERTS),
    Preset("hub:roberta-base"),
    Preset("hub:gpt2-medium"),
    Preset("hub:t5-base"),
)
