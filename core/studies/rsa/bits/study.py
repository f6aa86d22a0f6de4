"""Bits per byte: language models with different vocabularies on one text.

A loss per subword depends on how long subwords are. Summed and divided by the bytes of the text, it
does not, so that any two causal models can be compared, or any two masked ones.

Reference: Salazar et al. 2020 (pseudo-likelihood). Deviations: see `tasks`.

The headline's number: `core.studies.rsa.bits.report.build_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import SpecError
from core.models.loading.language_models import HEAD, head_tasks
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    View,
    contents,
    identity_tasks,
    sentence_notices,
    text_task,
    words_beside,
)
from core.studies.rsa.bits.report import (
    bits_sentences,
    build_tables,
    figures,
    make_headline,
    said,
    shared_sentences,
    statements_of,
    unscored,
)
from core.studies.rsa.bits.spec import BitsSpec
from core.studies.rsa.bits.tasks import score_sentences
from core.vectors.predicting import EVERY

CITATIONS = ("salazar2020",)


def prepare(spec: BitsSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Make the tasks of the first stage: read the text, identify the models and their heads."""
    refs = tuple(dict.fromkeys(spec.models))
    reading = text_task(spec.corpus, spec.genres, spec.sentences, texts)
    return [reading, *identity_tasks(refs, tokenizers=True), *head_tasks(refs)]


def plan(spec: BitsSpec, ready: Outputs) -> list[Task]:
    """Make a task for each model that predicts words. Raises SpecError if some are masked and some
    causal, and CorpusError if the text could not be read."""
    content, text = contents(ready), ready.need("text")
    kinds = _kinds(ready)
    if len(set(kinds.values())) > 1:
        first = {kind: ref for ref, kind in reversed(kinds.items())}
        raise SpecError(
            f"{first['masked']} predicts masked words and {first['causal']} following ones, so "
            "their losses cannot be compared: choose models of one kind."
        )
    return [
        Task.of(
            ref, score_sentences, role=ref, model=ref, model_identity=content[ref],
            sentences=text.words,
        )
        for ref in kinds if ref in content
    ]  # fmt: skip


def _kinds(ready: Outputs) -> dict[str, str]:
    """Find what each model predicts, of those that predict words."""
    return ready.of(HEAD)


def collect(spec: BitsSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `bits` (BITS) and `bit_gaps` (BIT_GAPS), and what is said of them."""
    corpus = ready.need("text")
    values = outputs.values
    table, gaps = build_tables(values, corpus.words, spec.draws, spec.seed)
    statements = statements_of(table, gaps)
    scored = len(shared_sentences(values, corpus.words)) if values else len(corpus.words)
    left = len(corpus.words) - scored
    return Findings(
        {"bits": table, "bit_gaps": gaps},
        make_headline(statements, table),
        statements=statements,
        notices=[
            *sentence_notices(scored),
            unscored(left, len(corpus.words)) if left else "",
        ],
        methods=said(
            "methods",
            models=", ".join(spec.models),
            corpus=spec.corpus,
            scored=scored,
            how=said("masked" if "masked" in _kinds(ready).values() else "causal", every=EVERY),
        ),
        models=tuple(values),
        corpus=corpus,
    )  # fmt: skip


STUDY = Study(
    name="bits",
    words=words_beside(__file__),
    Spec=BitsSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=figures, headline=lambda result: bits_sentences(result.statements)),),
)
