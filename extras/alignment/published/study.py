"""The protocol published with BERT-INN, compared with ours on the same pair: which findings hold
with both?

The published code averages sentences over their padding and evaluates with dropout on, on pairs of
unrelated training sentences, with one network for all layers that is initialised at random and
trained at a learning rate of 1e-6. Each of these choices is changed alone, then all of them, and
the result is compared with this page's own study. The findings and their sources are in
`text.CLAIMS`.

References: Ren et al. 2023, arXiv 2305.14555, *All Roads Lead to Rome?*, and
github.com/twinkle0331/BERT-similarity (`run_hidden_similarity.py`, its readme). From the paper's
abstract: that the network learns the bijection better than other bijective methods such as CCA.
From the code's readme: that a network that need not be invertible should have the lowest error,
1,600 sentences of GLUE, and the test set as the main result, where the code's default is the
training set (both are quoted in the caveats). From the code: everything else, see `rows`, `maps`
and `training`. Not known: whether the paper's figures were made by this version of the code.
Deviations: the text is this app's and shorter; one direction of one pair; errors are divided by the
target's variance (of all layers together, so that layers have the weight of a plain squared error),
which `mse` is not.

The headline's number: `core.maths.evaluation.scoring.score`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pandas as pd

from core.studies.alignment.seeds import study
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.tasks import joined_roles
from core.studies.kit import (
    PAGE,
    Chart,
    Context,
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    View,
    contents,
    words_beside,
)
from core.vectors.window import REACHES
from extras.alignment.published.charts import claim_chart, protocol_chart
from extras.alignment.published.findings import (
    Errors,
    claim_rows,
    error_rows,
    errors_of,
    finding_rows,
    our_errors,
)
from extras.alignment.published.maps import FITTED, published_pair
from extras.alignment.published.spec import OURS_OF, ProtocolSpec
from extras.alignment.published.text import (
    OURS,
    make_headline,
    make_methods,
    make_notices,
    statements_of,
)

TUNED = ("published", "training", "all")  # fits of the fine-tuned pair that its one finding needs


def plan(spec: ProtocolSpec, ready: Outputs) -> list[Task]:
    """Plan a task for each fit of each pair, with role (pair, fit), and those of our study, (pair,
    "ours", methods). Raises CorpusError if the text could not be read."""
    content = contents(ready)
    tasks: list[Task] = []
    for group, (source, target) in spec.groups.items():
        if source not in content or target not in content:
            continue
        tasks += [
            Task.of(
                f"{source} → {target}: {fitted}",
                published_pair,
                role=(group, fitted),
                group=target,
                one=source,
                other=target,
                one_identity=content[source],
                other_identity=content[target],
                sentences=ready.need("text").words,
                fitted=fitted,
                length=spec.length,
                steps=spec.steps,
                seed=spec.seed,
            )
            for fitted in (FITTED if group == "models" else TUNED)
        ]
        tasks += [
            replace(task, role=(group, OURS, *cast("tuple[Any, ...]", task.role)[3:]))
            for task in study.plan(_ours(spec, group), ready)
        ]
    return tasks


def _ours(spec: ProtocolSpec, group: str) -> AlignSpec:
    """Make our study of a pair; with the page's options its tasks are those of the page's study."""
    return AlignSpec(
        spec.groups[group],
        methods=OURS_OF[group],
        corpus=spec.corpus,
        genres=spec.genres,
        sentences=spec.sentences,
        grid="",
        seed=spec.seed,
    )


def collect(spec: ProtocolSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `findings`, `claims` and `errors`, see the module `findings`."""
    by_protocol: dict[str, dict[str, Errors]] = {group: {} for group in spec.groups}
    widths = dict.fromkeys(spec.groups, 1)
    for group in spec.groups:
        for fitted, variants in FITTED.items():
            if (group, fitted) in outputs.values:
                value = outputs.values[group, fitted]
                widths[group] = value["d"]
                by_protocol[group] |= {variant: errors_of(value, variant) for variant in variants}
        ours_by_role = joined_roles(
            {role: value for role, value in outputs.values.items() if role[:2] == (group, OURS)}
        )
        values = {role[2]: value for role, value in ours_by_role.items()}
        if values and (ours := our_errors(values)).by_method:
            by_protocol[group][OURS] = ours
    claims = claim_rows(by_protocol["models"], by_protocol.get("tuned", {}))
    findings = finding_rows(claims)
    errors = pd.concat(
        [error_rows(measured, group, widths[group]) for group, measured in by_protocol.items()],
        ignore_index=True,
    )
    statements = statements_of(errors, findings)
    corpus = ready.need("text")
    refs = tuple(ref for pair in spec.groups.values() for ref in pair)
    return Findings(
        headline=make_headline(statements, spec.steps),
        statements=statements,
        tables={"findings": findings, "claims": claims, "errors": errors},
        notices=make_notices(widths["models"]),
        models=refs,
        corpus=corpus,
        methods=make_methods(spec, len(corpus.sentences)),
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw errors by protocol, and which finding holds with which protocol."""
    if result.tables["claims"].empty:
        return {}
    return {
        "protocol-errors": protocol_chart(result, context=context),
        "protocol-findings": claim_chart(result, context=context),
    }


STUDY = Study(
    name="align protocol",
    words=words_beside(__file__).filled(reach=max(REACHES)),
    Spec=ProtocolSpec,
    plan=plan,
    collect=collect,
    cites=study.CITATIONS,
    views=(
        View(
            draw=figures,
            tables=lambda result: result.tables,
            table="errors",
        ),
    ),
)
