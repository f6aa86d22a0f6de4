"""Lesson: what a model was fine-tuned on, from its weights."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.evidence import LackingError, shares_of
from ui.lessons.lesson import Guess, Lesson, Question, Try

if TYPE_CHECKING:
    from core.results.export import Result


def _shared_labels(result: Result) -> float | None:
    """Share of nearest neighbours with the same label, by the study's vector and k."""
    with suppress(LackingError):
        return shares_of(result, str(result.spec["vector"]))[0].value
    return None


WEIGHTS = Lesson(
    page="weights",
    path="pages/weight_clustering.py",
    title="Can you tell what a model was fine-tuned on from its weights alone?",
    minutes=15,
    background=(
        "Eighteen models were fine-tuned from one base: six tasks, three runs each, with the "
        "same settings. No text is read here. For each weight matrix we take the update, "
        "fine-tuned minus base, and keep its few strongest directions. For every model we then "
        "ask which two others have the most similar updates. By chance, two of its seventeen "
        "possible neighbours share its task: 12 %."
    ),
    guess=Guess(
        question="What **share of the nearest neighbours** was trained on the same task?",
        low=0.0,
        high=1.0,
        step=0.05,
        start=0.5,
        axis="y",
        truth=_shared_labels,
        near=0.1,
        words=partial(text_of, kind="per cent"),
        shown="percent",
    ),
    options={"view": "Neighbours"},
    explain=(
        "The directions of the update reveal the task, or what its runs share besides it. Now look "
        "at the line of the norms: it "
        "uses only the size of each matrix's update, without any direction. If it comes close, "
        "the size of the update already reveals the task, because some tasks change the weights "
        "more than others. Models that were trained with a higher or lower learning rate "
        "(the card *Another learning rate* on the home page) separate the two explanations: their "
        "directions are most similar to those of their own "
        "task, but their norms are most similar to those of other tasks with updates of the same "
        "size."
    ),
    tries=(
        Try(
            "Size alone",
            "Which tasks can be distinguished without any direction?",
            {"vector": "norms", "view": "Neighbours"},
        ),
        Try(
            "The vector first proposed",
            "It averages singular vectors over layers, although their signs are arbitrary. How "
            "much does it still reveal?",
            {"vector": "original", "view": "Neighbours"},
        ),
        Try(
            "Rank by depth",
            "Does the update have lower rank than noise of the same shape? In which layers?",
            {"view": "Rank by depth"},
        ),
        Try(
            "Adapters",
            "Adapters (LoRA) of two tasks beside full fine-tunes of both. Are an adapter's "
            "neighbours models of its task, or other adapters?",
            {
                "models": (
                    "zoo:parse-?",
                    "zoo:parse-0-lora-*",
                    "zoo:sentiment-?",
                    "zoo:sentiment-0-lora-*",
                )
            },
        ),
    ),
    questions=(
        Question(
            "Why is chance 12 % and not one in six?",
            "A model is not its own neighbour: two of the seventeen other models share its task, "
            "and 2/17 is 12 %.",
        ),
        Question(
            "With two tasks of two runs each, all neighbours share a task. Is that evidence?",
            "Hardly. Four models can be divided into two pairs in only three ways, so a perfect "
            "score occurs by chance one time in three. The page then says that there are too few "
            "models.",
        ),
        Question(
            "What do runs of one task share besides the task?",
            "The text, its labels and the kind of head, which affect the directions too; and the "
            "amount of data, the number of steps, the learning rate and the difficulty of the "
            "task, which affect the norms. Parsing and tagging share their text and are told apart "
            "all the same.",
        ),
        Question(
            "A map shows six islands. What can you conclude from the gaps between them?",
            "Nothing. t-SNE and UMAP make islands of any data; the shares and the p-value are "
            "computed from the distances.",
        ),
        Question(
            "Why does the sign of a singular vector matter when vectors are averaged over layers?",
            "It is arbitrary: u and -u describe the same matrix. In an average over layers some "
            "vectors add up and others cancel, depending on these signs, so the same update can "
            "give two vectors that share nothing.",
        ),
    ),
)
