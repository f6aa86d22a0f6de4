"""The lineage study: trees of models by the distances of their weights.

One task multiplies the weights of all models with each other, matrix by matrix; distances, norms,
cosines and trees follow from these products. Another matches their units, which says whether two
models were trained independently even where units were permuted since.

References: Horwitz et al. 2025, ICLR; Zhu et al. 2025. Deviations: see `core.maths.spectra.forests`
and `core.maths.independence`.

The headline's number: `core.studies.weights.lineage.tables.build_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import SpecError
from core.limits import current_limits
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    View,
    contents,
    identities,
    prepare_named,
    words_beside,
)
from core.studies.weights.lineage.charts import figures
from core.studies.weights.lineage.independence import NOT_COMPARED, compare_orders
from core.studies.weights.lineage.spec import LineageSpec
from core.studies.weights.lineage.tables import (
    build_changes,
    build_growth,
    build_independence,
    build_lineage,
    build_relatives,
    build_rules,
    build_siblings,
    copies_in,
    relatives_of,
    start_p_values,
)
from core.studies.weights.lineage.tasks import multiply_weights
from core.studies.weights.lineage.text import (
    CITATIONS,
    describe_changes,
    describe_tests,
    make_headline,
    make_methods,
    start_sentences,
    start_statements,
    statements_of,
)

MOST_SHARED = 60  # models of one study on a shared instance


def prepare(spec: LineageSpec, texts: Mapping[str, Any] | None = None) -> list[Task]:
    """Make the tasks of the first stage: identify the weights of each model. Raises SpecError if
    fewer than two are named, or more than a shared instance compares."""
    refs = spec.refs
    if len(refs) < 2:
        raise SpecError("A lineage needs at least two models; choose another, or a pattern.")
    if current_limits().shared and len(refs) > MOST_SHARED:
        raise SpecError(
            f"A shared instance compares up to {MOST_SHARED} models at once, not {len(refs)}; "
            "choose fewer."
        )
    return prepare_named(spec)


def plan(spec: LineageSpec, ready: Outputs) -> list[Task]:
    """Make two tasks for all models that could be identified: distances, and orders of units."""
    content = contents(ready)
    return [
        Task.of(
            "weights",
            multiply_weights,
            role="products",
            models=tuple(content),
            identities=tuple(content.values()),
            families=spec.families,
            seed=spec.seed,
        ),
        Task.of(
            "independence",
            compare_orders,
            role="orders",
            models=tuple(content),
            identities=tuple(content.values()),
        ),
    ]


def collect(spec: LineageSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tree, the table of pairs and the scores of each rule. Raises ModelError if the
    models cannot be compared, SpecError if the pair has no common base among them."""
    value = outputs.need("products")
    copies = copies_in(value, identities(ready))
    relatives = relatives_of(value, copies)
    tests = build_independence(outputs.values.get("orders", NOT_COMPARED))
    tables = {
        "lineage": build_lineage(relatives, spec.refs, copies, start_p_values(tests)),
        "relatives": build_relatives(relatives),
        "rules": build_rules(relatives),
        "growth": build_growth(relatives),
        "siblings": build_siblings(relatives),
        "independence": tests,
    }
    places = [(str(family), int(layer)) for family, layer in value["places"]]
    tables["changes"] = build_changes(relatives, tables["siblings"], spec.pair, places)
    statements = statements_of(tables["lineage"], tables["rules"])
    started = start_statements(tests)
    return Findings(
        headline=(
            make_headline(statements, tables["lineage"], tables["rules"]),
            start_sentences(started, tests),
        ),
        statements=(*statements, *started),
        notices=(
            *describe_changes(tables["siblings"], tables["changes"]),
            describe_tests(outputs.values.get("orders", NOT_COMPARED)),
        ),
        tables=tables,
        failures={str(ref): str(why) for ref, why in value["left_out"]},
        provenance={"fingerprints": contents(ready)},
        methods=make_methods(spec),
    )


STUDY = Study(
    name="weights lineage",
    words=words_beside(__file__),
    Spec=LineageSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=figures),),
)
