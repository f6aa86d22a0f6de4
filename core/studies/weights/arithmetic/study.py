"""Task arithmetic: sums of fine-tunes' changes, scored on every task.

Each fine-tune whose head labels sentences, tags words or finds dependency heads is one task, which
scores all sums under that head; another task compares the changes themselves.

References: Ilharco et al. 2023 (task arithmetic); Yadav et al. 2023 (signs in conflict).
Deviations: see `tasks`.

The headline's number: `core.vectors.examples.hits`.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import SpecError
from core.studies.kit import Findings, Outputs, Study, Task, Text, View, words_beside
from core.studies.weights.arithmetic.charts import draw_view
from core.studies.weights.arithmetic.spec import ArithmeticSpec, sums_of
from core.studies.weights.arithmetic.tables import build_alike, build_arithmetic, harms_in
from core.studies.weights.arithmetic.tasks import compare_vectors, score_sums
from core.studies.weights.arithmetic.text import make_headline, make_methods, statements_of
from core.studies.weights.clusters.members import named_members
from core.studies.weights.clusters.selection import Selection, find_models
from core.vectors.examples import METRICS, Examples, chance, examples_task

SCORES, VECTORS = "scores", "vectors"  # roles of tasks
CITATIONS = ("ilharco2023", "yadav2023")


def prepare(spec: ArithmeticSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Make the tasks of the first stage: find and identify the models, read what they are scored
    on."""
    return [
        Task.of(
            "models", find_models, role="models", fleeting=True,
            base=spec.base, patterns=spec.models, own_bases=False, tree=0,
        ),
        examples_task(
            tuple(member.ref for member in named_members(spec.base, spec.models)),
            spec.labelled, spec.corpus, spec.sentences, given=(texts or {}).get(spec.corpus),
        ),
    ]  # fmt: skip


def plan(spec: ArithmeticSpec, ready: Outputs) -> list[Task]:
    """Make a task for the changes, and one for each fine-tune that can be scored. Raises SpecError
    if fewer than two fine-tunes are left, or factors and fine-tunes do not pair up."""
    selection: Selection = ready.need("models")
    examples: Examples = ready.need("examples")
    refs = tuple(member.ref for member in selection.members)
    if len(refs) < 2:
        raise SpecError(f"Two fine-tunes of {spec.base} are needed to add; choose another.")
    identities = selection.identities
    tasks = [
        Task.of(
            "changes", compare_vectors, role=VECTORS, base=spec.base, models=refs,
            base_identity=identities[spec.base],
            identities=tuple(identities[ref] for ref in refs),
        )
    ]  # fmt: skip
    for ref in refs:
        if ref not in examples.heads:
            continue
        others = tuple(each for each in refs if each != ref)
        tasks.append(
            Task.of(
                ref,
                score_sums,
                role=(SCORES, ref),
                group=spec.base,
                base=spec.base,
                model=ref,
                models=others,
                base_identity=identities[spec.base],
                model_identity=identities[ref],
                identities=tuple(identities[each] for each in others),
                pairs=examples.pairs[examples.heads[ref].kind],
                sums=tuple(each.factors for each in sums_of(ref, refs, spec.chosen)),
                randoms=spec.randoms,
                seed=spec.seed,
            )
        )
    return tasks


def collect(spec: ArithmeticSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `arithmetic` (ARITHMETIC), `harms`, and `alike` (ALIKE), whole and by layer.
    Raises ModelError if the changes could not be compared."""
    selection: Selection = ready.values["models"]
    examples: Examples = ready.values["examples"]
    refs = [member.ref for member in selection.members]
    values = outputs.of(SCORES)
    kinds = {ref: examples.heads[ref].kind for ref in values}
    table = build_arithmetic(
        values,
        {ref: sums_of(ref, refs, spec.chosen) for ref in values},
        {ref: METRICS[kind] for ref, kind in kinds.items()},
        {ref: chance(kind, examples.pairs[kind])[1] for ref, kind in kinds.items()},
        spec.draws,
        spec.seed,
    )
    harms = harms_in(table)
    alike, by_layer = build_alike(outputs.need(VECTORS), refs)
    statements = statements_of(table, harms, alike)
    return Findings(
        {"arithmetic": table, "harms": harms, "alike": alike, "alike_layers": by_layer},
        make_headline(statements, table, alike),
        statements=statements,
        notices=[
            *selection.notices,
            *(why for ref, why in examples.refused.items() if ref in refs),
        ],
        failures=selection.failures,
        provenance={"fingerprints": dict(selection.identities)},
        methods=make_methods(spec, [*values]),
        corpus=examples.corpus,
    )


STUDY = Study(
    name="weights arithmetic",
    words=words_beside(__file__),
    Spec=ArithmeticSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=draw_view),),
)
