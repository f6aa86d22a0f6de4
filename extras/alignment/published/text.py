"""Protocols, findings, headline and methods of the published-protocol study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from core.studies.text_kit import Statement, estimate_of, listed, text_of, words_beside
from extras.alignment.published.rows import RATE
from extras.alignment.published.spec import (
    BATCH,
    DECAY,
    LEARNING_RATE,
    THEIR_STEPS,
    ProtocolSpec,
)

said = words_beside(__file__).sentence
OURS = "ours"
PROTOCOLS = {
    "published": "published protocol",
    "padding": "means without padding",
    "dropout": "dropout off",
    "partners": "same sentences paired",
    "maps": "one network per layer",
    "training": "trained to convergence",
    "rows": "held-out sentences",
    "unit": "error by layer",
    "all": "all seven changes",
    OURS: "ours, on unseen words",
}
HOLDS, REVERSED, OPEN = "holds", "reversed", "open"
# than the target's mean
ABOVE, BELOW, UNDECIDED = "worse", "better", "not detectably better or worse"
THEIR_WIDTH = 768


@dataclass(frozen=True)
class Claim:
    """A finding: its label, its sentence, who states it, and the sign of the difference of errors
    if it is true."""

    label: str
    says: str
    source: str
    sign: int


CLAIMS = {
    "cca": Claim("beats CCA", "the invertible network has a lower error than CCA", "the paper", -1),
    "linear": Claim(
        "beats linear map",
        "the invertible network has a lower error than a linear map",
        "the paper",
        -1,
    ),
    "mlp": Claim(
        "MLP is better",
        "an MLP, which need not be invertible, has a lower error than the invertible network",
        "the code",
        -1,
    ),
    "tuned": Claim(
        "tuned is worse",
        "fine-tuned models have a higher error than pretrained ones",
        "a question",
        1,
    ),
    "depth": Claim(
        "top is worse", "the top layer has a higher error than the embeddings", "a question", 1
    ),
    "mean": Claim(
        "beats the mean",
        "the invertible network has a lower error than the target's mean",
        "a control",
        -1,
    ),
    "start": Claim(
        "training helps", "training lowers the invertible network's error", "a control", -1
    ),
}
SURVIVES = {
    "yes": "Both protocols agree",
    "no": "Only the published protocol finds",
    "only by ours": "Only our protocol finds",
    "found by neither": "Neither protocol finds",
}


def statements_of(errors: pd.DataFrame, findings: pd.DataFrame) -> tuple[Statement, ...]:
    """State the invertible network's error by the published protocol, then by ours, then which
    findings hold, with a verdict of `SURVIVES`; none where the published protocol has no error."""
    rows = mean_errors(errors)
    by_protocol = rows[rows["method"] == "inn"].set_index("protocol")
    if "published" not in by_protocol.index:
        return ()
    facts = []
    for protocol, row in by_protocol.loc[by_protocol.index.isin(("published", OURS))].iterrows():
        error = estimate_of(row, "nmse", "amount" if row["nmse"] > 1 else None)
        undecided = error.low <= 1 <= error.high
        verdict = UNDECIDED if undecided else ABOVE if error.value > 1 else BELOW
        facts.append(Statement(str(protocol), verdict, error, baseline="the target's mean"))
    facts += [Statement(str(row["claim"]), str(row["survives"])) for _, row in findings.iterrows()]
    return tuple(facts)


def mean_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """Choose the errors of the pretrained pair that are means over layers."""
    return errors[(errors["pair"] == "models") & (errors["layer"] == -1)]


def make_headline(facts: Sequence[Statement], steps: int = THEIR_STEPS) -> str:
    """Write the headline of the statements of `statements_of`; `steps` are the batches that the
    networks of the published protocol were trained for."""
    if not facts:
        return ""
    by_protocol = {fact.subject: fact for fact in facts if fact.subject in PROTOCOLS}
    theirs = by_protocol["published"]
    verb = "is" if theirs.verdict == UNDECIDED else "predicts"
    cut = f" ({steps:,} of {THEIR_STEPS:,} batches)" if steps < THEIR_STEPS else ""
    ours = by_protocol.get(OURS)
    parts = (
        f"By the published protocol{cut}{'' if cut else ','} "
        f"the network {verb} {theirs.verdict} than the mean (error {theirs.number.text})",
        f"; by ours, {ours.verdict} on unseen words ({ours.number.text})" if ours else "",
    )
    by_outcome = {
        words: [
            f"that {CLAIMS[fact.subject].says}"
            for fact in facts
            if fact.verdict == verdict and fact.subject in CLAIMS
        ]
        for verdict, words in SURVIVES.items()
    }
    claims = [f"{words} {listed(says)}" for words, says in by_outcome.items() if says]
    return f"{'. '.join([''.join(parts), *claims])}."


def make_notices(width: int) -> list[str]:
    """Say what a reader must know of models narrower than the paper's."""
    return [said("narrow", width=width, theirs=THEIR_WIDTH)] if width < THEIR_WIDTH else []


def make_methods(spec: ProtocolSpec, sentences: int) -> str:
    """Write the methods paragraph."""
    return said(
        "methods",
        sentences=sentences,
        corpus=spec.corpus,
        length=spec.length,
        batch=BATCH,
        learning_rate=text_of(LEARNING_RATE, "amount"),
        decay=text_of(1 - DECAY, "setting"),
        steps=spec.steps,
        dropout=RATE,
    )
