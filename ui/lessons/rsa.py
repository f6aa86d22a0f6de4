"""What fine-tuning writes over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.lesson import Guess, Lesson, Question, Try

if TYPE_CHECKING:
    from core.results.export import Result


def _top_similarity(result: Result) -> float | None:
    """Mean similarity of the compared models in the top layer."""
    table = result.tables["similarity"]
    top = table[table["layer"] == table["layer"].max()]["similarity"].dropna()
    return float(top.mean()) if len(top) else None


RSA = Lesson(
    page="rsa",
    path="pages/rsa.py",
    title="What does fine-tuning write over?",
    minutes=20,
    background=(
        "The same thousand words go through a pretrained model and through three models that were fine-tuned from it: "
        "for parsing, for sentiment, for inference. In every layer we list how similar each pair of words is, once in "
        "the one model and once in the other, and correlate the two lists. 1 means that nothing has moved; what two "
        "unrelated spaces reach is drawn as a grey band."
    ),
    guess=Guess(
        question="How similar are base and fine-tune in the **top layer**, on average over the three?",
        low=0.0,
        high=1.0,
        step=0.05,
        start=0.5,
        axis="y",
        truth=_top_similarity,
        near=0.1,
        words=text_of,
    ),
    options={},
    explain=(
        "Fine-tuning reaches every weight, yet its mark grows with depth. The task's error enters at the top, and what "
        "a lower layer changes is changed again by all layers above it, so that even equal steps everywhere would show "
        "most at the top. Before you say that a task *needs* the upper layers, look at two more things: how far the "
        "weights moved at all (a model trained longer differs more, whatever its task), and how alike two pretraining "
        "seeds are, the dashed line: a fine-tune below it differs from its own base more than a stranger does."
    ),
    tries=(
        Try(
            "The same at one size of change",
            "Does the order of the tasks survive, once every weight change is scaled to the smallest?",
            {"matched_size": "true"},
        ),
        Try(
            "Models whose lower layers were frozen",
            "Up to which layer is the similarity exactly 1? Could you have told without being told?",
            {"compare": ("zoo:parse-frozen-2", "zoo:parse-frozen-4", "zoo:parse-0")},
        ),
        Try(
            "Every word once",
            "Layer 0 knows words only. How much of a high similarity was the same word coming again?",
            {"one_per_word": "true"},
        ),
    ),
    questions=(
        Question(
            "The measure never compares a vector of one model with a vector of the other. Why does it not have to?",
            "It compares similarities: numbers between words of one and the same model. The two lists have the same "
            "pairs in the same order, so they can be correlated even if the spaces have other axes or other sizes.",
        ),
        Question(
            "Why does the grey band pair whole sentences at random, and not words?",
            "Words of one sentence are alike in any model. A band from words paired freely would be so low that two "
            "untrained models would pass it; the band must hold everything that comes without shared knowledge.",
        ),
        Question(
            "Two curves end at different heights. What must you know before you call one task more thorough?",
            "How far the weights moved, whether the bands over runs overlap, and how long and fast each was trained. "
            "The page shows the size of the change beside each name and can scale all to one size.",
        ),
        Question(
            "A similarity of 1 through layer 4 and less above: what happened in training?",
            "The embeddings and the lowest four layers were frozen. Equal weights and equal input give equal vectors, "
            "so the similarity is exactly 1, not nearly.",
        ),
        Question(
            "A few dimensions of a model are a hundred times larger than the rest. What does that do to the curve?",
            "The cosine then sees little else, and two spaces that share those dimensions look alike whatever the rest "
            "does. Standardise the dimensions, or drop the largest, and compare.",
        ),
    ),
)
