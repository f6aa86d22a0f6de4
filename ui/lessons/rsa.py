"""Lesson of the RSA page: which layers fine-tuning changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.studies.rsa.layers.differences import BEYOND_RANDOM, CHANGED_MOST
from ui.lessons.lesson import Guess, Lesson, Question, Try, layer_of

if TYPE_CHECKING:
    from core.results.export import Result


def _changed_layers(result: Result) -> tuple[int, ...] | None:
    """Find the layers of the first model that changed most and cannot be told apart; None if no
    layer functions were compared."""
    layers = (
        each.layers for each in result.statements if each.verdict in (BEYOND_RANDOM, CHANGED_MOST)
    )
    return next(layers, None)


RSA = Lesson(
    page="rsa",
    path="pages/rsa.py",
    title="Which layers does fine-tuning change?",
    minutes=20,
    background=(
        "The same thousand words are read by a pretrained model and by three models that were "
        "fine-tuned from it: for parsing, for sentiment, and for natural-language inference (does "
        "one sentence follow from another?). A layer has changed if it computes something else "
        "from the same input. So each layer of a fine-tune is given the base's own input, and its "
        "output is compared with that of the base's layer: how similar is each pair of words in "
        "either output, and how well do the two lists of similarities correlate? This is "
        "representational similarity analysis, RSA. Some layers move further than others after any "
        "change of their weights, so each distance is divided by that after random changes of "
        "equal size."
    ),
    guess=Guess(
        question=(
            "Which **layer** does fine-tuning on parsing change most? (0 is the embeddings, 6 the "
            "top.)"
        ),
        low=0,
        high=6,
        step=1,
        start=0,
        axis="x",
        truth=_changed_layers,
        near=0,  # a layer outside the set is distinguishable from those in it
        words=layer_of,
        shown="%.0f",
    ),
    options={},
    explain=(
        "Compare the two panels. In the second, states differ more the higher the layer: the "
        "task's error enters at the top, and every change in a lower layer is passed on to all "
        "layers above it, so even equal changes everywhere would show most at the top. The first "
        "panel takes this inheritance away: each layer reads the base's own input, so only a layer "
        "that itself changed moves its output, and layers that any change moves far are no longer "
        "ahead. Before you conclude that a task *needs* the layers that changed, look at two more "
        "things. How far did the weights move? A model that was trained longer differs more, "
        "whatever its task. And how similar are two pretraining seeds (the dashed line)? A "
        "fine-tune below it differs from its base more than an independently trained model does."
    ),
    tries=(
        Try(
            "Compare changes of equal size",
            "Is the order of the tasks the same once every weight change is scaled to the "
            "smallest?",
            {"matched_size": "true"},
        ),
        Try(
            "Freeze the lower layers",
            "Up to which layer is the similarity exactly 1? Would you have found the frozen layers "
            "yourself?",
            {"compare": ("zoo:parse-frozen-2", "zoo:parse-frozen-4", "zoo:parse-0")},
        ),
        Try(
            "Use every word once",
            "Layer 0, the embeddings, represents a word alike wherever it occurs. How much of a "
            "high similarity came from repeated words?",
            {"one_per_word": "true"},
        ),
        Try(
            "Put every layer on a map",
            "Which lie nearer to a seed at its top layer: its fine-tunes, or another seed? How far "
            "away are the same words in another order?",
            {"study": "spaces"},
        ),
        Try(
            "Compare decoders",
            "Two decoders from other seeds, and a fine-tune of the first. Are decoders more or "
            "less alike than two masked models, and at which layers? *What does it say now?* reads "
            "the fine-tune's change in words, beside another seed's.",
            {
                "base": "zoo:decoder-0",
                "compare": ("zoo:decoder-1", "zoo:decoder-2", "zoo:review-0"),
            },
        ),
        Try(
            "Three readers",
            "They find the answer to a question in a passage. From which layer do they differ from "
            "their base? *Token map* shows one at work.",
            {"compare": ("zoo:qa-0", "zoo:qa-1", "zoo:qa-2")},
        ),
    ),
    questions=(
        Question(
            "RSA never compares a vector of one model with a vector of the other. Why is that not "
            "necessary?",
            "It compares similarities, which are numbers between two words of the same model. Both "
            "lists have the same "
            "pairs in the same order, so they can be correlated even if the two spaces have "
            "different axes or sizes.",
        ),
        Question(
            "Why does the chance level (grey band) shuffle whole sentences rather than words?",
            "Words of one sentence are similar in every model. A chance level from shuffled words "
            "would be so low that "
            "even two untrained models would exceed it; it must include everything that models "
            "share without having "
            "learned anything in common.",
        ),
        Question(
            "Two curves end at different heights. What must you know before you say that one task "
            "changes the model "
            "more?",
            "How far the weights moved, whether the bands over runs overlap, and how long and at "
            "what learning rate "
            "each model was trained. The figure shows the size of the weight change next to each "
            "name, and *Matched "
            "size* scales all changes to one size.",
        ),
        Question(
            "The similarity is 1 up to layer 4 and lower above. What happened during fine-tuning?",
            "The embeddings and the lowest four layers were frozen. Equal weights and equal input "
            "give equal vectors, "
            "so the similarity is exactly 1, not just close to it.",
        ),
        Question(
            "A few dimensions of a model are a hundred times larger than the others. How does that "
            "affect the curve?",
            "The cosine then depends on almost nothing else, and two spaces that share those "
            "dimensions look similar "
            "whatever the others do. Standardise the dimensions, or drop the largest, and compare.",
        ),
    ),
)
