"""Between the weights: can two networks be averaged?

If the spaces of two seeds agree up to a map, their weights might too, up to the order of units and
heads. Every two models are joined by a straight line, as they are and in matched orders. Where a
fine-tune's head can be scored, its task is scored along the line, too.

References: Frankle et al. 2020 (linear mode connectivity); Entezari et al. 2022 and Ainsworth,
Hayase & Srinivasa 2023 (permutations); Verma & Elbayad 2024 (Transformers); Theus et al. 2025
(rotations of the residual stream); Jordan et al. 2023 (why averages shrink). Deviations: see
`core.maths.barrier`; the residual stream is not permuted.

The headline's number: `core.maths.barrier.excess_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np

from core.maths.statistics import sentence_counts
from core.models.loading.task_models import Head
from core.models.steps import origin_of
from core.studies.alignment.barrier.charts import figures
from core.studies.alignment.barrier.scoring import DRAWN, score_line
from core.studies.alignment.barrier.spec import BarrierSpec
from core.studies.alignment.barrier.tables import (
    ONE_ORIGIN,
    OTHER_ORIGINS,
    SCORED_WAYS,
    barrier_tables,
    base_table,
    score_tables,
)
from core.studies.alignment.barrier.tasks import (
    FOLDED,
    MATCHED,
    NORMS,
    RANDOM,
    RAW,
    ROTATED,
    have_heads,
    keep_order,
    measure_barrier,
)
from core.studies.alignment.barrier.text import (
    make_headline,
    make_methods,
    make_notices,
    statements_of,
)
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    View,
    contents,
    prepare_named,
    sentence_notices,
    words_beside,
)
from core.vectors.examples import METRICS, Examples, chance, examples_task

LOSSES, SCORES, ORIGIN = "losses", "scores", "origin"  # roles of tasks
CITATIONS = (
    *("frankle2020", "entezari2022", "ainsworth2023", "verma2024", "theus2025", "jordan2023"),
    "ashkboos2024",
)
WAYS = {ONE_ORIGIN: (RAW, RANDOM), OTHER_ORIGINS: (RAW, MATCHED, NORMS, FOLDED, ROTATED, RANDOM)}


def prepare(spec: BarrierSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text, identify the models, read what tasks are scored on, and
    compare the weights of two where nothing says that they share an origin."""
    reading = examples_task(spec.models, spec.labelled, spec.text, spec.sentences)
    unsaid = [
        Task.of(
            f"origin of {first} and {second}", keep_order, role=(ORIGIN, first, second),
            fleeting=True, first=first, second=second,
        )
        for first, second in combinations(dict.fromkeys(spec.models), 2)
        if "path:" in f"{first} {second}" and origin_of(first) != origin_of(second)
    ]  # fmt: skip
    return [*prepare_named(spec, texts), reading, *unsaid]


def plan(spec: BarrierSpec, ready: Outputs) -> list[Task]:
    """Plan a task for the losses of every two models that were identified, with the role (`LOSSES`,
    first, second), and one for each task that can be scored, (`SCORES`, model, other). Raises
    CorpusError if the text could not be read."""
    content = contents(ready)
    if spec.base not in content:
        return []
    pairs = [*combinations([ref for ref in dict.fromkeys(spec.models) if ref in content], 2)]
    words, examples = ready.need("text").words, examples_of(ready)
    lines = [*scored_lines(pairs, examples.heads)]
    scored = {frozenset(line[:2]) for line in lines}
    measured = [
        Task.of(
            f"{first} and {second}",
            measure_barrier,
            role=(LOSSES, first, second),
            group=first,
            first=first,
            second=second,
            base=spec.base,
            first_identity=content[first],
            second_identity=content[second],
            base_identity=content[spec.base],
            sentences=words,
            ways=WAYS[relation_of(first, second, ready)],
            seed=spec.seed,
        )
        for first, second in pairs
        if {first, second} not in scored or have_heads(first, second, spec.base)
    ]
    scoring = [
        Task.of(
            f"the task of {model}, to {partner}",
            score_line,
            role=(SCORES, model, partner),
            group=model,
            model=model,
            other=partner,
            base=spec.base,
            model_identity=content[model],
            other_identity=content[partner],
            base_identity=content[spec.base],
            interpolated=interpolated,
            pairs=examples.pairs[examples.heads[model].kind],
            sentences=words,
            ways=scored_ways(model, partner, ready),
            draws=DRAWN,
            seed=spec.seed,
        )
        for model, partner, interpolated in lines
    ]
    return [*measured, *scoring]


