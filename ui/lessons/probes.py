"""The lesson on structural probes: which layer encodes the tree of a sentence best?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.studies.probes.trees.statements import BEST, TIED
from ui.lessons.lesson import Guess, Lesson, Question, Try, layer_of

if TYPE_CHECKING:
    from core.results.export import Result


def _best_layers(result: Result) -> tuple[int, ...] | None:
    """Find the layers of the first model that score highest and cannot be told apart, as the
    headline names them; None if no model was probed."""
    best = next((each for each in result.statements if each.verdict == BEST), None)
    if best is None:
        return None
    tied = (
        each.layers
        for each in result.statements
        if (each.verdict, each.subject, each.metric) == (TIED, best.subject, best.metric)
    )
    return next(tied, best.layers)


PROBES = Lesson(
    page="probe",
    path="pages/probe_trees.py",
    title="Which layer encodes the tree of a sentence?",
    minutes=25,
    background=(
        "In the dependency tree of a sentence, every word but the root is attached to a head. A "
        "structural probe is a linear map, trained so that the squared distance between two "
        "mapped word vectors approximates the number of edges between the words in the tree. The "
        "predicted tree is the minimum spanning tree of these distances. Its score, UUAS, is the "
        "share of the tree's edges that it contains. One probe is trained for every layer."
    ),
    guess=Guess(
        question=(
            "From which **layer** of the pretrained model is the tree predicted best? (0 is the "
            "embeddings.)"
        ),
        low=0,
        high=6,
        step=1,
        start=0,
        axis="x",
        truth=_best_layers,
        near=0,  # a layer outside the set is distinguishable from those in it
        words=layer_of,
        shown="%.0f",
    ),
    options={},
    explain=(
        "Embeddings represent words without context. Attention adds the context in the layers "
        "above, and the top layers specialise in predicting the masked word. In between, the "
        "curve is often flat: check whether the bands overlap before you call one layer the best. "
        "Check the grey lines before you call the score syntax. "
        "Linking adjacent words predicts many edges, and so does a probe on word positions, on an "
        "untrained model, or on the embeddings of a word and its neighbours (the static window). "
        "Evidence of syntax in the layers is the margin over these baselines, which is much "
        "smaller than the score and may be negative."
    ),
    tries=(
        Try(
            "Your own sentence",
            "Type a sentence with many words between subject and verb. Are the missed edges short "
            "or long?",
            {"view": "Sentence"},
        ),
        Try(
            "The model fine-tuned on parsing",
            "From which layer do the two curves differ? Is it the layer that encoded the tree "
            "best before?",
            {"models": ("zoo:seed-0", "zoo:parse-0")},
        ),
        Try(
            "How many dimensions does a probe need?",
            "From which rank does the curve stop rising?",
            {"view": "Rank"},
        ),
    ),
    questions=(
        Question(
            "Why does the figure show the score on control trees too?",
            "A control tree gives every word type a fixed random rule for its head. A probe can "
            "learn it only from words and positions, not from syntax. The difference between the "
            "two scores, selectivity, tells syntax from memorised words, but not the layers from "
            "the embeddings of neighbouring words. Averaging over several draws of the rules shows "
            "how much it varies by chance.",
        ),
        Question(
            "The best layer is chosen on development sentences and scored on test sentences. Why "
            "not on the same ones?",
            "The highest of several noisy scores is too high on average, because chance helped to "
            "make it the highest. On other sentences that chance does not repeat.",
        ),
        Question(
            "The trees come from a parser. What can the figure not show?",
            "That a model encodes more syntax than the parser knows: where the two differ, the "
            "model is scored as wrong. The parser's own accuracy on gold trees is in the table.",
        ),
        Question(
            "Why does an untrained model score far above 0?",
            "Random weights preserve which word is at which position, and many edges link words "
            "that are close to each other.",
        ),
        Question(
            "The tree can be decoded from layer 4. Does the model use it?",
            "The probe does not show that. It finds what is encoded; whether later layers use it "
            "needs an intervention, such as removing the information and measuring how the "
            "predictions change.",
        ),
    ),
)
