"""Findings of the probe page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.commands.examples.finding import INK, Finding, Series
from core.errors import listed
from core.results.drawing.style import GREY, ORANGE
from core.results.export import Result
from core.results.names import short_name
from core.results.numbers import text_of
from core.studies.probes.behaviour.tables import BIGRAM
from core.studies.probes.behaviour.text import OVERALL
from core.studies.probes.trees.statements import ABOVE, BASELINE, BEST, stated_scores
from core.studies.probes.trees.tables import CHAIN, windows_of


def tree(results: Sequence[Result]) -> Finding:
    """Say how many edges of a sentence a probe predicts."""
    from core.studies.probes.sentence.study import (
        SENTENCE_SHOWN,
        SentenceSpec,
        run_sentences,
    )

    result: Any = results[0]
    model = next(iter(result.probes))
    best = next(each for each in result.statements if each.verdict == BEST)
    layer = best.layers[0]
    layers = result.probes[model].layers
    read = run_sentences(SentenceSpec(model, layers, pipeline=result.pipeline, text=SENTENCE_SHOWN))
    view = result.draw(model, layer, read.trees[0], read.vectors[0])
    scores = stated_scores(result, BASELINE)
    asked = {
        windows_of(result.probes)[model]: "the embeddings of a word and its neighbours give",
        CHAIN: "linking adjacent words gives",
    }
    rivals = [
        f"{words} {scores[name].value_text}" for name, words in asked.items() if name in scores
    ]
    beside = f"; {listed(rivals)}" if rivals else ""
    arcs = [(edge, -1.0, ORANGE) for edge in (*view.agreed, *view.invented)]
    arcs += [(edge, 1.0, INK) for edge in (*view.agreed, *view.missed)]
    return Finding(
        f"A probe predicts {len(view.agreed)} of {len(view.agreed) + len(view.missed)} parse edges "
        f"of “{' '.join(view.words[:5])} …” from layer {layer}, and {best.number.value_text} on "
        f"test sentences{beside}.",
        "arcs",
        tuple(
            Series(
                "predicted" if up < 0 else "parse",
                colour,
                ((float(edge[0]), up), (float(edge[1]), up)),
            )
            for edge, up, colour in arcs
        ),
        "parse above, predicted tree below",
    )


def grammar(results: Sequence[Result]) -> Finding:
    """Say how often models prefer the grammatical sentence, beside a bigram model."""
    facts = results[1].statements
    shares = {short_name(each.subject): each.number for each in facts if each.verdict == OVERALL}
    bigram = shares.pop(BIGRAM)
    above = [each.verdict == ABOVE for each in facts if each.baseline == BIGRAM]
    ranges = []
    for family in ("seed", "decoder"):
        of_family = [share.value for name, share in shares.items() if name.startswith(family)]
        low, high = (text_of(end, "points") for end in (min(of_family), max(of_family)))
        ranges.append(f"{low} to {high} %")
    return Finding(
        f"Of minimal pairs, the seeds prefer the grammatical sentence in {ranges[0]}, the decoders "
        f"in {ranges[1]}; a bigram model does in {bigram.value_text}, chance is 50 %. "
        f"Detectably above the bigrams: {sum(above) or 'none'} of {len(above)}. Masked models see "
        "both sides of a word.",
        "bars",
        (
            *(
                Series(name, ORANGE if name.startswith("decoder") else GREY, ((0.0, share.value),))
                for name, share in shares.items()
            ),
            Series("bigrams", INK, ((0.0, bigram.value),)),
        ),
        "grammatical sentence preferred (% of pairs)",
    )
