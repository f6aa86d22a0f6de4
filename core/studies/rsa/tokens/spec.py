"""The token map's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.errors import SpecError

QUESTION = "Where did the captain hide the letter?"
PASSAGE = (
    "It was raining when the riders came. "
    "The captain read the letter twice, folded it and hid it under a loose board in the kitchen. "
    "The soldiers were already at the gate."
)
ANSWER = "under a loose board in the kitchen"
HIGHLIGHT = ("where", "hide", "hid", "letter", "kitchen")
LENGTHS = (3, 200)  # words of a passage: the fewest, the most


@dataclass(frozen=True)
class TokenMapSpec(options.Spec):
    """One study: a passage, and models with the same d_model that read it."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:seed-0", "zoo:qa-0"),
        most=60,
        help="The models that read the passage, the base first.",
    )
    passage: str = options.passage(
        "Sentence or short passage",
        PASSAGE,
        help=f"The models read it as one sequence of at most {LENGTHS[1]} words.",
    )
    highlight: tuple[str, ...] = options.words(
        "Words to highlight",
        HIGHLIGHT,
        help=(
            "Words drawn in colour if there is no question; "
            "upper and lower case make no difference."
        ),
    )
    question: str = options.line(
        "Question",
        QUESTION,
        phrase="; “{}”",
        help=(
            "The models read it together with the passage; "
            "leave it empty to draw the passage alone."
        ),
    )
    answer: str = options.line("Answer", ANSWER, help="The answer, in the words of the passage.")
    supporting: str = options.line(
        "Supporting sentence",
        help="The sentence that supports the answer, in the words of the passage; "
        "if empty, the one that contains the answer.",
    )
    sinks: str = options.sinks()

    def check(self) -> None:
        if not self.passage.strip():
            raise SpecError(
                "The passage of the token map is empty: write a sentence of "
                f"{LENGTHS[0]} words or more."
            )
