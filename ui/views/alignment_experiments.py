"""Experiments of the seed-alignment page: rotations, stitching, bijection check, attention, the
line between the weights, the published protocol."""

from __future__ import annotations

from core.catalogue import STUDIES
from core.studies.alignment.seeds.spec import AlignSpec
from ui.study.experiment import Experiment, experiments_of

TEXT = ("corpus", "genres", "sentences", "seed")


def needs_words(spec: AlignSpec) -> str:
    """Say why a study of subwords cannot use the rows requested; "" where it can."""
    if spec.items == "words":
        return ""
    return (
        "This experiment maps every subword, so rows cannot be whole sentences: "
        "choose words as rows under Options."
    )


EXPERIMENTS = experiments_of(
    "align",
    Experiment(STUDIES["align rotation"], shared=(*TEXT, "models", "items", "split", "sinks")),
    Experiment(STUDIES["align stitch"], shared=TEXT, problem=needs_words, looked_at=("items",)),
    Experiment(
        STUDIES["align check"],
        shared=(*TEXT, "items", "split", "sinks"),
        taken={"model": ("models", lambda models: models[0])},
    ),
    Experiment(
        STUDIES["align attention"],
        shared=(*TEXT, "models"),
        problem=needs_words,
        looked_at=("items",),
    ),
    Experiment(STUDIES["align barrier"], shared=("corpus", "genres", "seed")),
    Experiment(
        STUDIES["align protocol"],
        shared=TEXT,
        taken={"models": ("models", lambda models: models[:2])},
    ),
)
