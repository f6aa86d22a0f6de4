"""What a model was trained on, from its weights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.lesson import Guess, Lesson, Question, Try

if TYPE_CHECKING:
    from core.results.export import Result


def _shared_labels(result: Result) -> float | None:
    """Share of nearest neighbours with the same label, by the study's own vector and number of neighbours."""
    table = result.tables["vectors"]
    if table.empty:
        return None
    rows = table[(table["k"] == int(result.arrays["k"])) & (table["vector"] == result.spec["vector"])]
    return float(rows["share"].iloc[0]) if len(rows) else None


WEIGHTS = Lesson(
    page="weights",
    path="pages/weight_clustering.py",
    title="Can you tell what a model was trained on, from its weights alone?",
    minutes=15,
    background=(
        "Eighteen models come from one base: six tasks, three runs each, trained alike. No text is read here. We take "
        "what training added to each weight matrix, keep its few strongest directions, and ask of every model which "
        "two others lie nearest. By chance two of seventeen others share its task: 12 %."
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
        "The change points somewhere, and where it points tells the task. Before you are impressed, look at the line "
        "of the norms: how far each matrix moved, with no direction at all. If that comes nearly as far, the weights "
        "gave away how much there was to learn. The models that were trained faster or slower on purpose tell the two "
        "apart: by direction they lie with their task, by norms with others that moved as far."
    ),
    tries=(
        Try(
            "Norms alone",
            "Which tasks are told apart without any direction?",
            {"vector": "norms", "view": "Neighbours"},
        ),
        Try(
            "The vector first proposed",
            "It averages singular vectors over layers, whose signs are arbitrary. What is left?",
            {"vector": "original", "view": "Neighbours"},
        ),
        Try(
            "Rank by depth",
            "Is the change of low rank, compared with noise of the same shape? In which layers?",
            {"view": "Rank by depth"},
        ),
    ),
    questions=(
        Question(
            "Why is chance 12 % and not one in six?",
            "A model is not its own neighbour: of the seventeen others two share its task, and 2/17 is 12 %.",
        ),
        Question(
            "With two tasks of two runs all neighbours are right. Is that evidence?",
            "Hardly. Four models can be labelled in three ways only, so a perfect score comes by chance one time in "
            "three. The page then says that there are too few to tell.",
        ),
        Question(
            "What do runs of one task share besides the task?",
            "Data size, number of steps, learning rate, and how hard the task is; all of them show in the norms.",
        ),
        Question(
            "A picture shows six islands. What may you conclude from the gaps between them?",
            "Nothing. t-SNE and UMAP make islands of anything; the shares and the p-value come from the distances.",
        ),
        Question(
            "Why does the sign of a singular vector matter when vectors are averaged over layers?",
            "It is arbitrary: u and -u describe the same matrix. An average over layers adds some and cancels others "
            "by accident, so the same change can give two vectors that share nothing.",
        ),
    ),
)
