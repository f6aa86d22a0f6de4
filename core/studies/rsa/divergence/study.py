"""Output divergence: what two language models predict at the same place, beside their states.

Similarity of states says nothing of what a model would say: a layer can turn without any prediction
changing, and a small change can turn the most likely word. This study compares the predictions
themselves, word by word, and asks whether they differ where the states do.

References:
    Kullback & Leibler 1951; Lin 1991 (the divergences). Salazar et al. 2020, ACL, Masked Language
    Model Scoring (words masked in turn).
Deviations: all subwords of a word are masked together, so that no subword gives another away.

The headline's number: `core.maths.similarity.divergence.divergences`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from core.maths.similarity.scoring import COVERAGE
from core.models.loading.language_models import HEAD, head_tasks
from core.studies.kit import (
    Corpus,
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    View,
    contents,
    identity_tasks,
    sentence_notices,
    sink_argument,
    text_task,
    words_beside,
)
from core.studies.notices import base_left_out, nothing_but_base
from core.studies.rsa.divergence import report
from core.studies.rsa.divergence.charts import coloured_models, draw_words, first_models
from core.studies.rsa.divergence.reading import MASKING
from core.studies.rsa.divergence.spec import DivergenceSpec
from core.studies.rsa.layers.tasks import Settings, compare_models
from core.text.pipelines import foreign_notice
from core.vectors.pairs import choose_items

CITATIONS = ("kullback1951", "lin1991", "salazar2020")
COMPARED, BASELINE = "compared", "baseline"


def prepare(spec: DivergenceSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Read the text, identify the models and their heads. Raises SpecError if a pattern matches
    nothing, or if there is no model but the base."""
    parts = _parts(spec)
    if COMPARED not in parts.values():
        raise nothing_but_base(spec.base)
    refs = (spec.base, *parts)
    return [
        text_task(spec.corpus, spec.genres, spec.sentences, texts),
        *identity_tasks(refs),
        *head_tasks(refs),
    ]


def plan(spec: DivergenceSpec, ready: Outputs) -> list[Task]:
    """Make three tasks for each model, its predictions, the similarity of its states, and what
    changes word by word; and one that tags the words. Raises ModelError if the base is missing or
    predicts no words, CorpusError if the text could not be read."""
    from core.studies.rsa.divergence.tasks import compare_predictions, compare_states, tag_words

    content = contents(ready)
    base = ready.need(("identity", spec.base)).content
    ready.need((HEAD, spec.base))
    corpus: Corpus = ready.need("text")
    text = corpus.words
    items = choose_items(text, spec.words, spec.seed)
    tasks = []
    for ref in _parts(spec):
        if ref not in content or (HEAD, ref) not in ready.values:
            continue
        pair: dict[str, Any] = {
            "group": spec.base,
            "base": spec.base,
            "other": ref,
            "base_identity": base,
            "other_identity": content[ref],
        }
        predictions = Task.of(
            f"predictions of {ref}",
            compare_predictions,
            role=("predictions", ref),
            sentences=text,
            masking=spec.masking,
            **pair,
        )
        pair |= sink_argument(spec.sinks, ready, spec.base, ref)
        similarity = Task.of(
            f"states of {ref}",
            compare_models,
            role=("states", ref),
            items=items,
            how=Settings("rsa"),
            share=1.0,
            seed=spec.seed,
            **pair,
        )
        changes = Task.of(
            f"words of {ref}", compare_states, role=("changes", ref), items=items, **pair
        )
        tasks += [predictions, similarity, changes]
    if tasks and not _own_tags(corpus) and not _unread(corpus):
        tasks.append(Task.of("parts of speech", tag_words, role="tags", sentences=text))
    return tasks


def collect(spec: DivergenceSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `divergence` (by model and group of words), `states` (by model and layer),
    `gaps` (models compared with baselines) and `coloured` (words of the first sentences), and what
    is said of them."""
    corpus: Corpus = ready.values["text"]
    values = outputs.values
    tags = _own_tags(corpus) or tuple(values.get("tags", {}).get("tags", ()))
    groups = report.groups_of(corpus.words, tags)
    parts = {ref: part for ref, part in _parts(spec).items() if ("predictions", ref) in values}
    rows: dict[str, list[dict[str, Any]]] = {"divergence": [], "states": [], "coloured": []}
    for ref, part in parts.items():
        predictions = values["predictions", ref]
        rows["divergence"] += report.divergence_rows(ref, part, predictions, groups)
        if ("changes", ref) in values:
            similarity, changes = values.get(("states", ref)), values["changes", ref]
            rows["states"] += report.state_rows(ref, part, similarity, changes, predictions, groups)
        if part == COMPARED:
            rows["coloured"] += report.shown_rows(ref, predictions, corpus.words)
    made = {
        "divergence": pd.DataFrame(rows["divergence"], columns=report.DIVERGENCE),
        "gaps": pd.DataFrame(_gaps(outputs, parts), columns=report.GAPS),
        "states": pd.DataFrame(rows["states"], columns=report.STATES),
        "coloured": pd.DataFrame(rows["coloured"], columns=report.SHOWN),
    }
    statements = report.statements_of(made, spec.base)
    causal = "causal" in (ready.values[HEAD, ref] for ref in parts)
    return Findings(
        headline=report.make_headline(statements),
        statements=statements,
        tables=made,
        notices=(
            _unread(corpus),
            *sentence_notices(len(corpus.sentences)),
            *([base_left_out(spec.base)] if spec.base in (*_named(spec), *spec.others) else []),
        ),
        models=(spec.base, *parts),
        corpus=corpus,
        methods=report.said(
            "methods",
            **vars(spec),
            read=report.said("causal" if causal else "masked", how=MASKING[spec.masking]),
            tags="the text's own" if _own_tags(corpus) else "those of the included parser",
        ),
    )


def _parts(spec: DivergenceSpec) -> dict[str, str]:
    """The models that are compared with the base, and whether each is a baseline."""
    compared = dict.fromkeys(_named(spec), COMPARED)
    parts = compared | {ref: BASELINE for ref in spec.others if ref not in compared}
    return {ref: part for ref, part in parts.items() if ref != spec.base}


def _named(spec: DivergenceSpec) -> list[str]:
    """The compared models that references and patterns name; the base may be among them."""
    from core.models.patterns import matching_refs

    return [ref for text in spec.compare for ref in matching_refs(text)]


def _own_tags(corpus: Corpus) -> tuple[str, ...]:
    """The text's own parts of speech, word by word; none where a sentence has none."""
    if any(sentence.upos is None for sentence in corpus.sentences):
        return ()
    return tuple(tag for sentence in corpus.sentences for tag in sentence.upos or ())


def _unread(corpus: Corpus) -> str:
    """Why the parser's tags would mean nothing; "" of a text with its own, or that it can read."""
    return "" if _own_tags(corpus) else foreign_notice(corpus.words)


def _gaps(outputs: Outputs, parts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Compare each model's divergence with each baseline's."""
    gaps = (
        report.gap_row(*pair, *(outputs.values["predictions", ref] for ref in pair))
        for pair in product(parts, parts)
        if [parts[ref] for ref in pair] == [COMPARED, BASELINE]
    )
    return [gap for gap in gaps if gap is not None]


STUDY = Study(
    name="divergence",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=DivergenceSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=(*CITATIONS, "merchant2020"),
    views=(View(draw=draw_words, choices=coloured_models, first=first_models),),
)
