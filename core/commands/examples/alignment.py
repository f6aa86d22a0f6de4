"""Findings of the alignment page."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.examples.finding import Finding, Series
from core.maths.maps.registry import METHODS
from core.results.drawing.style import BLUE, ORANGE
from core.results.export import Result
from core.studies.alignment.barrier.spec import DECODERS, BarrierSpec
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS
from core.studies.alignment.barrier.text import HALFWAY, beside_base, make_headline
from core.studies.alignment.seeds.tables import rows_between
from core.studies.alignment.seeds.text import lead_sentence

AVERAGED = BarrierSpec()  # the study of `averaged`
JOINED = (  # the same of decoders, and of two fine-tunes for one task
    BarrierSpec(models=DECODERS),
    *(BarrierSpec(models=(f"zoo:{task}-0", f"zoo:{task}-1")) for task in ("parse", "pos")),
)
BOTH = "state-and-window"


def seeds(results: Sequence[Result]) -> Finding:
    """Say what maps predict of one seed's vectors from another's."""
    facts = results[0].statements
    rows = rows_between(results[0].tables["methods"], "unseen").set_index("method")["nmse"]
    left_out = [name for name in rows.index if METHODS[name].kind == "control" or name == BOTH]
    maps = rows.drop(left_out).sort_values()
    return Finding(
        f"{lead_sentence(facts, 'unseen')} This does not show a bijection.",
        "bars",
        tuple(
            Series(METHODS[str(name)].label, METHODS[str(name)].colour, ((0.0, 1 - float(value)),))
            for name, value in maps.items()
        ),
        "share of held-out variance predicted (higher is better)",
    )


def averaged(results: Sequence[Result]) -> Finding:
    """Say what the mean of two models' weights loses, as they are and with units matched, and what
    that of the base and its fine-tunes loses beside the base alone."""
    result = results[1]
    losses = [fact for fact in result.statements if fact.verdict == HALFWAY]
    beside = beside_base(result.statements)
    halfway = {f"{fact.subject}, {fact.baseline}": fact.number.value for fact in losses}
    colours = {OTHER_ORIGINS: ORANGE, ONE_ORIGIN: BLUE}
    return Finding(
        f"{make_headline(losses)} {beside}: it is below the mean of both because fine-tunes have "
        "forgotten.",
        "bars",
        tuple(
            Series(
                name,
                next(colour for kind, colour in colours.items() if name.startswith(kind)),
                ((float(number), value),),
            )
            for number, (name, value) in enumerate(halfway.items())
        ),
        "loss halfway between the weights, above that of the ends (nats per token)",
    )
