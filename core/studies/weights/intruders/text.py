"""Every sentence of the intruder experiment: statements, headline, notices, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.maths.statistics import SIGNIFICANT, corrected
from core.models.weights.matrix_families import family_label
from core.studies.text_kit import (
    Statement,
    by_number,
    estimate_of,
    listed,
    short_names,
    text_of,
    words_beside,
)
from core.studies.weights.intruders.spec import IntruderSpec
from core.studies.weights.intruders.tasks import LARGE, LARGE_DRAWS

said = words_beside(__file__).sentence
ALL = "all"  # the row of a model's families together
DRAWS_PER_MODEL = 20  # from which a corrected p-value can be below 5 %
EXCESS = "more intruder dimensions than chance"
CHANCE = "random update of equal norm"
MORE, NOT_MORE, TOO_FEW = "more than chance", "not detectably more than chance", "too few draws"
SPECTRUM = "random update with the same singular values"
TURNED_MORE = "more intruder dimensions than random updates of the same spectrum"
OF_SPECTRUM = "updates of the same spectrum"
TURNED_ALIKE = f"not detectably more than random {OF_SPECTRUM}"
TURNED_FEW = "too few updates with the same singular values to test"
NEAR = 0.01  # of the threshold: a cosine that another threshold would not count


def statements_of(spec: IntruderSpec, families: pd.DataFrame) -> tuple[Statement, ...]:
    """State for each model whether it has more intruder dimensions than chance."""
    total = families[families["family"] == ALL]
    too_few = corrected(1 / (1 + spec.draws), len(total)) >= SIGNIFICANT
    stated = []
    for row in total.to_dict("records"):
        more = MORE if row["corrected_p"] < SIGNIFICANT else NOT_MORE
        count = estimate_of(row, "intruders")
        stated.append(Statement(row["model"], TOO_FEW if too_few else more, count, baseline=CHANCE))
        turned = estimate_of(row, "turned_mean")
        few = corrected(1 / (1 + row["turned_draws"]), len(total)) >= SIGNIFICANT
        beyond = row["corrected_turned_p"] < SIGNIFICANT
        verdict = TURNED_FEW if few else TURNED_MORE if beyond else TURNED_ALIKE
        stated.append(Statement(row["model"], verdict, turned, baseline=SPECTRUM))
    return tuple(stated)


def make_headline(
    spec: IntruderSpec, statements: Sequence[Statement], families: pd.DataFrame
) -> str:
    """Say which models have more intruder dimensions than chance, then what the others have."""
    turned = [each for each in statements if each.baseline == SPECTRUM]
    statements = [each for each in statements if each.baseline == CHANCE]
    rows = families[families["family"] == ALL].set_index("model")
    names, several = short_names(list(rows.index)), len(rows) > 1

    more = [each for each in statements if each.verdict == MORE]
    beyond = {each.subject for each in turned if each.verdict != TURNED_ALIKE}
    alike = [names[each.subject] for each in more if each.subject not in beyond]
    unit = "" if alike else " directions"  # where the first sentence has room for it

    def counted(statement: Statement, note: str = "") -> str:
        row = rows.loc[statement.subject]
        p = estimate_of(row, "corrected_p").text
        return f"({row['intruders']} of {row['looked']}{unit}, {p}{note})"

    def in_each(group: Sequence[Statement]) -> str:
        return listed([f"{names[each.subject]} {counted(each)}" for each in group])

    note = f" corrected for {len(rows)} models" if several else ""
    counts = f"Their counts, with p-values{note}:"
    rest = [each for each in statements if each.verdict != MORE]
    but = ""
    if alike:
        whose = f"those of {listed(alike)} are " if len(alike) < len(more) else ""
        but = f", but {whose}not detectably more than {OF_SPECTRUM}"
    if rest and rest[0].verdict == TOO_FEW:
        text = (
            f"{spec.draws} random updates are too few to test {len(rows)} models; draw "
            f"{DRAWS_PER_MODEL * len(rows)}. {counts} {in_each(rest)}."
        )
    elif len(more) == 1:
        text = f"{names[more[0].subject]} has {EXCESS} {counted(more[0], note)}{but}."
    elif more:
        text = f"{len(more)} of {len(rows)} models have {EXCESS}: {in_each(more)};{note}{but}."
    elif several:
        text = f"No model has detectably {EXCESS}. {counts} {in_each(rest)}."
    else:
        text = f"{names[rest[0].subject]} does not have detectably {EXCESS} {counted(rest[0])}."
    single = rows.loc[[each.subject for each in rest if each.verdict != TOO_FEW], "significant"]
    singly = [f"{count} in {names[ref]}" for ref, count in single.items() if count]
    means = [
        text_of(float(mean), "amount") + (f" ({names[str(ref)]})" if several else "")
        for ref, mean in rows["null_mean"].items()
    ]
    parts = (
        text,
        f"No excess is detectable in {in_each(rest)}." if more and rest else "",
        said("single", models=listed(singly)) if singly else "",
        said("equal_norm", means=listed(means)),
        _same_spectrum(spec, turned, names, int(rows["turned_draws"].min())),
    )
    return " ".join(filter(None, parts))


def _same_spectrum(
    spec: IntruderSpec, turned: Sequence[Statement], names: Mapping[str, str], draws: int
) -> str:
    """Say what so many updates with the same singular values bring, the strictest rival."""
    several = len(turned) > 1
    means = [
        statement.number.value_text + (f" ({names[statement.subject]})" if several else "")
        for statement in turned
    ]
    text = f"One with the same singular values, turned at random, creates {listed(means)}"
    more = [names[each.subject] for each in turned if each.verdict == TURNED_MORE]
    if any(each.verdict == TURNED_FEW for each in turned):
        why = f": {draws}, because sides above {LARGE} take long" if draws < spec.draws else ""
        return f"{text}; too few were drawn to test the difference{why}."
    if more:
        return f"{text}: significantly fewer than {listed(more)}."
    who = f"{names[turned[0].subject]} does not have" if len(turned) == 1 else "no model has"
    return f"{text}: {who} detectably more than such updates."


def near_threshold(spec: IntruderSpec, directions: pd.DataFrame) -> list[str]:
    """Tell which models have intruder dimensions that a slightly lower threshold does not count."""
    near = directions[directions["intruder"] & (directions["cosine"] > spec.threshold - NEAR)]
    counts = directions[directions["intruder"].astype(bool)].groupby("model").size()
    names = short_names(list(dict.fromkeys(directions["model"])))
    return [
        f"{len(rows)} of {counts[ref]} intruder dimensions of {names[str(ref)]} "
        f"{by_number(len(rows), 'has a cosine', 'have cosines')} within {text_of(NEAR)} of the "
        f"threshold (up to {rows['cosine'].max():.5f}), so a slightly lower threshold does not "
        f"count {by_number(len(rows), 'it', 'them')}."
        for ref, rows in near.groupby("model", sort=False)
    ]


def make_methods(spec: IntruderSpec) -> str:
    """A methods paragraph, ready to paste."""
    families = f" ({', '.join(map(family_label, spec.families))})" if spec.families else ""
    return said(
        "methods",
        chosen=families,
        models=", ".join(spec.models),
        leading=spec.leading,
        base=spec.base,
        threshold=f"{spec.threshold:g}",
        draws=spec.draws,
        seed=spec.seed,
        large=LARGE,
        large_draws=LARGE_DRAWS,
    )
