"""Public models that forms offer offline too, and those that belong together, with what a study of
them reads: seeds, training runs, fine-tunes.

Names of checkpoints follow their repositories' habit (`step1000`, `stage1-step10000-tokens21B`). A
revision that a repository lacks is a failure of that checkpoint alone, which its study reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Values = Mapping[str, str | tuple[str, ...]]

BERT, PYTHIA = "hub:bert-base-uncased", "hub:EleutherAI/pythia-160m"
OLMO, QWEN = "hub:allenai/OLMo-2-0425-1B", "hub:Qwen/Qwen2.5-0.5B"
LLAMA = "hub:meta-llama/Llama-3.2-1B"
BATCH = 2**21  # tokens of a training step of OLMo 2 1B, by which its checkpoints are named


@dataclass(frozen=True)
class Preset:
    """A public model: reference, base and data set."""

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


@dataclass(frozen=True)
class Collection:
    """Public models that are studied together.

    Attributes:
        name: Short name, for commands.
        title: Name in forms.
        about: What they are, in a sentence.
        models: References.
        parameters: Of each model.
        bytes_each: Stored per parameter.
        values: Name of a study -> the options that choose these models in it.
    """

    name: str
    title: str
    about: str
    models: tuple[str, ...]
    parameters: float
    bytes_each: int
    values: Mapping[str, Values]

    @property
    def download(self) -> float:
        """Gigabytes of all models."""
        return len(self.models) * self.parameters * self.bytes_each / 1e9

    @property
    def sentence(self) -> str:
        """Say what the models are and what they cost."""
        return (
            f"{self.about} {len(self.models)} models of {self.parameters / 1e6:,.0f} million "
            f"parameters, {self.download:.0f} GB to download."
        )


def _pair(base: str, tuned: str) -> dict[str, Values]:
    return {
        "rsa": {"base": base, "compare": (tuned,)},
        "weights": {"base": base, "models": (tuned,)},
        "divergence": {"base": base, "compare": (tuned,), "others": ()},
    }


_PYTHIA_STEPS = tuple(
    f"{PYTHIA}@step{step}" for step in (0, 1, 16, 128, 512, 1_000, 4_000, 16_000, 64_000)
)
_OLMO_STEPS = tuple(
    f"{OLMO}@stage1-step{step}-tokens{math.ceil(step * BATCH / 1e9)}B"
    for step in (10_000, 50_000, 100_000, 300_000, 1_000_000)
)
_POLYPYTHIAS = tuple(f"{PYTHIA}-seed{seed}" for seed in range(1, 10))
_TUNED = tuple(preset.ref for preset in PRESETS if preset.base == BERT)

COLLECTIONS: tuple[Collection, ...] = (
    Collection(
        "multiberts",
        "MultiBERTs",
        "25 seeds of BERT base, trained alike (Sellam et al. 2022).",
        MULTIBERTS,
        110e6,
        4,
        {"align": {"models": (ALL_MULTIBERTS,)}, "probe": {"models": MULTIBERTS[:5]}},
    ),
    Collection(
        "polypythias",
        "PolyPythias 160M",
        "Nine further seeds of Pythia 160M (van der Wal et al. 2025).",
        _POLYPYTHIAS,
        162e6,
        2,
        {
            "align": {"models": _POLYPYTHIAS},
            "rsa": {"base": _POLYPYTHIAS[0], "compare": _POLYPYTHIAS[1:]},
            "probe": {"models": _POLYPYTHIAS[:5]},
        },
    ),
    Collection(
        "pythia-steps",
        "Pythia 160M through training",
        "Checkpoints of Pythia 160M from step 0 to its end at step 143,000 (Biderman et al. 2023), "
        "beside another seed.",
        (*_PYTHIA_STEPS, PYTHIA, _POLYPYTHIAS[0]),
        162e6,
        2,
        {
            "training": {"end": PYTHIA, "steps": _PYTHIA_STEPS, "others": _POLYPYTHIAS[:1]},
            "audit": {"models": _PYTHIA_STEPS, "end": PYTHIA},
        },
    ),
    Collection(
        "olmo-steps",
        "OLMo 2 1B through training",
        "Checkpoints of OLMo 2 1B from 21 billion to 2 trillion tokens (OLMo team 2025).",
        (*_OLMO_STEPS, OLMO),
        1.48e9,
        4,
        {
            "training": {"end": OLMO, "steps": _OLMO_STEPS, "others": ()},
            "audit": {"models": _OLMO_STEPS, "end": OLMO},
        },
    ),
    Collection(
        "bert-tuned",
        "BERT base with MNLI and SQuAD",
        "BERT base and fine-tunes of it on inference and on questions, two of each task.",
        (BERT, *_TUNED),
        110e6,
        4,
        {"rsa": {"base": BERT, "compare": _TUNED}, "weights": {"base": BERT, "models": _TUNED}},
    ),
    Collection(
        "qwen-instruct",
        "Qwen 2.5 0.5B, base and instruct",
        "A base model and its instruction-tuned version.",
        (QWEN, f"{QWEN}-Instruct"),
        494e6,
        2,
        _pair(QWEN, f"{QWEN}-Instruct"),
    ),
    Collection(
        "llama-instruct",
        "Llama 3.2 1B, base and instruct",
        "A base model and its instruction-tuned version; the Hub asks for its licence to be "
        "accepted, and for a token.",
        (LLAMA, f"{LLAMA}-Instruct"),
        1.24e9,
        2,
        _pair(LLAMA, f"{LLAMA}-Instruct"),
    ),
)
"""The collections, in the order in which they are offered."""


def collections_for(study: str) -> list[Collection]:
    """List the collections that a study can be asked about.

    Example:
        >>> [collection.name for collection in collections_for("align")]
        ['multiberts', 'polypythias']
    """
    return [collection for collection in COLLECTIONS if study in collection.values]


def public_refs() -> tuple[str, ...]:
    """List the references that patterns of public models stand for."""
    refs = (preset.ref for preset in PRESETS)
    return tuple(dict.fromkeys((*refs, *(ref for each in COLLECTIONS for ref in each.models))))
