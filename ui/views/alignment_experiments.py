"""Experiments of the seed-alignment page: rotations, stitching, bijection check, attention, the
line between the weights, the published protocol."""

from __future__ import annotations

from core.studies.alignment.barrier.study import STUDY as BARRIER_STUDY
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.stitching.study import STUDY as STITCHING_STUDY
from extras.alignment.attention.study import STUDY as ATTENTION_STUDY
from extras.alignment.check.study import STUDY as CHECK_STUDY
from extras.alignment.published.study import STUDY as PUBLISHED_STUDY
from extras.alignment.rotation.study import STUDY as ROTATION_STUDY
from ui.study.experiment import Experiment, with_added

ROTATION = ROTATION_STUDY.title
STITCHING, CHECK = STITCHING_STUDY.title, CHECK_STUDY.title
BETWEEN = BARRIER_STUDY.title
ATTENTION, PROTOCOL = ATTENTION_STUDY.title, PUBLISHED_STUDY.title
TEXT = ("corpus", "genres", "sentences", "seed")


def needs_words(spec: AlignSpec) -> str:
    """Say why a study of subwords cannot use the rows requested; "" where it can."""
    if spec.items == "words":
        return ""
    return (
        "This experiment maps every subword, so rows cannot be whole sentences: "
        "choose words as rows under Options."
    )


EXPERIMENTS = with_added(
    "align",
    AlignSpec,
    {
        ROTATION: Experiment(
            ROTATION_STUDY,
            shared=(*TEXT, "models", "items", "split", "sinks"),
        ),
        STITCHING: Experiment(
            STITCHING_STUDY,
            shared=TEXT,
            problem=needs_words,
            looked_at=("items",),
        ),
        CHECK: Experiment(
            CHECK_STUDY,
            shared=(*TEXT, "items", "split", "sinks"),
            taken={"model": ("models", lambda models: models[0])},
        ),
        ATTENTION: Experiment(
            ATTENTION_STUDY,
            shared=(*TEXT, "models"),
            problem=needs_words,
            looked_at=("items",),
        ),
        BETWEEN: Experiment(BARRIER_STUDY, shared=("corpus", "genres", "seed")),
        PROTOCOL: Experiment(
            PUBLISHED_STUDY,
            shared=TEXT,
            taken={"models": ("models", lambda models: models[:2])},
        ),
    },
)
