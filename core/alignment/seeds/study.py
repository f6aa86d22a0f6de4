"""The seed-alignment study: do two models learn the same space up to a bijection?

prepare: the text is read, the models asked for. plan: for every pair of models one task for the controls and linear
maps and one for each non-linear map (they take their time), both directions in each, and one for the layer-by-layer
map of the first pair. collect: tidy tables, bands over models and held-out words, a headline that says what carries
over to words that no map was fitted on, and a methods paragraph.

Reference: arXiv 2305.14555, *All Roads Lead to Rome?*. Deviations, and why: see `METHOD_NOTE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.alignment.maps.registry import METHODS
from core.alignment.prices import align_price
from core.alignment.seeds import PURPOSE
from core.alignment.seeds.charts import figures
from core.alignment.seeds.spec import AlignSpec
from core.alignment.seeds.tables import band_tables, error_table, grid_table, points_of, training_table
from core.alignment.seeds.tasks import align_layers, align_pair
from core.alignment.seeds.text import CAVEATS, FORMULAS, make_headline, make_methods
from core.alignment.seeds.window import align_static
from core.models.identity import contents, identity_tasks
from core.results.export import Result, provenance
from core.results.papers.citing import cite
from core.runs.runner import Outputs, Task
from core.study import Study
from core.text.corpora import Corpus
from core.text.reading import Text, text_task

CITATIONS = ("ren2023", "dinh2017", "schonemann1966", "saunders1998", "raghu2017", "morcos2018")


def prepare(spec: AlignSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read the text, ask what the models are.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.
    """
    refs = [ref for group in spec.groups.values() for ref in group]
    return [text_task(spec.corpus, spec.genres, spec.sentences, texts), *identity_tasks(refs)]


def plan(spec: AlignSpec, ready: Outputs) -> list[Task]:
    """The tasks of a study, from what its first stage brought. A model that could not be found has none.

    Roles are (group, one, other, methods), and "grid".

    Raises:
        CorpusError: If the text could not be read.
    """
    content = contents(ready)
    sentences = ready.need("text").words
    slow = [(name,) for name in spec.methods if METHODS[name].kind == "non-linear"]
    quick = tuple(name for name in spec.methods if METHODS[name].kind in ("control", "linear"))
    static = tuple(name for name in spec.methods if METHODS[name].kind == "static" and spec.items == "words")
    tasks: list[Task] = []
    for group, first, second in spec.pairs():
        if first not in content or second not in content:
            continue
        common: dict[str, Any] = {
            "one": first,
            "other": second,
            "one_identity": content[first],
            "other_identity": content[second],
            "sentences": sentences,
            "items": spec.items,
            "split": spec.split,
            "seed": spec.seed,
        }
        for methods in [*slow, quick] if quick else slow:
            name = f"{first} ↔ {second}: {METHODS[methods[0]].label if methods in slow else 'linear maps and controls'}"
            arguments = {**common, "methods": methods, "layers": spec.layers}
            tasks.append(Task.of(name, align_pair, role=(group, first, second, methods), group=second, **arguments))
        if static:
            arguments = {**common, "methods": static, "layers": spec.layers}
            name = f"{first} ↔ {second}: static window"
            tasks.append(Task.of(name, align_static, role=(group, first, second, static), group=second, **arguments))
        if spec.grid and (group, first, second) == spec.pairs()[0]:
            name = f"{first} → {second}: layer into layer"
            tasks.append(Task.of(name, align_layers, role="grid", group=second, **common, method=spec.grid))
    return tasks


def collect(spec: AlignSpec, ready: Outputs, outputs: Outputs) -> Result:
    """Tables, headline, notices and methods from the tasks' outputs.

    Returns:
        A result with the tables `alignment` (`tables.COLUMNS`), `layers` (group, method, words, layer, nmse, low,
        high), `methods` (the same over all layers, without layer), `differences` (group, method, other_group,
        other_method, words, difference, low, high, level), and where there are any `curves` (source, target, method,
        layer, step, training, validation, converged), `gains` (`tables.GAINS`: what the layers add to the static
        window, and it to them) and `grid` (source_layer, target_layer, nmse). Arrays hold the pictures of the space,
        see `tables.points_of`.
    """
    values = {role: value for role, value in outputs.values.items() if role != "grid"}
    tables = {"alignment": error_table(spec, values)}
    tables["layers"], tables["methods"], tables["differences"], gains = band_tables(spec, values)
    if len(gains):
        tables["gains"] = gains
    curves = training_table(spec, values)
    if len(curves):
        tables["curves"] = curves
    if "grid" in outputs.values:
        tables["grid"] = grid_table(outputs.values["grid"]["nmse"])
    corpus: Corpus = ready.values["text"]
    refs = tuple(dict.fromkeys(ref for _, first, second, _ in values for ref in (first, second)))
    return Result(
        study="align",
        spec=spec.plain(),
        headline=make_headline(spec, tables["methods"], tables["layers"], tables["differences"]),
        tables=tables,
        arrays=points_of(spec, values),
        notices=tuple(dict.fromkeys([*corpus.notices, *_notices(spec, values)])),
        failures={**ready.failures, **outputs.failures},
        provenance=provenance(refs, corpus),
        methods=f"{make_methods(spec, len(corpus.sentences))} {spec.settings()}",
        citations=cite(CITATIONS),
    )


def _notices(spec: AlignSpec, values: Mapping[Any, Any]) -> list[str]:
    """What a reader of the numbers must see: rows left out, too few rows, refused methods, unfinished networks."""
    notices: list[str] = []
    for (_, first, second, methods), value in values.items():
        notices += value["notices"]
        width = max(value["d_one"], value["d_other"])
        if width >= value["rows"]:
            notices.append(
                f"{value['rows']} training rows are no more than {width} dimensions: least squares and CCA fit them "
                "exactly and mean nothing on held-out rows. Use more sentences, or read ridge and Procrustes."
            )
        for method in methods:
            if f"{method}/refused" in value:
                notices.append(f"{first} and {second}: {value[f'{method}/refused']}")
            if f"{method}/left_out" in value:
                notices.append(
                    f"{METHODS[method].label} was fitted on {value['rows'] - value[f'{method}/left_out']:,} of "
                    f"{value['rows']:,} training rows, drawn at random: its memory grows with their square."
                )
            if f"{method}/converged" in value and not value[f"{method}/converged"].all():
                left = int((~value[f"{method}/converged"].astype(bool)).sum())
                notices.append(
                    f"{first} and {second}: {left} of {value[f'{method}/converged'].size} maps of the "
                    f"{METHODS[method].label} had not converged when their training ended."
                )
    return notices


STUDY = Study(
    name="align",
    title="Seed alignment",
    purpose=PURPOSE,
    Spec=AlignSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=align_price,
    caveats=CAVEATS,
    formulas=FORMULAS,
)
