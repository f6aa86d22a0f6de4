"""The RSA study: in which layers do fine-tuned models differ from their base, and by how much?

A compared model has three tasks, for its states, for the functions of its layers and for random
changes of them, a reference model one; a grid of layers and a second text are tasks of their own.

Reference:
    Merchant et al. 2020, BlackboxNLP, What Happens To BERT Embeddings During Fine-tuning?
Deviations: any of nine measures; bands, nulls and references are added.

The headline's number: `core.maths.similarity.scoring.distance_ratios`. Without functions it is a
similarity of `core.maths.similarity.scoring.score`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import core.studies.rsa.layers.notice_text as notice_text
import core.studies.rsa.layers.runs as runs
import core.studies.rsa.layers.tables as layers_tables
import core.studies.rsa.layers.tasks as layers_tasks
from core.errors import SpecError
from core.maths.similarity.registry import MEASURES
from core.maths.similarity.scoring import COVERAGE
from core.models.identity import describe_copies
from core.results.names import corpus_name
from core.studies.kit import (
    ComparedTable,
    Corpus,
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    change_tasks,
    changes_of,
    contents,
    given_task,
    identities,
    identity_tasks,
    sink_argument,
    start_notices,
    text_task,
    words_beside,
)
from core.studies.rsa.layers.differences import (
    equal_statements,
    function_statements,
    statements_of,
    view_statements,
)
from core.studies.rsa.layers.random_changes import PART as RANDOM_PART
from core.studies.rsa.layers.random_changes import RANDOM, compare_random
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.text import make_headline
from core.studies.rsa.layers.views import VIEWS
from core.vectors.pairs import Items, choose_items

CITATIONS = ("merchant2020", "kriegeskorte2008", "groger2026")
TASKS: dict[str, tuple[str, Any]] = {  # part -> name in progress and failures, function
    "model": ("{}", layers_tasks.compare_models),
    "grid": ("all pairs of layers of {}", layers_tasks.compare_layers),
    runs.FUNCTION: ("layer functions of {}", layers_tasks.compare_functions),
    RANDOM_PART: ("random changes of {}", compare_random),
    "reference": ("{} for reference", layers_tasks.compare_models),
    "against": ("{} on the second text", layers_tasks.compare_models),
}


def prepare(spec: RsaSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Read the texts, of which some may come with the request (by CorpusRef), and identify the
    models."""
    tasks = [text_task(spec.corpus, spec.genres, spec.sentences, texts)]
    if spec.second_corpus:
        tasks.append(text_task(*spec.second_corpus, spec.sentences, texts, role="second text"))
    compared = replace(
        runs.find_compared(spec.base, spec.compare), references=runs.find_references(spec)
    )
    tasks += identity_tasks((spec.base, *compared.refs, *compared.references))
    return [*tasks, given_task(runs.COMPARED, compared), *change_tasks(spec.base, compared.refs)]


def plan(spec: RsaSpec, ready: Outputs) -> list[Task]:
    """Make the study's tasks from the outputs of its first stage; a model that was not found, or is
    a copy of another, has none. Raises ModelError without the base, CorpusError without a text."""
    content = contents(ready)
    base = ready.need(("identity", spec.base)).content
    first = _choose_items(spec, ready.need("text"))
    second = _choose_items(spec, ready.need("second text")) if spec.second_corpus else first
    shares = _shares(spec, ready)
    how = _settings(spec)

    def task(part: str, model: str) -> Task:
        name, function = TASKS[part]
        more: dict[str, Any] = {} if part == "grid" else {"seed": spec.seed}
        return Task.of(
            name.format(model),
            function,
            role=(part, model),
            group=spec.base,
            base=spec.base,
            other=model,
            base_identity=base,
            other_identity=content[model],
            items=second if part == "against" else first,
            how=how,
            share=1.0 if part == "reference" else shares[model],
            **sink_argument(spec.sinks, ready, spec.base, model),
            **more,
        )

    copies = runs.copies_of(ready)
    compared = [ref for ref in shares if ref in content and ref not in copies]
    tasks = [task("model", ref) for ref in compared]
    tuned = runs.tuned_models(spec, ready)
    tasks += [task(runs.FUNCTION, ref) for ref in compared if ref in tuned]
    if tuned and runs.fits_whole(identities(ready)[spec.base]):
        tasks += [task(RANDOM_PART, ref) for ref in compared if ref in tuned]
    tasks += [
        task("reference", ref) for ref in ready.values[runs.COMPARED].references if ref in content
    ]
    tasks += [task("grid", ref) for ref in compared if spec.grid]
    return tasks + [task("against", ref) for ref in compared if spec.second_corpus]


