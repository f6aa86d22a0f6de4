"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.prices import PRODUCTS
from core.studies.alignment.seeds.price import bytes_mapped, fitting
from core.studies.alignment.seeds.tasks import PARTS
from extras.alignment.published.rows import BATCH
from extras.alignment.published.spec import OURS_OF

if TYPE_CHECKING:
    from extras.alignment.published.spec import ProtocolSpec

PADDED = 3  # copies of the states of a batch of padded sentences
ADAM = 4e-9  # processor seconds of an Adam step per weight
FITS, PUBLISHED = (
    {"models": 5, "tuned": 1},
    17,
)  # fits of the protocol; weights of its networks, in units of d squared


def protocol_price(spec: ProtocolSpec) -> Price:
    """Price the published protocol: its fits of both pairs, and our maps of the same pairs."""
    sizes, sentences = (
        costs.sizes_of(ref for pair in spec.groups.values() for ref in pair),
        costs.sentences_of(spec),
    )
    rows, tasks, memory = sentences * costs.WORDS, [costs.STARTING], 0.0
    for group, refs in spec.groups.items():
        pair = [sizes[ref] for ref in refs if ref in sizes]
        if len(pair) < 2:
            continue
        width, states = max(size.d_model for size in pair), max(size.layers for size in pair) + 1
        padded = spec.length / costs.SUBWORDS
        reading = sum(
            2 * (costs.opening(size) + costs.passing(size, sentences * padded)) for size in pair
        )
        step = (
            states * PUBLISHED * 2 * width**2 * 64 * 3 * PRODUCTS
            + states * PUBLISHED * 2 * width**2 * ADAM
        )
        tasks += [reading + spec.steps * step] * (FITS[group] - 1)
        tasks += [reading + sum(fitting(("inn", "ridge", "mlp"), width, sentences, 2 * states))]
        tasks += [costs.vectors(size, sentences) for size in pair]
        tasks += fitting(OURS_OF[group], width, rows, 2 * states, parts=PARTS)
        networks = PUBLISHED * 2 * width**2 * states * costs.SINGLE * 4
        passing = PADDED * BATCH * spec.length * states * width * costs.SINGLE
        ours = bytes_mapped(2 * rows * width, states, states, OURS_OF[group])
        memory = max(memory, TASKS_AT_ONCE * max(networks, passing, ours))
    return costs.price_of(
        sizes,
        tasks,
        memory + costs.resident(sizes, whole=True),
        work=costs.counted(len(spec.groups), "pair"),
    )
