"""Charts of the study: divergence by kind of word, states beside it, and a text whose words are
coloured."""

from __future__ import annotations

import pandas as pd

from core.errors import listed
from core.results.drawing.curves import look_channels
from core.results.drawing.description import bars_in_words, cells_in_words
from core.results.drawing.style import (
    DASHES,
    GREY,
    colours_of,
    gradient,
    heading,
    legend,
    shapes_of,
)
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Result,
    Tip,
    channel,
    labels_of,
    layer_chart,
    layered,
    short_names,
    span_of,
    tip_of,
    with_tooltips,
)
from core.studies.rsa.divergence.report import ALL, COUNTS, FREQUENCIES, OFTEN, TAGS

HEIGHT, LINE, GROUPS = 270, 26, 255
ROW_LETTERS = 1.1  # height of a group's row, of its letters' size
JS = tip_of("js").title
ACROSS = 84  # letters of a line of the coloured text
IN_WORDS = {
    **{"ADJ": "adjectives", "ADP": "prepositions", "ADV": "adverbs", "AUX": "auxiliaries"},
    **{"CCONJ": "coordinators", "DET": "determiners", "INTJ": "interjections", "NOUN": "nouns"},
    **{"NUM": "numbers", "PART": "particles", "PRON": "pronouns", "PROPN": "names"},
    **{"PUNCT": "punctuation", "SCONJ": "subordinators", "SYM": "symbols", "VERB": "verbs"},
    "X": "other words",
}
LINES = {  # title, what stands below it, column, by file name
    "states": (
        "Similarity of the states (RSA) by layer",
        "bands: 95 %, over sentences",
        "similarity",
    ),
    "correlation": (
        "Do predictions differ where states differ?",
        "among words of equal part of speech and frequency; bands: 95 %, over sentences",
        "within",
    ),
}
ORDER = (*(name for _, name in FREQUENCIES), OFTEN)


def coloured_models(result: Result) -> list[tuple[str, ...]]:
    """List the choices whose figures files hold: none, and the last model to colour words for."""
    models = list(dict.fromkeys(result.tables["coloured"]["model"]))
    return [(), *((model,) for model in models[-1:])]


def draw_words(
    result: Result, model: str | None = None, *, context: Context = PAGE
) -> dict[str, Chart]:
    """Draw predictions by word, and beside states, by file name; or the coloured words of one
    model, of "" nothing."""
    if model is not None:
        return {"coloured": coloured_chart(result, model, context=context)} if model else {}
    charts: dict[str, Chart] = {"divergence": groups_chart(result, context=context)}
    if len(result.tables["states"]):
        charts |= {name: line_chart(result, name, context=context) for name in LINES}
    return charts


def first_models(result: Result, model: str | None = None) -> Result:
    """Leave the model of the headline, whose predictions are closest to the base's, and the
    baselines."""
    whole = result.table[result.table["by"] == ALL]
    compared = whole[whole["part"] != "baseline"].sort_values("js", kind="stable")["model"]
    return result.with_tables(
        **{
            name: result.tables[name][~result.tables[name]["model"].isin(compared.iloc[1:])]
            for name in ("divergence", "states")
        }
    )


def looks_of(result: Result) -> dict[str, Look]:
    """Choose each model's colour and shape by its short name, the same where some are left out;
    baselines are grey."""
    first = result.table.drop_duplicates("model")
    names = short_names(tuple(first["model"]))
    compared = [str(ref) for ref in first.loc[first["part"] != "baseline", "model"]]
    every = list(dict.fromkeys([*result.tables["coloured"]["model"], *first["model"]]))
    colours, shapes = colours_of(every), shapes_of(every)
    looks = {names[ref]: Look(colours[ref], shapes[ref]) for ref in compared}
    for number, ref in enumerate(first.loc[first["part"] == "baseline", "model"]):
        looks[names[ref]] = Look(GREY, shapes[ref], DASHES[number % len(DASHES)])
    return looks


