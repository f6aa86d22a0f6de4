"""The seed-alignment study: do two models learn the same space up to a bijection?

`prepare` reads the text and identifies the models. `plan` makes, for every pair of models, one task
for the controls and linear maps and one for each non-linear map, which are slow, with both
directions in each, and one task for the map of every layer of the first pair into every other.
`collect` makes tidy tables, intervals over models and held-out words, the headline and the methods
paragraph.

Reference: arXiv 2305.14555, *All Roads Lead to Rome?*. Deviations and their reasons: see
the last caveat in `words.toml`.

The headline's number: `core.studies.alignment.seeds.bands.leave_out`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.errors import listed
from core.maths.maps.registry import METHODS
from core.models.identity import Identity, depths
from core.models.weights.auditing import describe_seeds, look_tasks, usable_seeds
from core.options import layer_numbers
from core.studies.alignment.seeds.spec import AGAIN, AlignSpec
from core.studies.alignment.seeds.statements import WINDOW, judged, statements_of
from core.studies.alignment.seeds.tables import (
    band_tables,
    error_table,
    grid_table,
    points_of,
    training_table,
)
from core.studies.alignment.seeds.tasks import (
    PARTS,
    SLOWEST,
    align_layers,
    align_pair,
    joined_parts,
)
from core.studies.alignment.seeds.text import make_headline, make_methods, make_notices
from core.studies.alignment.seeds.views import VIEWS
from core.studies.alignment.seeds.window import align_static
from core.studies.kit import (
    ComparedTable,
    Corpus,
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
    """Plan the first stage: read the text and identify the models.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.
    """
    return [*prepare_named(spec, texts), *look_tasks(spec.refs)]


def plan(spec: AlignSpec, ready: Outputs) -> list[Task]:
    """Plan the tasks of a study from the outputs of its first stage, leaving out models that could
    not be found and copies.

    Roles are (group, one, other, methods), with the part of the layers at the end where they are
    shared out, and "grid".

    Raises:
        CorpusError: If the text could not be read.
    """
    identified = identities(ready)
    sentences = ready.need("text").words
    tasks: list[Task] = []
    usable = {group: usable_seeds(ready, refs) for group, refs in spec.groups.items()}
    pairs = [pair for pair in spec.pairs() if {*pair[1:]} <= {*usable[pair[0]]}]
    for group, first, second in pairs:
        if first not in identified or second not in identified:
            continue
        slow, quick, static = _kinds(spec, group)
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
        for methods in [*slow, quick] if quick else slow:
            name = (
                f"{first} ↔ {second}: "
                f"{METHODS[methods[0]].label if methods in slow else 'linear maps and controls'}"
            )
            arguments = {**common, "methods": methods, "layers": layers}
            role = (group, first, second, methods)
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
                tasks.append(Task.of(name, align_pair, role=role, group=second, **arguments))
        if static:
            tasks.append(
                Task.of(
                    f"{first} ↔ {second}: static window",
                    align_static,
                    role=(group, first, second, static),
                    group=second,
                    methods=static,
                    layers=layers,
                    **common,
                )
            )
        if spec.grid and (group, first, second) == pairs[0]:
            name = f"{first} → {second}: every layer into every layer"
            tasks.append(
                Task.of(name, align_layers, role="grid", group=second, **common, method=spec.grid)
            )
    return tasks


def _layers(spec: AlignSpec, first: Identity, second: Identity) -> tuple[int, ...]:
    """The layers of a pair to map; none for all."""
    if first.layers != second.layers:  # the task refuses the pair
        return tuple(layer for layer in spec.layers if layer != layer_numbers.EVERY_LAYER)
    layers = layer_numbers.layers_of(spec.layers, first.layers)
    return () if layers == tuple(range(first.layers + 1)) else layers


def _kinds(
    spec: AlignSpec, group: str
) -> tuple[list[tuple[str, ...]], tuple[str, ...], tuple[str, ...]]:
    """The maps of a group by task: one each, all at once, those of the static window."""
    kinds = {name: METHODS[name].kind for name in spec.methods_of(group)}
    slow: list[tuple[str, ...]] = [(name,) for name, kind in kinds.items() if kind == "non-linear"]
    quick = tuple(name for name, kind in kinds.items() if kind in ("control", "linear"))
    static = tuple(
        name for name, kind in kinds.items() if kind == "static" and spec.items == "words"
    )
    return slow, quick, static


def collect(spec: AlignSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the result from the outputs of the tasks.

    Returns:
        A result with the tables `alignment` (`tables.COLUMNS`), `layers` (group, method, words,
        layer, nmse, low, high), `methods` (the same averaged over layers), `differences` (group,
        method, other_group, other_method, words, difference, low, high, level), and where there are
        any `curves` (source, target, method, layer, step, training, validation, converged), `gains`
        (`tables.GAINS`: the layers compared with the static window) and `grid` (source_layer,
        target_layer, nmse). Arrays hold the projections of the space, see `tables.points_of`.
    """
    values = joined_parts({role: outputs.values[role] for role in outputs.values if role != "grid"})
    if all(group == AGAIN for group, *_ in values):
        values = {}  # a second run is compared with pairs, of which none is left
    tables = {"alignment": error_table(values)}
    tables["layers"], tables["methods"], tables["differences"], gains = band_tables(spec, values)
    optional = {"gains": gains, "curves": training_table(values)}
    tables |= {name: table for name, table in optional.items() if len(table)}
    if "grid" in outputs.values:
        tables["grid"] = grid_table(outputs.values["grid"]["nmse"])
    corpus: Corpus = ready.values["text"]
    said_of_seeds = [
        notice
        for group, seeds in spec.groups.items()
        if group != AGAIN  # which should be related
        for notice in describe_seeds(ready, seeds)
    ]
    refs = tuple(dict.fromkeys(ref for _, first, second, _ in values for ref in (first, second)))
    statements = statements_of(
        tables["methods"], tables["layers"], tables["differences"], tables.get("gains")
    )
    deep = {ref: count for ref, count in depths(ready).items() if ref in refs}
    some = layer_numbers.some_read(spec.layers, deep)
    return Findings(
        headline=make_headline(statements, judged(tables["methods"])),
        statements=statements,
        tables=tables,
        arrays=points_of(spec, values),
        notices=[*([some] if some else []), *corpus.notices, *said_of_seeds, *make_notices(values)],
        models=refs,
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences), deep)
        + _reaches_in_words(tables["alignment"]),
        cites=CITATIONS,
    )


def _reaches_in_words(errors: pd.DataFrame) -> str:
    """Say how far the maps from the static window read, for the methods paragraph."""
    once = (errors["split"] == "test") & (errors["words"] == "all")
    chosen = errors.loc[once & (errors["method"] == WINDOW), "reach"].dropna().astype(int)
    clauses = [
        f"{count} read {reach}" for reach, count in chosen.value_counts().sort_index().items()
    ]
    if not clauses:
        return ""
    return (
        f" Of the {len(chosen)} maps from the static window, {listed(clauses)} words to each side, "
        "as validation rows chose; the table of errors names reach and ridge penalty of each map."
    )


STUDY = Study(
    name="align",
    words=words_beside(__file__).filled(reach=max(REACHES)),
    Spec=AlignSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
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