def collect(spec: RsaSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `similarity` (CURVES), `functions` (the same of outputs on the base's input),
    `random_functions` (RATIOS), `references`, `runs` (before runs are pooled), `grid` and `domains`
    (corpus and CURVES), each where asked for, and what is said of them."""
    corpus: Corpus = ready.values["text"]
    values, measure = outputs.values, MEASURES[spec.measure]
    compared: runs.Compared = ready.values[runs.COMPARED]
    shares, tables = _shares(spec, ready), _tables(spec, ready, values)
    ratios, empty = tables.get("random_functions"), layers_tables.curve_rows({})
    statements = (
        *statements_of(tables["similarity"], tables.get("references", empty), spec.base),
        *function_statements(tables.get("functions", empty), spec.base, ratios),
        *equal_statements(tables["similarity"], spec.base),
        *view_statements(tables, spec.base),
    )
    models = _scored(values, "model", compared.refs)
    items = int(values["model", models[0]]["items"]) if models else 0
    methods = notice_text.make_methods(spec, tuple(models), items, len(corpus.sentences))
    methods += f" {notice_text.said('functions')}" if "functions" in tables else ""
    methods += f" {RANDOM}" if ratios is not None else ""
    return Findings(
        headline=make_headline(statements, measure.label),
        statements=statements,
        tables=tables,
        notices=[
            *compared.notices,
            *describe_copies(runs.copies_of(ready)),
            *runs.pooled_by_name(_runs(spec, models)),
            *(ready.values["second text"].notices if spec.second_corpus else ()),
            *notice_text.measure_notices(spec, values),
            *start_notices(spec.base, changes_of(ready)),
            *notice_text.size_notices(spec, tables["similarity"]),
            *runs.function_notices(spec, ready),
        ],
        failures={
            ref: notice_text.said("without_size") for ref in compared.refs if ref not in shares
        },
        models=(spec.base, *models, *_scored(values, "reference", compared.references)),
        corpus=corpus,
        methods=methods,
        cites=measure.references,
    )


def _tables(spec: RsaSpec, ready: Outputs, values: Mapping[Any, Value]) -> dict[str, pd.DataFrame]:
    """Make the tables of `collect`."""
    compared: runs.Compared = ready.values[runs.COMPARED]
    models = _scored(values, "model", compared.refs)
    groups = _runs(spec, models)
    sizes, shares = _sizes(ready, compared.refs), _shares(spec, ready)
    apart = {ref: change.apart for ref, change in changes_of(ready).items()}

    def of(part: str, refs: Sequence[str] = models) -> dict[str, Value]:
        return {ref: values[part, ref] for ref in _scored(values, part, refs)}

    def curves(part: str) -> pd.DataFrame:
        rows = layers_tables.curve_rows(of(part))
        columns = {"relative_change": sizes, "apart": apart, "scaled": shares}
        return rows.assign(
            **{name: rows["model"].map(given).astype(float) for name, given in columns.items()}
        )

    def pooled(part: str) -> pd.DataFrame:
        rows = layers_tables.pool_rows(curves(part), groups, MEASURES[spec.measure].lowest)
        return layers_tables.with_calibrated(rows)[list(layers_tables.CURVES)]

    tables = {"similarity": pooled("model")}
    if any(role[0] == runs.FUNCTION for role in values):
        tables["functions"] = pooled(runs.FUNCTION)
    if random := of(RANDOM_PART):
        tables["random_functions"] = layers_tables.ratio_rows(random, groups)
    if len(groups) < len(models):
        tables["runs"] = layers_tables.with_calibrated(curves("model"))
    if spec.references:
        tables["references"] = layers_tables.with_calibrated(
            layers_tables.curve_rows(of("reference", compared.references))
        )
    if spec.grid:
        tables["grid"] = layers_tables.grid_rows(of("grid"))
    if spec.second_corpus:
        texts = {
            corpus_name(spec.corpus, spec.genres): tables["similarity"],
            corpus_name(*spec.second_corpus): pooled("against"),
        }
        named = [rows.assign(corpus=name) for name, rows in texts.items()]
        rows = pd.concat(named, ignore_index=True)
        tables["domains"] = rows[["corpus", *layers_tables.CURVES]]
    return tables


def _scored(values: Mapping[Any, Value], part: str, refs: Sequence[str]) -> list[str]:
    """List the models of which this part was computed."""
    return [ref for ref in refs if (part, ref) in values]


def _runs(spec: RsaSpec, models: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Group the models that are drawn as one curve, by its name."""
    return runs.runs_of(spec.base, models) if spec.pool_runs else {ref: (ref,) for ref in models}


def _settings(spec: RsaSpec) -> layers_tasks.Settings:
    """Give the options of a comparison; influential words are named only where some are dropped."""
    chosen: dict[str, Any] = {"standardise": spec.standardise, "drop_rogue": spec.drop_rogue}
    if spec.measure == "rsa":
        chosen |= {"kernel": spec.kernel, "comparison": spec.comparison}
    if spec.drop_influential:
        return layers_tasks.Trimmed(spec.measure, drop_influential=spec.drop_influential, **chosen)
    return layers_tasks.Settings(spec.measure, **chosen)


def _choose_items(spec: RsaSpec, corpus: Corpus) -> Items:
    """Choose the sentences that hold items and, for words, the positions of the sampled ones."""
    text = corpus.words
    if spec.items != "words":
        return Items(text, (), spec.items)
    return choose_items(text, spec.words, spec.seed, spec.one_per_word)


def _sizes(ready: Outputs, refs: Sequence[str]) -> dict[str, float]:
    """Give the relative size of each model's weight change; NaN where it has none."""
    changes = changes_of(ready)
    return {ref: changes[ref].size if ref in changes else np.nan for ref in refs}


def _shares(spec: RsaSpec, ready: Outputs) -> dict[str, float]:
    """Give the share of its weight change that each model keeps; a model without a size cannot be
    matched. Raises SpecError if sizes are to be matched and no model has one."""
    sizes = _sizes(ready, ready.values[runs.COMPARED].refs)
    if not spec.matched_size:
        return dict.fromkeys(sizes, 1.0)
    measured = {ref: size for ref, size in sizes.items() if size > 0}
    if not measured:
        raise SpecError(notice_text.said("no_size"))
    return {ref: min(measured.values()) / size for ref, size in measured.items()}


STUDY = Study(
    name="rsa",
    words=words_beside(__file__).filled(coverage=COVERAGE),
    Spec=RsaSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=VIEWS,
    compared=ComparedTable("similarity", ("model", "layer"), "similarity"),
    light=True,
)
