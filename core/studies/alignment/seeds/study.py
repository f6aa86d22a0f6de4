"""The seed-alignment study: do two models learn the same space up to a bijection?

`prepare` reads the text and identifies the models. `plan` makes, for every pair of models, one task
for the controls and linear maps and one for each non-linear map, which are slow, with both
directions in each, and one task for the map of every layer of the first pair into every other.
`collect` makes tidy tables, intervals over models and held-out words, the headline and the methods
paragraph.

Reference: arXiv 2305.14555, *All Roads Lead to Rome?*. Deviations and their reasons: see
the last caveat in `words.toml`.

The headline's number: `core.maths.evaluation.bands.leave_out`. `tables.estimates_of` calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import core.studies.alignment.seeds.statements as stating
from core.maths.maps.registry import METHODS
from core.models.identity import Identity, depths
from core.models.weights.auditing import describe_seeds, look_tasks, usable_seeds
from core.options import layer_numbers
from core.studies.alignment.seeds.spec import AGAIN, AlignSpec
from core.studies.alignment.seeds.tables import (
    band_tables,
    cells,
    error_table,
    estimates_of,
    points_of,
    training_table,
)
from core.studies.alignment.seeds.tasks import (
    PARTS,
    SLOWEST,
    align_layers,
    align_pair,
    joined_roles,
    maps_by_task,
)
from core.studies.alignment.seeds.text import (
    make_headline,
    make_methods,
    make_notices,
    reaches_in_words,
)
from core.studies.alignment.seeds.views import VIEWS
from core.studies.alignment.seeds.window import align_static
from core.studies.kit import (
    ComparedTable,
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    identities,
    prepare_named,
    sink_argument,
    words_beside,
)
from core.vectors.window import REACHES

CITATIONS = ("ren2023", "dinh2017", "schonemann1966", "saunders1998", "raghu2017", "morcos2018")


def prepare(spec: AlignSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text and identify the models."""
    return [*prepare_named(spec, texts), *look_tasks(spec.refs)]


def plan(spec: AlignSpec, ready: Outputs) -> list[Task]:
    """Plan the tasks of models that were found and are no copies; roles are (group, one, other,
    methods), with the part of the layers at the end where they are shared out, and "grid". Raises
    CorpusError if the text could not be read."""
    identified = identities(ready)
    sentences = ready.need("text").words
    tasks: list[Task] = []
    usable = {group: usable_seeds(ready, refs) for group, refs in spec.groups.items()}
    pairs = [pair for pair in spec.pairs() if {*pair[1:]} <= {*usable[pair[0]]}]
    for group, first, second in pairs:
        if first not in identified or second not in identified:
            continue
        layers = _layers(spec, identified[first], identified[second])
        common: dict[str, Any] = {
            "one": first,
            "other": second,
            "one_identity": identified[first].content,
            "other_identity": identified[second].content,
            "sentences": sentences,
            "items": spec.items,
            "split": spec.split,
            "seed": spec.seed,
            **sink_argument(spec.sinks, ready, first, second),
        }
        for methods, label in maps_by_task(spec.methods_of(group)).items():
            name, role = f"{first} ↔ {second}: {label}", (group, first, second, methods)
            arguments = {**common, "methods": methods, "layers": layers}
            if methods == SLOWEST and len(layers) != 1:
                tasks += [
                    Task.of(
                        f"{name}, part {part + 1} of {PARTS}",
                        align_pair,
                        role=(*role, part),
                        group=second,
                        **arguments,
                        part=part,
                    )
                    for part in range(PARTS)
                ]
            else:
                align = align_static if METHODS[methods[0]].kind == "static" else align_pair
                tasks.append(Task.of(name, align, role=role, group=second, **arguments))
        if spec.grid and (group, first, second) == pairs[0]:
            name = f"{first} → {second}: every layer into every layer"
            tasks.append(
                Task.of(name, align_layers, role="grid", group=second, **common, method=spec.grid)
            )
    return tasks


def _layers(spec: AlignSpec, first: Identity, second: Identity) -> tuple[int, ...]:
    """Choose the layers of a pair to map; () stands for all."""
    if first.layers != second.layers:  # the task refuses the pair
        return tuple(layer for layer in spec.layers if layer != layer_numbers.EVERY_LAYER)
    layers = layer_numbers.layers_of(spec.layers, first.layers)
    return () if layers == tuple(range(first.layers + 1)) else layers


def collect(spec: AlignSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `alignment` (COLUMNS), `layers` (by layer) and `methods` (BANDS),
    `differences`, where there are any `curves`, `gains` and `grid` (source_layer, target_layer,
    nmse), and the arrays of `points_of`."""
    values = joined_roles({role: outputs.values[role] for role in outputs.values if role != "grid"})
    if all(group == AGAIN for group, *_ in values):
        values = {}  # a second run is compared with pairs, of which none is left
    layers, methods, differences, gains = band_tables(spec, estimates_of(values))
    tables = {"alignment": error_table(values), "layers": layers, "methods": methods}
    tables["differences"] = differences
    optional = {"gains": gains, "curves": training_table(values)}
    tables |= {name: table for name, table in optional.items() if len(table)}
    if "grid" in outputs.values:
        nmse = outputs.values["grid"]["nmse"]
        axes = dict(zip(("source_layer", "target_layer"), map(range, nmse.shape), strict=True))
        tables["grid"] = cells(axes, {"nmse": nmse})
    corpus = ready.need("text")
    related = [
        notice
        for group, seeds in spec.groups.items()
        if group != AGAIN  # which should be related
        for notice in describe_seeds(ready, seeds)
    ]
    refs = tuple(dict.fromkeys(ref for _, first, second, _ in values for ref in (first, second)))
    statements = stating.statements_of(methods, layers, differences, gains)
    of_views = stating.view_statements(tables, spec.models, spec.grid)
    deep = {ref: count for ref, count in depths(ready).items() if ref in refs}
    some = layer_numbers.some_read(spec.layers, deep)
    return Findings(
        headline=make_headline(statements, stating.judged(methods)),
        statements=(*statements, *of_views),
        tables=tables,
        arrays=points_of(spec, values),
        notices=[some, *related, *make_notices(values)],
        models=refs,
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences), deep)
        + reaches_in_words(tables["alignment"]),
    )


STUDY = Study(
    name="align",
    words=words_beside(__file__).filled(reach=max(REACHES)),
    Spec=AlignSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=VIEWS,
    compared=ComparedTable(
        "methods",
        ("group", "method", "words"),
        "nmse",
        along="",
        drawn=(("group", "models"), ("words", "all")),
    ),
    light=True,
)