def examples_of(ready: Outputs) -> Examples:
    """Return what tasks are scored on; nothing where it could not be read, as the failures say."""
    return ready.values.get("examples") or Examples({}, {}, {}, {}, ready.need("text"))


def scored_lines(
    pairs: Iterable[tuple[str, str]], heads: Mapping[str, Head]
) -> Iterator[tuple[str, str, bool]]:
    """Yield each model that has a head, the other model of its pair, and whether both have heads
    for the same labels; one line of interpolated models is then enough for the pair."""
    for first, second in pairs:
        interpolated = first in heads and heads[first] == heads.get(second)
        for model, partner in ((first, second), (second, first))[: 1 if interpolated else 2]:
            if model in heads:
                yield model, partner, interpolated


def scored_ways(model: str, other: str, ready: Outputs) -> tuple[str, ...]:
    """Choose the orders in which a task is scored: as they are, and matched."""
    return tuple(way for way in WAYS[relation_of(model, other, ready)] if way in SCORED_WAYS)


def relation_of(first: str, second: str, ready: Outputs) -> str:
    """Say whether two models come from one base or run, by what their cards name, or by their
    weights."""
    near = any(ready.values.get((ORIGIN, *pair)) for pair in ((first, second), (second, first)))
    return ONE_ORIGIN if near or origin_of(first) == origin_of(second) else OTHER_ORIGINS


def collect(spec: BarrierSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `barriers` (BARRIERS) and `paths` (PATHS), where the base was joined
    `base_losses` (BASE_LOSSES), where a task was scored `scored` (SCORED) and `score_paths`
    (SCORE_PATHS), and what is said of them."""
    corpus = ready.need("text")
    values = outputs.of(LOSSES)
    scores = outputs.of(SCORES)
    examples = examples_of(ready)
    kinds = {model: examples.heads[model].kind for model, _ in scores}
    scored = len(corpus.words[0::2])
    counts = sentence_counts(scored, spec.draws, np.random.default_rng(spec.seed))
    relations = {pair: relation_of(pair[0], pair[1], ready) for pair in (*values, *scores)}
    ways = {pair: WAYS[relations[pair]] for pair in values}
    barriers, paths = barrier_tables(values, ways, relations, counts)
    base_losses = base_table(values, relations, spec.base, counts)
    scored_pairs, score_paths = score_tables(
        scores,
        {pair: scored_ways(pair[0], pair[1], ready) for pair in scores},
        relations,
        {
            model: (METRICS[kind], chance(kind, examples.pairs[kind])[1])
            for model, kind in kinds.items()
        },
        spec.draws,
        spec.seed,
    )
    statements = statements_of(paths, score_paths, base_losses, spec.base)
    tables = {"barriers": barriers, "paths": paths} if values or not scores else {}
    tables |= {"base_losses": base_losses} if len(base_losses) else {}
    tables |= {"scored": scored_pairs, "score_paths": score_paths} if scores else {}
    return Findings(
        tables,
        make_headline(statements),
        statements=statements,
        notices=[
            *sentence_notices(scored),
            *make_notices(spec, values, ways, bool(scores), examples.heads),
        ],
        methods=make_methods(
            spec,
            scored,
            len(corpus.words[1::2]),
            tuple(kinds),
            {examples.truth[kind] for kind in kinds.values()},
        ),
        models=(*dict.fromkeys(ref for pair in relations for ref in pair), spec.base),
        corpus=corpus,
    )


STUDY = Study(
    name="align barrier",
    words=words_beside(__file__),
    Spec=BarrierSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=figures),),
)
