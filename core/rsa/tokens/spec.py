"""The token map's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.errors import SpecError

QUESTION = "Where did the captain hide the letter?"
PASSAGE = (
    "It was raining when the riders came. The captain read the letter twice, folded it and hid it under a loose board "
    "in the kitchen. The soldiers were already at the gate."
)
ANSWER = "under a loose board in the kitchen"
HIGHLIGHT = ("where", "hide", "hid", "letter", "kitchen")


@dataclass(frozen=True)
class TokenMapSpec(options.Spec):
    """A passage and the models to draw it in; all with the same d_model."""

    models: tuple[str, ...] = options.models("Models", ("zoo:seed-0",), most=60, help="The base first.")
    passage: str = options.passage("Sentence or short passage", PASSAGE, help="Read by the models as one sequence.")
    highlight: tuple[str, ...] = options.words(
        "Words to highlight", HIGHLIGHT, help="Where there is no question. Upper and lower case alike."
    )
    question: str = options.line(
        "Question", QUESTION, help="Read with the passage as a pair; empty for a passage alone."
    )
    answer: str = options.line("Answer", ANSWER, help="As it stands in the passage.")
    supporting: str = options.line(
        "Supporting sentence", help="As it stands in the passage; where empty, the sentence that holds the answer."
    )

    def check(self) -> None:
        if not self.passage.strip():
            raise SpecError("Write a sentence for the token map.")
