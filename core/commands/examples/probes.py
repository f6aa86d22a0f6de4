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
from core.studies.probes.trees.statements import BEST
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
    scores = result.table[result.table["metric"] == "uuas"]
    asked = {
        windows_of(result.probes)[model]: "the embeddings of a word and its neighbours give",
        CHAIN: "linking adjacent words gives",
    }
    rivals = [
        f"{words} {text_of(rows['value'].iloc[0], 'points')} %"
        for name, words in asked.items()
        if len(rows := scores[scores["model"] == name])
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
    table = results[1].tables["behaviour"].query("kind == 'all' and metric == 'accuracy'")
    shares = {short_name(str(row.model)): float(row.value) for row in table.itertuples()}
    bigram = shares.pop("bigram")
    margins = results[1].tables["behaviour_margins"].query("kind == 'all' and rival == 'bigram'")
    clear = int((margins["low"] > 0).sum())
    ranges = []
    for family in ("seed", "decoder"):
        of_family = [share for name, share in shares.items() if name.startswith(family)]
        low, high = (text_of(end, "points") for end in (min(of_family), max(of_family)))
        ranges.append(f"{low} to {high} %")
    return Finding(
        f"Of minimal pairs, the seeds prefer the grammatical sentence in {ranges[0]}, the decoders "
        f"in {ranges[1]}; a bigram model does in {text_of(bigram, 'points')} %, chance is 50 %. "
        f"Detectably above the bigrams: {clear or 'none'} of {len(margins)}. Masked models see "
        "both sides of a word.",
        "bars",
        (
            *(
                Series(name, ORANGE if name.startswith("decoder") else GREY, ((0.0, share),))
                for name, share in shares.items()
            ),
            Series("bigrams", INK, ((0.0, bigram),)),
        ),
        "grammatical sentence preferred (% of pairs)",
    )
