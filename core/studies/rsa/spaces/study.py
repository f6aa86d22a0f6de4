"""The map of models: every layer of every model as a point, by the angle between spaces.

Reference: Williams et al. 2021, NeurIPS, Generalized Shape Metrics on Neural Representations.
Deviations: in degrees; the map is classical scaling of the angles, whose stress is said.

The headline's number: `core.studies.rsa.spaces.report.layer_table`. It takes the mean of the angles
of `core.maths.similarity.angles.between`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.errors import SpecError
from core.maths.spectra.shape import BLOCKS, FITTED_FROM
from core.options.layer_numbers import FEW, SOME
from core.results.numbers import text_of
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
    sink_argument,
    words_beside,
)
from core.studies.rsa.spaces.charts import draw_spaces, first_relations
from core.studies.rsa.spaces.report import (
    PLACES,
    SEEDS,
    TUNED,
    Angles,
    last_angles,
    layer_table,
    make_headline,
    pair_table,
    place_table,
    relations,
    said,
    shape_table,
    statements_of,
)
from core.studies.rsa.spaces.spec import SpacesSpec
from core.studies.rsa.spaces.tasks import PARTS, SHAPE, measure_angles, measure_shape
from core.vectors.pairs import choose_items

CITATIONS = (
    *("williams2021", "schonemann1966", "torgerson1952", "ding2021"),
    *("garrido2023", "agrawal2022", "ethayarajh2019", "shao1989"),
)


def prepare(spec: SpacesSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Read the text, identify the models. Raises SpecError if there are fewer than two."""
    if len(spec.refs) < 2:
        raise SpecError("A map needs two models: name more, or a pattern such as zoo:seed-*.")
    return prepare_named(spec, texts)


def plan(spec: SpacesSpec, ready: Outputs) -> list[Task]:
    """Make the tasks that share the rows of the matrix of angles, and one for the shape of each
    model. Raises CorpusError if the text could not be read."""
    content = contents(ready)
    refs = tuple(ref for ref in spec.refs if ref in content)
    if len(refs) < 2:
        return []
    items = choose_items(ready.need("text").words, spec.words, spec.seed)
    angles = [
        Task.of(
            f"angles of {len(refs)} models, part {part + 1} of {PARTS}",
            measure_angles,
            role=part,
            models=refs,
            identities=tuple(content[ref] for ref in refs),
            items=items,
            part=part,
            draws=spec.draws,
            seed=spec.seed,
            **sink_argument(spec.sinks, ready, *refs),
        )
        for part in range(PARTS)
    ]
    return angles + [
        Task.of(
            f"shape of {ref}",
            measure_shape,
            role=(SHAPE, ref),
            group=ref,
            model=ref,
            identity=content[ref],
            items=items,
            **sink_argument(spec.sinks, ready, ref),
        )
        for ref in refs
    ]


def collect(spec: SpacesSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `spaces` (PLACES), `cloud` (CLOUD), `related` (BY_LAYER), `angles` (PAIRS)
    and `shape` (SHAPES), and what is said of them; none where a space is constant."""
    refs = tuple(ref for ref in spec.refs if ref in contents(ready))
    parts = [outputs.values[part] for part in range(PARTS) if part in outputs.values]
    corpus = ready.need("text")
    if len(parts) < PARTS or not (angles := Angles.of(refs, parts)).finite:
        nowhere = {"spaces": pd.DataFrame(columns=PLACES)}
        return Findings(nowhere, "", corpus=corpus)
    places, cloud, stress = place_table(angles)
    pairs = relations(refs)
    related, every_two = layer_table(angles, pairs), pair_table(angles)
    shapes = shape_table(
        {ref: outputs.values[SHAPE, ref] for ref in refs if (SHAPE, ref) in outputs.values}
    )
    seeds, tuned = (last_angles(angles, pairs[name]) for name in (SEEDS, TUNED))
    statements = statements_of(related, seeds, tuned, shapes)
    made: dict[str, Any] = {
        "spaces": places,
        "related": related,
        "angles": every_two,
        "shape": shapes,
        "cloud": cloud,
    }
    return Findings(
        made,
        make_headline(statements),
        statements=statements,
        notices=sentence_notices(len(corpus.sentences)),
        arrays={"stress": stress},
        methods=said(
            "methods",
            items=int(parts[0]["items"]),
            few=FEW,
            some=SOME,
            stress=[text_of(part) for part in stress],
            draws=spec.draws,
            fitted_from=FITTED_FROM,
            blocks=BLOCKS,
        ),
        models=refs,
        corpus=corpus,
    )


STUDY = Study(
    name="spaces",
    words=words_beside(__file__),
    Spec=SpacesSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=draw_spaces, first=first_relations),),
)
