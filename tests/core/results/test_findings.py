"""What a study hands over is put into its result by one rule: notices."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.results.findings import Findings
from core.runs.runner import Outputs
from core.text.corpora import Corpus, Sentence


@dataclass(frozen=True)
class PlainSpec(options.Spec):
    seed: int = options.seed("Seed of nothing.")


def test_notices_of_the_text_come_first_and_those_of_the_tasks_last_each_once() -> None:
    text = Corpus("mine", (Sentence(("a", "b")),), ("Sentences were left out.",))
    ready = Outputs({"text": {"notices": ["Of the first stage."]}})
    tasks = Outputs(
        {"a": {"notices": ["Words were left out."]}, "b": {"notices": ["Words were left out."]}}
    )
    findings = Findings({}, "It rises.", notices=("", "Few models.", "Few models."), corpus=text)
    notices = findings.result("rsa", PlainSpec(), ready, tasks).notices
    assert notices == ("Sentences were left out.", "Few models.", "Words were left out.")
    weights = Findings({}, "It rises.", notices=["Few models."])
    assert weights.result("weights", PlainSpec(), ready, tasks).notices == notices[1:]
