"""Between the weights: can two networks be averaged?

If the spaces of two seeds agree up to a map, their weights might too, up to the order of units and
heads. Every two models are joined by a straight line, as they are and in matched orders.

References: Frankle et al. 2020 (linear mode connectivity); Entezari et al. 2022 and Ainsworth,
Hayase & Srinivasa 2023 (permutations); Verma & Elbayad 2024 (Transformers); Theus et al. 2025
(rotations of the residual stream); Jordan et al. 2023 (why averages shrink). Deviations: see
`core.maths.permutations`; the residual stream is not permuted.

The headline's number: `core.maths.permutations.excess_of`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from core.maths.statistics import sentence_counts
from core.models.steps import origin_of
from core.studies.alignment.barrier.charts import figures
from core.studies.alignment.barrier.spec import BarrierSpec
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS, barrier_tables
from core.studies.alignment.barrier.tasks import (
    FOLDED,
    MATCHED,
    NORMS,
    RANDOM,
    RAW,
    ROTATED,
    measure_barrier,
)
from core.studies.alignment.barrier.text import make_headline, make_methods, statements_of
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    View,
    contents,
    sentence_notices,
    words_beside,
)

if TYPE_CHECKING:
    pass

CITATIONS = (
    *("frankle2020", "entezari2022", "ainsworth2023", "verma2024", "theus2025", "jordan2023"),
    "ashkboos2024",
)
WAYS = {ONE_ORIGIN: (RAW, RANDOM), OTHER_ORIGINS: (RAW, MATCHED, NORMS, FOLDED, ROTATED, RANDOM)}


def plan(spec: BarrierSpec, ready: Outputs) -> list[Task]:
    """Make a task for every two models that were identified; roles are (first, second).

    Raises:
        CorpusError: If the text could not be read.
    """
    content = contents(ready)
    if spec.base not in content:
        return []
    refs = [ref for ref in dict.fromkeys(spec.models) if ref in content]
    return [
        Task.of(
            f"{first} and {second}",
            measure_barrier,
            role=(first, second),
            group=first,
            first=first,
            second=second,
            base=spec.base,
            first_identity=content[first],
            second_identity=content[second],
            base_identity=content[spec.base],
            sentences=ready.need("text").words,
            ways=WAYS[relation_of(first, second)],
            seed=spec.seed,
        )
        for first, second in combinations(refs, 2)
    ]


def relation_of(first: str, second: str) -> str:
    """Say whether two models come from one base or run, by what their cards name."""
    return ONE_ORIGIN if origin_of(first) == origin_of(second) else OTHER_ORIGINS


def collect(spec: BarrierSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `barriers` (BARRIERS) and `paths` (PATHS), and what is said of them."""
    corpus, values = ready.need("text"), outputs.values
    scored = len(corpus.words[0::2])
    counts = sentence_counts(scored, spec.draws, np.random.default_rng(spec.seed))
    relations = {pair: relation_of(*pair) for pair in values}
    ways = {pair: WAYS[relation] for pair, relation in relations.items()}
    barriers, paths = barrier_tables(values, ways, relations, counts)
    statements = statements_of(paths)
    unmatched = [
        pair for pair, value in values.items()
        if MATCHED in ways[pair] and len(value["ordered"]) < 2
    ]  # fmt: skip
    unturned = [
        pair for pair, value in values.items() if ROTATED in ways[pair] and not value["rotated"]
    ]
    notices = [
        f"{first} and {second} are matched by "
        f"{' and '.join(values[first, second]['ordered']) or 'neither units nor heads'} alone: "
        "the others cannot be put in another order without another function."
        for first, second in unmatched
    ]
    if unturned:
        notices.append(
            "States were not rotated, because the norms of these models subtract the mean or are "
            "not known, so that a rotation changes what they compute."
        )
    return Findings(
        {"barriers": barriers, "paths": paths},
        make_headline(statements),
        statements=statements,
        notices=[*corpus.notices, *sentence_notices(scored), *notices],
        methods=make_methods(spec, scored, len(corpus.words[1::2])),
        models=(*dict.fromkeys(ref for pair in values for ref in pair), spec.base),
        corpus=corpus,
        cites=CITATIONS,
    )


STUDY = Study(
    name="align barrier",
    words=words_beside(__file__),
    Spec=BarrierSpec,
    plan=plan,
    collect=collect,
    views=(View(draw=figures),),
)
