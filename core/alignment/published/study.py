"""The protocol published with BERT-INN, beside ours, on the same pair: which findings survive?

The published code averages sentences over their padding, evaluates under dropout, on pairs of unrelated sentences that
it trained on, with one network for all layers that begins at random and is trained at 1e-6. Each of these is changed
by itself, then all of them, and beside them stands what the study of this page says. Findings that are held against
each other are in `published_claims.CLAIMS`, with who says them.

References: Ren et al. 2023, arXiv 2305.14555, *All Roads Lead to Rome?*, and github.com/twinkle0331/BERT-similarity
(`run_hidden_similarity.py`, its readme). From the paper's abstract: that the network learns the bijection better than
other bijective methods such as CCA. From the code's readme: that a network that need not be invertible should leave
least, and 1,600 sentences of GLUE. From the code: everything else, see `published_rows`, `published_maps` and
`published_training`. Not known: whether the paper's own figures were made by this version of the code.
Deviations: the text is this app's and shorter; one direction of one pair; errors are divided by the target's variance
(of all layers together, so that layers weigh as in a plain squared error), which `mse` is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from core.alignment.prices import protocol_price
from core.alignment.published import PURPOSE
from core.alignment.published.charts import claim_chart, protocol_chart
from core.alignment.published.maps import FITTED, published_pair
from core.alignment.published.rows import RATE
from core.alignment.published.spec import OURS_OF, ProtocolSpec
from core.alignment.published.text import (
    OUR_METHODS,
    OURS,
    Errors,
    claim_rows,
    error_rows,
    errors_of,
    finding_rows,
    make_headline,
    our_errors,
)
from core.alignment.seeds import study
from core.alignment.seeds.spec import AlignSpec
from core.alignment.seeds.text import CAVEATS, FORMULAS
from core.models.identity import contents, identity_tasks
from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import Chart
from core.results.export import Result, provenance
from core.results.papers.citing import cite
from core.runs.runner import Outputs, Task
from core.study import Study
from core.text.corpora import Corpus
from core.text.reading import Text, text_task

THEIR_WIDTH = 768
TUNED = ("published", "training", "all")  # fits of the fine-tuned pair: those that its one finding needs


def prepare(spec: ProtocolSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: read the text, ask what the models are."""
    refs = [ref for pair in spec.groups.values() for ref in pair]
    return [text_task(spec.corpus, spec.genres, spec.sentences, texts), *identity_tasks(refs)]


def plan(spec: ProtocolSpec, ready: Outputs) -> list[Task]:
    """A task for each fit of each pair, with the role (pair, fit), and those of our study, (pair, "ours", methods).

    Raises:
        CorpusError: If the text could not be read.
    """
    content = contents(ready)
    tasks: list[Task] = []
    for group, (source, target) in spec.groups.items():
        if source not in content or target not in content:
            continue
        for fitted in FITTED if group == "models" else TUNED:
            name = f"{source} → {target}: {fitted}"
            arguments: dict[str, Any] = {
                "length": spec.length,
                "steps": spec.steps,
                "seed": spec.seed,
                "fitted": fitted,
            }
            task = Task.of(
                name, published_pair, role=(group, fitted), group=target, one=source, other=target,
                one_identity=content[source], other_identity=content[target], sentences=ready.need("text").words,
                **arguments,
            )  # fmt: skip
            tasks.append(task)
        for task in study.plan(_ours(spec, group), ready):
            methods = cast("tuple[Any, ...]", task.role)[-1]
            tasks.append(Task(task.name, task.function, task.arguments, (group, OURS, methods), task.group))
    return tasks


def _ours(spec: ProtocolSpec, group: str) -> AlignSpec:
    """Our study of a pair; with the page's options its tasks are the page's own."""
    return AlignSpec(
        spec.groups[group], methods=OURS_OF[group], corpus=spec.corpus, genres=spec.genres, sentences=spec.sentences,
        grid="", seed=spec.seed,
    )  # fmt: skip


def collect(spec: ProtocolSpec, ready: Outputs, outputs: Outputs) -> Result:
    """The tables `findings`, `claims` and `errors`, see `published_claims`."""
    import pandas as pd

    by_protocol: dict[str, dict[str, Errors]] = {group: {} for group in spec.groups}
    widths = dict.fromkeys(spec.groups, 1)
    notices: list[str] = []
    for group in spec.groups:
        for fitted, variants in FITTED.items():
            if (group, fitted) in outputs.values:
                value = outputs.values[group, fitted]
                widths[group] = value["d"]
                by_protocol[group] |= {variant: errors_of(value, variant) for variant in variants}
        values = {role[2]: value for role, value in outputs.values.items() if role[:2] == (group, OURS)}
        if values and (ours := our_errors(values)).by_method:
            by_protocol[group][OURS] = ours
            notices += [notice for value in values.values() for notice in value["notices"]]
    if widths["models"] < THEIR_WIDTH:
        notices.append(
            f"These models are {widths['models']} wide, those of the paper {THEIR_WIDTH}: a wider network has more "
            "weights that move, so the same steps take it further."
        )
    claims = claim_rows(by_protocol["models"], by_protocol.get("tuned", {}))
    findings = finding_rows(claims)
    errors = pd.concat(
        [error_rows(measured, group, widths[group]) for group, measured in by_protocol.items()], ignore_index=True
    )
    corpus: Corpus = ready.values["text"]
    refs = tuple(ref for pair in spec.groups.values() for ref in pair)
    return Result(
        study="align protocol",
        spec=spec.plain(),
        headline=make_headline(errors, findings),
        tables={"findings": findings, "claims": claims, "errors": errors},
        notices=tuple(dict.fromkeys([*corpus.notices, *notices])),
        failures=ready.sentences | outputs.sentences,
        provenance=provenance(refs, corpus),
        methods=(
            f"{len(corpus.sentences):,} sentences of {spec.corpus} were padded to {spec.length} subwords and averaged "
            "over all positions. One invertible layer (RealNVP), a linear map and a network of four layers, the same "
            "for all layers, began at random and took one step of Adam for each layer of each batch of 64, at 1e-6 "
            f"falling by 1 % a batch, for {spec.steps:,} batches. They were evaluated on training sentences under "
            f"dropout (models trained without get {RATE}), each source row against another sentence's target row; CCA "
            "was fitted on such pairs. Then each of these choices was changed by itself, and all of them. Ours are "
            "maps between vectors of words, as in the study of this page, on words never fitted on. Errors are squared "
            "errors over the target's variance; bands are jackknife intervals over evaluated sentences or words, "
            "95 % in charts of errors and for all findings of a protocol together where findings are judged. With one "
            f"pair they are of this pair. {spec.settings()}"
        ),
        citations=cite(study.CITATIONS),
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Errors by protocol, and which finding holds by which."""
    if result.tables["claims"].empty:
        return {}
    return {
        "protocol-errors": protocol_chart(result, context=context),
        "protocol-findings": claim_chart(result, context=context),
    }


assert set(OUR_METHODS.values()) <= set(OURS_OF["models"])


STUDY = Study(
    name="align protocol",
    title="Published protocol",
    purpose=PURPOSE,
    Spec=ProtocolSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=protocol_price,
    caveats=CAVEATS,
    formulas=FORMULAS,
)
