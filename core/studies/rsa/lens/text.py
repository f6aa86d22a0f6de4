"""What the lenses say in sentences: statements, headline, notices and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.studies.rsa.lens.spec import LensSpec
from core.studies.rsa.lens.tables import (
    FIRST_FIVE,
    PLAIN,
    RIVAL,
    TUNE,
    TUNED,
    at_middle,
    two_models,
)
from core.studies.rsa.lens.tasks import LEAST_TYPICAL, NAMED, OFTEN, SHUFFLES, TIMES
from core.studies.text_kit import (
    Estimate,
    Statement,
    estimate_of,
    listed,
    short_name,
    short_names,
    text_of,
    words_beside,
)

said = words_beside(__file__).sentence
PROMOTES = "words of the fine-tune's text promoted at the middle layer"
SHUFFLED = "the same with shuffled dimensions, of the fine-tune with the highest (97.5 %)"
OUTPUT = "words of the fine-tune's text raised in the output"
DECIDES = "first layer whose most likely word is the output's"
NAMED_FIRST = 3  # words of the headline
LETTER = r"[^\W\d_]"
SHUFFLES_NAME = "shuffled dimensions"


def statements_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Statement, ...]:
    """State how far each change promotes words of the fine-tune's text, at the middle layer and in
    the output, and from which layer on the head says what the output says."""
    middle = at_middle(tables["promoted"], tables["promoted"]).dropna(subset="auc")
    shuffled = middle[middle["part"] == TUNE].sort_values("null_high").tail(1)
    decided = tables["decided"][tables["decided"]["model"].isin(two_models(tables))]
    return (
        *(
            Statement(
                row["model"],
                PROMOTES,
                Estimate(row["auc"]),
                (int(row["layer"]),),
                metric=row["part"],
            )
            for row in middle.to_dict("records")
        ),
        *(
            Statement(row["model"], SHUFFLED, Estimate(row["null_high"]), (int(row["layer"]),))
            for row in shuffled.to_dict("records")
        ),
        *(
            Statement(row["model"], OUTPUT, Estimate(row["auc"]), metric=row["part"])
            for row in tables["output_change"].dropna(subset="auc").to_dict("records")
        ),
        *(
            Statement(row["model"], DECIDES, estimate_of(row, "first_layer"), metric=row["lens"])
            for row in decided.to_dict("records")
        ),
    )


def make_headline(statements: Sequence[Statement], tables: Mapping[str, pd.DataFrame]) -> str:
    """Say which words the output of the first fine-tune favours and how far output and states
    promote words of its text, beside the best rival; then the same of all fine-tunes, the words
    themselves, and what the layers say."""
    first = _first_favoured(tables)
    if first is None:
        return ""
    model, words, promoted = first
    names = short_names(dict.fromkeys((model, *(each.subject for each in statements))))
    parts = [output_sentence(statements, tables), states_sentence(statements, tables)]
    share = text_of(float(words["raised_share"].iloc[0]), "per cent")
    parts.append(f"The first is among the {NAMED} most raised words {share} of the time.")
    if len(promoted):
        parts.append(
            f"Its change of states at layer {promoted['layer'].iloc[0]} promotes "
            f"{listed(promoted['token'].tolist())}."
        )
    more = (*_typical(statements, names), *_decided(statements, names))
    return " ".join((*filter(None, parts), *more))


def output_sentence(statements: Sequence[Statement], tables: Mapping[str, pd.DataFrame]) -> str:
    """Say which words the output of the first fine-tune favours, and how far they are of its text;
    "" without a fine-tune."""
    first = _first_favoured(tables)
    if first is None:
        return ""
    model, words, _ = first
    beside = _beside_rival(statements, model, OUTPUT, "favour")
    favours = f"{short_name(model)} now favours {listed(words['token'].tolist())}"
    return f"{favours}{f'; its output {beside}' if beside else ''}."


def states_sentence(statements: Sequence[Statement], tables: Mapping[str, pd.DataFrame]) -> str:
    """Say how far the change of the first fine-tune's states promotes words of its text; "" where
    that is unknown."""
    first = _first_favoured(tables)
    beside = _beside_rival(statements, first[0], PROMOTES, "promote") if first else ""
    if first is None or not beside:
        return ""
    (layer,) = next(
        each.layers for each in statements if (each.subject, each.verdict) == (first[0], PROMOTES)
    )
    return f"The change of {short_name(first[0])} at layer {layer} {beside}."


def _first_favoured(
    tables: Mapping[str, pd.DataFrame],
) -> tuple[str, pd.DataFrame, pd.DataFrame] | None:
    """The first fine-tune with the first words that its output favours and that its states promote;
    None without any."""
    promoted = at_middle(tables["promoted_words"], tables["promoted"])
    promoted, favoured = (words[words["part"] == TUNE] for words in (promoted, tables["favoured"]))
    if favoured.empty:
        return None
    model = str(favoured["model"].iloc[0])
    mine = favoured[favoured["model"] == model]
    spelled = mine[mine["token"].str.contains(LETTER)]  # marks are no words
    words = (spelled if len(spelled) else mine).head(NAMED_FIRST)
    return model, words, promoted[promoted["model"] == model].head(NAMED_FIRST)


def _areas(statements: Sequence[Statement], part: str, verdict: str) -> dict[str, float]:
    """AUCs of fine-tunes or rivals, by model."""
    return {
        each.subject: each.number.value
        for each in statements
        if (each.metric, each.verdict) == (part, verdict)
    }


def _best_rival(statements: Sequence[Statement], verdict: str) -> tuple[str, float]:
    """Name what promotes or favours words of the fine-tunes' text most of all that has not seen it;
    an AUC of NaN where nothing was compared."""
    rivals = _areas(statements, RIVAL, verdict)
    if verdict == PROMOTES:
        (null,) = (each.number.value for each in statements if each.verdict == SHUFFLED)
        rivals[SHUFFLES_NAME] = null
    best = max(rivals, key=rivals.__getitem__, default="")
    return best, rivals.get(best, np.nan)


def beats_rivals(statements: Sequence[Statement]) -> bool:
    """Whether the change of some fine-tune promotes words of its text more than every rival's; true
    where that is unknown."""
    mine = _areas(statements, TUNE, PROMOTES)
    return not mine or max(mine.values()) > _best_rival(statements, PROMOTES)[1]


def compared_models(statements: Sequence[Statement]) -> tuple[str, ...]:
    """List the first fine-tune whose change was compared, and the best rival model."""
    mine, rivals = _areas(statements, TUNE, PROMOTES), _areas(statements, RIVAL, PROMOTES)
    return (*list(mine)[:1], *sorted(rivals, key=lambda ref: -rivals[ref])[:1])


def _beside_rival(statements: Sequence[Statement], model: str, verdict: str, verb: str) -> str:
    """Write how far words of its text are promoted or favoured, and by the best rival; "" where
    that is unknown. AUCs have no interval, as tokens are not independent: nothing is tested."""
    mine = _areas(statements, TUNE, verdict)
    if model not in mine:
        return ""
    best, value = _best_rival(statements, verdict)
    rival = best if best == SHUFFLES_NAME else short_name(best)
    beside = f" (best rival, {rival}: {text_of(value)})" if best else ""
    return f"{verb}s words of its text with AUC {text_of(mine[model])}{beside}"


def _typical(statements: Sequence[Statement], names: Mapping[str, str]) -> list[str]:
    """Say how far promoted words are those of the fine-tune's text, beside chance and rivals."""
    mine = _areas(statements, TUNE, PROMOTES)
    if not mine:
        return []
    parts = [f"Words of the fine-tunes' text are promoted with AUC {_each(mine, names)}."]
    rivals = _areas(statements, RIVAL, PROMOTES)
    (null,) = (each.number.value_text for each in statements if each.verdict == SHUFFLED)
    listed_rivals = f"{_each(rivals, names)}, " if rivals else ""
    parts.append(f"Rivals: {listed_rivals}shuffled dimensions up to {null}.")
    output = _areas(statements, TUNE, OUTPUT) | _areas(statements, RIVAL, OUTPUT)
    if output:
        parts.append(f"In the output it is {_each(output, names)}.")
    return parts


