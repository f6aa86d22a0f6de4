"""Where a model keeps the tree of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ui.lessons.lesson import Guess, Lesson, Question, Try

if TYPE_CHECKING:
    from core.results.export import Result


def _best_layer(result: Result) -> float | None:
    """Layer in which the first probed model scores highest on the development sentences."""
    probes: Any = result
    models = list(getattr(probes, "probes", {}))
    return float(probes.best_layer(models[0])) if models else None


def _layer(value: float) -> str:
    return f"layer {value:.0f}"


PROBES = Lesson(
    page="probe",
    path="pages/probe_trees.py",
    title="Where does a model keep the tree of a sentence?",
    minutes=25,
    background=(
        "A sentence has a tree: each word hangs on another. We look for a linear map under which the distance between "
        "two word vectors is the number of steps between the words in that tree; if there is one, the tree can be read "
        "off the vectors. The score, UUAS, is the share of edges that are found. A map is trained for every layer."
    ),
    guess=Guess(
        question="In which **layer** of the pretrained model can the tree be read best? (0 is the embeddings.)",
        low=0,
        high=6,
        step=1,
        start=0,
        axis="x",
        truth=_best_layer,
        near=1,
        words=_layer,
        shown="%.0f",
    ),
    options={},
    explain=(
        "Embeddings know words without their neighbours; one layer of attention sees them; the top is busy with "
        "guessing the masked word. Between those the curve is often flat: look at the bands before you call one layer "
        "the best. And read the grey lines before you say syntax. Joining every word to the next already finds many "
        "edges, and a probe on positions alone, or on an untrained model with positions, does as much or more. What "
        "counts is the margin over those, and it is small beside the score itself."
    ),
    tries=(
        Try(
            "Your own sentence",
            "Type a sentence with a long way between subject and verb. Which edges are missed, short ones or long "
            "ones?",
            {"view": "Sentence"},
        ),
        Try(
            "The model that was trained to parse",
            "Where do the two curves part: where fine-tuning changed the space most, or where the tree was already?",
            {"models": ("zoo:seed-0", "zoo:parse-0")},
        ),
        Try(
            "How many dimensions does a tree need?",
            "At which rank does the curve stop rising?",
            {"view": "Rank"},
        ),
    ),
    questions=(
        Question(
            "Why is the score on control trees shown beside the real one?",
            "A control tree gives every word type a fixed random rule for its head. A probe that scores there has "
            "learned words and positions, not syntax; only what stands above counts, and several draws show the luck.",
        ),
        Question(
            "The best layer is chosen on development sentences and scored on others. What goes wrong otherwise?",
            "The best of seven noisy scores is too good: part of what made it the best is luck on those sentences.",
        ),
        Question(
            "The trees come from a parser. What can then not be shown?",
            "That a model knows more than the parser does: where they differ, the model is called wrong. The parser's "
            "own accuracy on gold trees is in the table.",
        ),
        Question(
            "Why does an untrained model score far above zero?",
            "Its vectors still say which word stands where, and most edges join neighbours. Random weights keep that.",
        ),
        Question(
            "The tree can be read off layer 4. Does the model use it?",
            "That is not shown. A probe finds what is present; whether later layers read it needs an intervention, "
            "such as taking it out and looking at what the model then does.",
        ),
    ),
)