def groups_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the divergence of each model by part of speech and by frequency, with its interval."""
    names, looks = short_names(tuple(dict.fromkeys(result.table["model"]))), looks_of(result)
    rows = result.table.assign(
        name=result.table["model"].map(names),
        what=[
            _in_words(str(by), str(words))
            for by, words in zip(result.table["by"], result.table["words"], strict=True)
        ],
    )
    tips = (
        *(Tip("name", "Model"), Tip("what", "Words"), "divergence.items"),
        *("js", "low", "kl", "agreement"),
    )
    ends = span_of(rows["js"], rows["high"], zero=True)
    drawn, tooltip = with_tooltips(rows, tips)
    numbers = {"format": "~g", "tickCount": 5}
    x = channel("js:Q", title=JS, scale={"domain": list(ends), "nice": False}, axis=numbers)
    y = channel(
        "what:N",
        title=None,
        sort=_order(rows),
        axis={"grid": True, "labelLimit": 180, "labelOverlap": False},
    )
    by_name = look_channels(looks, "name", legend())
    base = Chart(drawn.assign(who=drawn["name"])).encode(
        y=y, color=by_name["color"], tooltip=tooltip
    )
    bars = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x={**x, "field": "low"}, x2="high:Q")
    points = base.mark_point(size=60, filled=True, opacity=1).encode(x=x, shape=by_name["shape"])
    reference = short_names((str(result.spec["base"]),))[str(result.spec["base"])]
    title = f"Divergence from the predictions of {reference}"
    whole = rows[rows["by"] == ALL]
    every = short_names(tuple(dict.fromkeys(result.tables["coloured"]["model"])))
    undrawn = listed([name for ref, name in every.items() if ref not in names], 3)
    below = "by part of speech and frequency in the text; bars: 95 %"
    below += f"; not drawn: {undrawn}" if undrawn else ""
    return layered(bars, points).properties(
        width="container",
        height=max(context.height(GROUPS), ROW_LETTERS * context.letter * rows["what"].nunique()),
        title=heading(title, below),
        description=bars_in_words(whole, f"{title}, {JS}", name="name", value="js", kind="amount"),
    )


def line_chart(result: Result, name: str, *, context: Context = PAGE) -> Chart:
    """Draw one of LINES, a line per model: how similar the states of the same words are by layer,
    or whether words whose states differ more have predictions that differ more."""
    title, below, column = LINES[name]
    names = short_names(tuple(dict.fromkeys(result.table["model"])))
    rows = result.tables["states"].assign(name=lambda rows: rows["model"].map(names))
    similar = column == "similarity"
    ends = span_of(rows[column], rows["low"], zero=True, top=1.0) if similar else None
    return layer_chart(
        rows, column, looks_of(result), title, below, ends=ends,
        zero=not similar, height=HEIGHT, context=context,
    )  # fmt: skip


def coloured_chart(result: Result, model: str, *, context: Context = PAGE) -> Chart:
    """Draw the first sentences with each word coloured by how far one model's predictions
    diverge."""
    table = result.tables["coloured"]
    rows = _in_lines(table[table["model"] == model])
    drawn, tooltip = with_tooltips(rows, ("word", "js", "base_token", "predicted_token"))
    drawn = drawn.assign(light=drawn["js"] > 0.6)
    x = channel("start:Q", axis=None, scale={"domain": [0, ACROSS], "nice": False})
    y = channel("line:O", axis=None)
    colour = channel(
        "js:Q",
        title=JS,
        scale={"scheme": "viridis", "domain": [0, 1], "clamp": True},
        legend=gradient(JS, **labels_of("share"), context=context),
    )
    base = Chart(drawn).encode(y=y, tooltip=tooltip)
    cells = base.mark_rect(cornerRadius=2).encode(x=x, x2="end:Q", color=colour)
    ink = {"condition": {"test": "datum.light", "value": "black"}, "value": "white"}
    words = base.mark_text(baseline="middle", fontSize=context.small).encode(
        x=channel("middle:Q", axis=None, scale={"domain": [0, ACROSS], "nice": False}),
        text="word:N",
        color=ink,
    )
    names = short_names((str(result.spec["base"]), model))
    title = f"Where the predictions of {names[model]} differ"
    description = cells_in_words(
        rows.assign(
            place=[
                f"{word} ({at})" for word, at in zip(rows["word"], rows["position"], strict=True)
            ]
        ),
        title, row="sentence", column="place", value="js", value_title=JS, kind="amount",
    )  # fmt: skip
    return layered(cells, words).properties(
        width="container",
        height=context.height(LINE * (int(rows["line"].max()) + 1)),
        title=heading(title, f"from those of {names[str(result.spec['base'])]}, word by word"),
        description=description,
    )


def _in_words(by: str, group: str) -> str:
    if by == ALL:
        return "all words"
    return IN_WORDS.get(group, group) if by == TAGS else f"seen {group}"


def _order(rows: pd.DataFrame) -> list[str]:
    """All words, then parts of speech from most to least divergent, then frequencies."""
    tags = rows[rows["by"] == TAGS].groupby("what")["js"].mean().sort_values(ascending=False)
    seen = [f"seen {name}" for name in ORDER if (rows["words"][rows["by"] == COUNTS] == name).any()]
    return ["all words", *tags.index, *seen]


def _in_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Place words as in a text: line, and start, middle and end in letters."""
    places: list[tuple[int, float, float, float]] = []
    line, at, sentence = 0, 0.0, None
    for row in table.itertuples():
        width = len(str(row.word)) + 1.0
        if at and (at + width > ACROSS or row.sentence != sentence):
            line, at = line + 1, 0.0
        places.append((line, at, at + width / 2, at + width))
        at, sentence = at + width + 0.4, row.sentence
    lines, starts, middles, ends = zip(*places, strict=True)
    return table.assign(line=lines, start=starts, middle=middles, end=ends)
