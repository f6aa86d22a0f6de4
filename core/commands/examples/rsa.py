"""Findings of the RSA page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.commands.examples.finding import Finding, Series, lines, points
from core.errors import by_number
from core.results.drawing.style import GREY, ORANGE
from core.results.estimates import estimate_of
from core.results.export import Result
from core.results.names import short_name
from core.results.numbers import text_of
from core.results.statements import lead_of
from core.studies.rsa.layers.differences import WEIGHT_CHANGE, equal_layers
from core.studies.rsa.layers.text import changed_sentences, facts_of, lowest_of
from core.studies.rsa.spaces.charts import related_chart
from core.studies.rsa.spaces.report import ANGLE, CHANCE, FURTHEST, NEAREST, SEEDS, TUNED, WITHOUT

PLACES = 2  # decimals of degrees in a stored map
SEED = "zoo:seed-1"  # a reference of the page, beside `seed-0`


def spaces(results: Sequence[Result]) -> Finding:
    """Say how far seeds and fine-tunes begin and end from each other, beside the map of models."""
    result = results[1]
    angles = {(each.subject, each.verdict): each.number for each in result.statements}
    start, end = ({who: angles[who, at] for who in (SEEDS, TUNED)} for at in (WITHOUT, ANGLE))
    ends = {each.verdict: each.number.value_text for each in result.statements}
    shuffled = angles[CHANCE, ANGLE].value_text
    return Finding(
        f"Seeds start {start[SEEDS].value_text} apart and end {end[SEEDS].value_text} apart; "
        f"fine-tunes start {start[TUNED].value_text} from their base and end {ends[NEAREST]} to "
        f"{ends[FURTHEST]} from it.",
        "chart",
        (),
        "angle of each fine-tune to its base, and mean angle of other seeds, by layer. 0° is equal "
        f"but for a rotation; shuffled words are {shuffled} apart",
        rounded(related_chart(result, each=True).to_dict()),
    )


def rounded(part: Any) -> Any:
    """Round all numbers of a specification to PLACES decimals."""
    if isinstance(part, dict):
        return {name: rounded(value) for name, value in part.items()}
    if isinstance(part, list):
        return [rounded(value) for value in part]
    return round(part, PLACES) if isinstance(part, float) else part


def rewrites(results: Sequence[Result]) -> Finding:
    """Say which layers changed, and which model's states differ most after how large a change."""
    facts, table = facts_of(results[0].statements), results[0].tables["random_functions"]
    sizes = {ref: fact.number.value_text for ref, fact in facts[WEIGHT_CHANGE].items()}
    changed = " ".join(changed_sentences(results[0].statements))
    least = min(lowest_of(facts).values(), key=lambda fact: fact.number.value)
    return Finding(
        f"{changed} Of these {len(sizes)} models, states differ most in "
        f"{short_name(least.subject)}, at layer {least.layers[0]} (similarity "
        f"{least.number.text}), whose weights moved by {sizes[least.subject]} of their size; "
        "another run of a task may give another order.",
        "lines",
        lines(table.dropna(subset=["ratio"]), "model", "ratio"),
        "distance of each layer's output, times that after a random change",
    )


def rogue(results: Sequence[Result]) -> Finding:
    """Say what similarity is without the dimensions of largest variance."""
    without, with_it = (result.tables["similarity"] for result in results)
    both = with_it.merge(without, on=["model", "layer"], suffixes=("", "_without"))
    shift = both.loc[(both["similarity_without"] - both["similarity"]).abs().idxmax()]
    dropped = int(results[0].spec["drop_rogue"])
    named = by_number(dropped, "one dimension", f"{dropped} dimensions")
    model = short_name(shift["model"])
    raised = int((both["similarity_without"] > both["similarity"]).sum())
    rows = both[both["model"] == shift["model"]]
    return Finding(
        f"Without {named} of the vectors, the similarity of {model} to the base at layer "
        f"{shift['layer']} is "
        f"{text_of(shift['similarity_without'])} instead of {text_of(shift['similarity'])}, the "
        f"largest of {len(both)} changes, of which {raised} are rises.",
        "lines",
        (
            Series("all dimensions", GREY, points(rows, "similarity")),
            Series(f"without {named}", ORANGE, points(rows, "similarity_without")),
        ),
        f"similarity of {model} to the base by layer",
    )


def frozen(results: Sequence[Result]) -> Finding:
    """Say up to which layer models equal the base."""
    table = results[0].tables["similarity"]
    parts = []
    for model, layer in equal_layers(results[0]).items():
        after = table[(table["model"] == model) & (table["layer"] == layer + 1)]["similarity"]
        above = [f" (similarity {text_of(value)} one layer higher)" for value in after]
        upto = f"{short_name(model)} equals the base up to layer {layer}"
        parts.append("".join([upto, *above]))
    return Finding(
        f"{'; '.join(parts)}. These layers were frozen in training.",
        "lines",
        lines(table, "model", "similarity"),
        "similarity to the base by layer",
    )


def answer(results: Sequence[Result]) -> Finding:
    """Say what readers answer, and from which layer upward."""
    asked = results[1]
    return Finding(
        f"Asked “{asked.spec['question']}”, {lead_of(asked.headline)} The answer is "
        f"“{asked.spec['answer']}”. At lower layers its head is applied to their states.",
        "lines",
        lines(asked.tables["spans"], "model", "f1"),
        "overlap with the answer (F1) by layer",
    )


def decoders(results: Sequence[Result]) -> Finding:
    """Say how similar two seeds of a decoder are, beside two of a masked model, at the top and in
    the middle."""
    tables = (results[0].tables["similarity"], results[1].tables["references"])
    models = (results[0].spec["compare"][0], SEED)
    pairs = [
        table[table["model"] == model].set_index("layer")
        for table, model in zip(tables, models, strict=True)
    ]
    top = int(pairs[0].index.max())
    decoder, masked = [
        ", ".join(
            f"{estimate_of(rows.loc[layer], 'similarity').text} at layer {layer}"
            for layer in (top // 2, top)
        )
        for rows in pairs
    ]
    names = ("two decoders", "two masked models")
    return Finding(
        f"Two decoders that differ in their seed have a similarity of {decoder}; two masked models "
        f"have {masked}. Objective, architecture, learning rate and tokens read differ together. "
        "Drop one rogue dimension before the middle layers are compared.",
        "lines",
        tuple(
            Series(name, colour, points(rows.reset_index(), "similarity"))
            for name, colour, rows in zip(names, (ORANGE, GREY), pairs, strict=True)
        ),
        "similarity of two seeds by layer",
    )
