"""Layer swap: layers of a fine-tune are replaced by its base's, and the task is scored again.

Similarity says which layers differ; this study says which of the differences the task's score
needs. Base and fine-tune share a space, so no map between them is needed. Every swap is compared
with baselines that may explain its loss: a random change of equal size, random weights, a removed
layer, the majority baseline.

Reference:
    Merchant et al. 2020, BlackboxNLP, What Happens To BERT Embeddings During Fine-tuning?
    (freezing, truncation).
Deviations: nothing is trained here, so a truncated model keeps its head; frozen models are the
included ones.

The headline's number: `core.studies.rsa.swap.tables.exchange_rows`, its column `loss`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.errors import CorpusError, TaskError
from core.models import read_manifest
from core.models.identity import Identity, depths
from core.options import layer_numbers
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    contents,
    given_task,
    identities,
    identity_tasks,
    sentence_notices,
    words_beside,
)
from core.studies.rsa.layers.runs import COMPARED, find_compared
from core.studies.rsa.swap.charts import draw_swaps
from core.studies.rsa.swap.spec import SwapSpec
from core.studies.rsa.swap.tables import exchange_rows, own_row
from core.studies.rsa.swap.text import (
    NOTHING,
    controls_of,
    make_headline,
    make_methods,
    make_notices,
    said,
    statements_of,
    unread_notices,
)
from core.vectors.examples import METRICS, Examples, chance, examples_task

CITATIONS = ("merchant2020", "lenc2015")


def prepare(spec: SwapSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Identify the models, read what they are scored on. Raises SpecError if a pattern matches
    nothing, or if there is no model but the base."""
    compared = find_compared(spec.base, spec.compare)
    siblings = {sibling for ref in compared.refs for sibling in frozen_siblings(spec, ref)}
    given = (texts or {}).get(spec.corpus)
    return [
        examples_task(
            compared.refs, spec.labelled, spec.corpus, spec.sentences, spec.genres, given
        ),
        given_task(COMPARED, compared),
        *identity_tasks((spec.base, *compared.refs, *sorted(siblings))),
    ]


def plan(spec: SwapSpec, ready: Outputs) -> list[Task]:
    """Make two tasks for each fine-tune that can be scored, with layers of its base and with random
    changes, and one for each of its frozen siblings. Raises ModelError without the base,
    CorpusError if a text could not be read or has one sentence, which cannot be resampled."""
    from core.studies.rsa.swap.tasks import score_task, swap_changes, swap_layers

    examples: Examples = ready.need("examples")
    base = ready.need(("identity", spec.base)).content
    content = contents(ready)
    tasks: dict[Any, Task] = {}
    for ref, head in examples.heads.items():
        if ref not in content:
            continue
        pairs = examples.pairs[head.kind]
        if len(pairs) < 2:
            raise CorpusError(said("one_example", corpus=examples.corpus.ref))
        common: dict[str, Any] = {
            "base": spec.base,
            "model": ref,
            "base_identity": base,
            "model_identity": content[ref],
            "pairs": pairs,
        }
        reverted, randomised = _swapped_layers(spec, identities(ready)[ref])
        if reverted:
            common["layers"] = reverted
        random = spec.random and not spec.base.startswith("random:")
        drawn: dict[str, Any] = (
            {"random_layers": randomised} if random and randomised != reverted else {}
        )
        tasks["swap", ref] = Task.of(
            ref,
            swap_layers,
            role=("swap", ref),
            group=spec.base,
            **common,
            random=random,
            **drawn,
        )
        tasks["changes", ref] = Task.of(
            f"{ref}: random changes",
            swap_changes,
            role=("changes", ref),
            group=spec.base,
            **(common | ({"layers": randomised} if randomised else {})),
            noises=spec.noises,
            seed=spec.seed,
        )
        for sibling in frozen_siblings(spec, ref):
            if sibling in content:
                tasks["frozen", sibling] = Task.of(
                    sibling,
                    score_task,
                    role=("frozen", sibling),
                    group=sibling,
                    model=sibling,
                    model_identity=content[sibling],
                    pairs=pairs,
                )
    return list(tasks.values())


def _swapped_layers(spec: SwapSpec, model: Identity) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Choose the layers of a fine-tune that are reverted and those that are changed at random; ()
    for all, which keeps the keys of small models' results."""
    layers = layer_numbers.layers_of_model(spec.layers, model.ref, model.layers)
    if layers == tuple(range(model.layers + 1)):
        return (), ()
    return layers, layer_numbers.control_layers(spec.layers, model.layers)