def _each(values: Mapping[str, float], names: Mapping[str, str]) -> str:
    return listed([f"{text_of(value)} ({names[ref]})" for ref, value in values.items()])


def _decided(statements: Sequence[Statement], names: Mapping[str, str]) -> list[str]:
    """Say from which layer on the head says what the output says, for each model."""
    first = {
        lens: [each for each in statements if (each.verdict, each.metric) == (DECIDES, lens)]
        for lens in (PLAIN, TUNED)
    }
    if not first[PLAIN]:
        return []
    plain, tuned = (
        listed([f"{each.number.value_text} ({names[each.subject]})" for each in first[lens]])
        for lens in (PLAIN, TUNED)
    )
    return [
        f"A layer's most likely word is first the output's at layer {plain} on average; through "
        f"the tuned lens, {tuned}."
    ]


def make_notices(values: Mapping[str, Value]) -> list[str]:
    """Say where too few tokens are typical of either text."""
    few = [ref for ref, value in values.items() if min(value["typical"]) < LEAST_TYPICAL]
    return (
        [
            f"Fewer than {LEAST_TYPICAL} tokens are typical of the fine-tune's text or of the "
            f"other under the tokenizer of {listed(few, 3)}, so no AUC was computed: name a longer "
            "text."
        ]
        if few
        else []
    )


def make_methods(spec: LensSpec, read: int, typical: int) -> str:
    """Write a methods paragraph; `typical` counts sentences of the text like the fine-tunes',
    `read` those of the unrelated one."""
    return said(
        "methods",
        corpus=spec.corpus,
        read=read,
        typical=typical,
        places=FIRST_FIVE,
        times=TIMES,
        often=OFTEN,
        shuffles=SHUFFLES,
        named=NAMED,
    )
