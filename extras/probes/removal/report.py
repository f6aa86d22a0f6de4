"""What erasing a probe's subspace shows: statements, sentences made of them, charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from core.results.drawing.style import GREY, colours_of
from core.studies.chart_kit import Look, Panels, layer_chart, short_names
from core.studies.kit import PAGE, Chart, Context, Result, words_beside
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import BELOW, compared
from core.studies.probes.trees.tables import metrics_in, rows_where
from core.studies.text_kit import (
    Estimate,
    Statement,
    estimate_of,
    listed,
    sentence_of,
    short_name,
)
from extras.probes.removal.spec import RemovalSpec
from extras.probes.removal.tables import ACCURACY, LOSS, METRICS, RECORDS, UAS
from extras.probes.removal.tasks import MATCHED, PROBE, RANDOM

CITATIONS = ("belrose2023", "hewitt2019structural", "elazar2021", "salazar2020", "kauf2023")
said = words_beside(__file__).sentence
COST = "cost of erasing the probe's subspace"
WHERE = "costs more than random subspaces, of this many layers"
COSTS = {
    LOSS: ("{name}'s loss is {cost}", "nats higher", "nats lower"),
    ACCURACY: ("{name}'s accuracy on minimal pairs is {cost}", "lower", "higher"),
    UAS: ("{name}'s UAS is {cost}", "lower", "higher"),
}
HEIGHT = 262
SHOWN = {PROBE: "probe's subspace", RANDOM: "random subspaces", MATCHED: "random, equal change"}
DASHES = {RANDOM: (2, 3), MATCHED: (6, 4)}


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """State for each model and metric what erasing costs, how far that is above the random
    subspaces that cost most, and at which layers it is detectably so. The layer is the one of these
    that is farthest above, or, without one, that at which erasing costs most."""
    statements = []
    for model in models:
        for metric in METRICS:
            rows = rows_where(tables["removal"], model=model, metric=metric, erased=PROBE)
            if rows.empty:
                continue
            gaps = rows_where(tables["removal_excess"], model=model, metric=metric)
            above = [int(at) for at, low in gaps.groupby("layer")["low"].min().items() if low > 0]
            gaps = gaps.loc[gaps.groupby("layer")["margin"].idxmin()]  # over the strongest rival
            farthest = gaps[gaps["layer"].isin(above)].nlargest(1, "margin")
            shown = rows.nlargest(1, "cost") if farthest.empty else farthest
            layer = int(shown["layer"].iloc[0])
            cost = estimate_of(rows_where(rows, layer=layer).iloc[0], "cost")
            statements.append(Statement(model, COST, cost, (layer,), metric=metric))
            statements += [
                compared(model, gap, "margin", str(gap["rival"]), metric)
                for _, gap in rows_where(gaps, layer=layer).iterrows()
            ]
            whole = Estimate(float(len(gaps)), kind="whole")
            statements.append(Statement(model, WHERE, whole, tuple(above), metric=metric))
    return tuple(statements)


def view_sentences(result: Result, metric: str = LOSS) -> Iterator[str]:
    """The headline of one metric."""
    return make_headline([each for each in result.statements if each.metric == metric])


def make_headline(statements: Sequence[Statement]) -> Iterator[str]:
    """Write the statements in sentences: the cost at its worst layer, and the random subspaces."""
    where = {(each.subject, each.metric): each for each in statements if each.verdict == WHERE}
    gaps = {
        (each.subject, each.metric): each
        for each in statements
        if each.verdict not in (COST, WHERE)
    }
    for each in statements:
        if each.verdict != COST:
            continue
        lost, *ways = COSTS[each.metric]
        gap = gaps.get((each.subject, each.metric))
        number = each.number if gap is None else Estimate(each.number.value, kind=each.number.kind)
        lost = lost.format(name=short_name(each.subject), cost=number.direction(*ways))
        clause = f"without the probe's subspace at layer {each.layers[0]}, {lost}"
        if gap is None:
            yield sentence_of(clause)
            continue
        equal = " of equal change" * (gap.baseline == MATCHED)
        more = f"{gap.number.direction('above', 'below')} random ones{equal}"
        yield f"{_verdict(where[each.subject, each.metric], gap)}: {clause}, {more}."


def _verdict(where: Statement, gap: Statement) -> str:
    """Say at how many layers erasing costs detectably more than random subspaces do."""
    if not where.layers:
        return "No" if gap.verdict == BELOW else "Not detectably"
    every, above = where.number.text, str(len(where.layers))
    return "At every layer" if above == every else f"At {above} of {every} layers"


def make_methods(spec: RemovalSpec, treebank: Treebank, heads: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste."""
    return said(
        "methods",
        rank=spec.rank,
        layers=layers,
        models=listed(heads),
        text=treebank.corpus.ref,
        train=len(treebank.parts["train"]),
        dev=len(treebank.parts["dev"]),
        randoms=spec.randoms,
        scored=spec.scored,
        pairs=spec.pairs,
        draws=spec.draws,
    )


def make_notices(refused: Sequence[str]) -> list[str]:
    """The notice that models have no head that can be scored."""
    return [said("refused", models=listed([*map(short_name, refused)]))] if refused else []


def removal_chart(
    result: Result, model: str, metric: str = LOSS, *, context: Context = PAGE
) -> Chart:
    """What erasing costs one model in one metric, by layer."""
    table = result.table
    rows = rows_where(table, model=model, metric=metric)
    rows = rows.assign(name=rows["erased"].map(SHOWN)).dropna(subset="name")
    colour = colours_of(dict.fromkeys(table["model"]))[model]
    looks = {SHOWN[PROBE]: Look(colour)} | {
        SHOWN[name]: Look(GREY, dash=dash, point=False) for name, dash in DASHES.items()
    }
    return layer_chart(
        rows,
        "cost",
        looks,
        f"{short_names(dict.fromkeys(table['model']))[model]}: {RECORDS[metric].title}",
        "bands: 95 % intervals over sentences and subspaces",
        y_title=f"Cost ({RECORDS[metric].unit})",
        zero=True,
        line="Erased",
        height=HEIGHT,
        context=context,
    )


def draw_removal(result: Result, metric: str = LOSS, *, context: Context = PAGE) -> Panels:
    """A panel for each model that was scored in a metric."""
    scored = metrics_in(result.table, METRICS)
    shown = metric if metric in scored else scored[0]
    rows = rows_where(result.table, metric=shown)
    models, names = dict.fromkeys(rows["model"]), short_names(dict.fromkeys(result.table["model"]))
    charts = [removal_chart(result, model, shown, context=context) for model in models]
    return Panels(charts, across=2, names=[f"{shown}-{names[model]}" for model in models])