def frozen_siblings(spec: SwapSpec, ref: str) -> dict[str, int]:
    """Find included fine-tunes of the same task and base with frozen lower layers, and how many are
    frozen."""
    entries = {str(entry["ref"]): entry for entry in read_manifest()}
    mine = entries.get(ref)
    if not spec.frozen or mine is None or mine.get("frozen") or mine.get("base") != spec.base:
        return {}
    return {
        name: int(entry["frozen"])
        for name, entry in entries.items()
        if entry.get("frozen")
        and all(entry.get(key) == mine.get(key) for key in ("base", "task", "dose"))
    }


def collect(spec: SwapSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `swap` (COLUMNS of `tables`), `own` (the unmodified score of each model, its
    baseline, the checks), `sizes` and `frozen` (where there are some), and what is said of them.
    Raises TaskError if no model could be scored; the sentence says why for each."""
    examples: Examples = ready.values["examples"]
    changes = outputs.of("changes")
    swapped = {
        ref: value | changes[ref] for ref, value in outputs.of("swap").items() if ref in changes
    }
    if not swapped:
        reasons = (examples.refused, ready.sentences, outputs.sentences)
        raise TaskError(" ".join([NOTHING, *(why for each in reasons for why in each.values())]))
    tables = _tables(spec, examples, swapped, outputs)
    statements = statements_of(tables)
    metrics = {ref: METRICS[examples.heads[ref].kind] for ref in swapped}
    kinds = {examples.heads[ref].kind for ref in swapped}
    counts: dict[str, int] = {kind: len(examples.pairs[kind]) for kind in sorted(kinds)}
    frozen = tables["frozen"]["model"] if "frozen" in tables else ()
    deep = {ref: count for ref, count in depths(ready).items() if ref in swapped}
    return Findings(
        headline=make_headline(statements, metrics, tuple(examples.refused)),
        statements=statements,
        tables=tables,
        notices=(
            layer_numbers.some_read(spec.layers, deep, controls_of(spec)),
            *ready.values[COMPARED].notices,
            *unread_notices(spec, counts, examples.corpus.ref),
            *examples.refused.values(),
            *(notice for count in counts.values() for notice in sentence_notices(count)),
            *make_notices(tables, spec.base),
        ),
        models=(spec.base, *swapped, *frozen),
        corpus=examples.corpus,
        methods=make_methods(spec, deep, counts, examples.truth),
    )


_SCORE = ("score", "low", "high", "sentences")
_CHECKS = ("self_difference", "whole_difference", "frozen_difference")


def _tables(
    spec: SwapSpec, examples: Examples, swapped: Mapping[str, Value], outputs: Outputs
) -> dict[str, pd.DataFrame]:
    """The tables of `collect`, from the outputs of the fine-tunes that could be swapped."""
    rows, unmodified, sizes, frozen = [], [], [], []
    for ref, value in swapped.items():
        kind = examples.heads[ref].kind
        answer, guess = chance(kind, examples.pairs[kind])
        unmodified.append(
            own_row(ref, value, spec.draws, spec.seed)
            | {"task": kind, "answers": examples.truth[kind], "chance": guess, "commonest": answer}
            | {name: float(value[name]) for name in _CHECKS}
        )
        rows.append(exchange_rows(ref, value, guess, spec.draws, spec.seed))
        sizes.append(
            pd.DataFrame(
                {
                    "model": ref,
                    "layer": np.arange(len(value["sizes"])),
                    "relative_change": value["sizes"],
                    "unchanged": value["unchanged"],
                    "random_scale": value["noise_scale"],
                }
            )
        )
        frozen += _frozen_rows(spec, ref, outputs)
    tables = {
        "swap": pd.concat(rows, ignore_index=True),
        "own": pd.DataFrame(unmodified),
        "sizes": pd.concat(sizes, ignore_index=True),
    }
    return tables | ({"frozen": pd.DataFrame(frozen)} if frozen else {})


def _frozen_rows(spec: SwapSpec, ref: str, outputs: Outputs) -> list[dict[str, Any]]:
    """Unmodified scores of a fine-tune's frozen siblings."""
    rows = []
    for sibling, count in frozen_siblings(spec, ref).items():
        if ("frozen", sibling) in outputs.values:
            scored = own_row(sibling, outputs.values["frozen", sibling], spec.draws, spec.seed)
            scores = {name: scored[name] for name in _SCORE}
            rows.append({"model": sibling, "of": ref, "layer": count, **scores})
    return rows


STUDY = Study(
    name="swap",
    words=words_beside(__file__),
    Spec=SwapSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=draw_swaps, choices=lambda result: [(False,), (True,)]),),
)
