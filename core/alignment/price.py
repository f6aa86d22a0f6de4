"""What an alignment study will cost, before it starts: models read, pairs fitted, rows kept.

A pair of the box was measured; a wider or deeper model costs more by what its arithmetic grows with: matrices of d by
d are factored for linear maps, networks multiply by them, kernel ridge takes what its rows take.
"""

from __future__ import annotations

from contextlib import suppress

from core.alignment.registry import METHODS
from core.alignment.spec import AlignSpec
from core.errors import ModelError
from core.models.sizes import size_of
from core.runs.price import LIBRARIES, Price, on_this_machine

# Processor seconds of a pair of the box, both directions and all seven layers of 250 sentences, and the power of the
# width with which they grow, from 128 to 768: measured one by one, on a core that multiplies bfloat16 in units of its
# own. Without such units the networks take longer.
SECONDS = {"linear": (0.3, 2.0), "control": (0.2, 1.0), "kernel": (9.0, 0.5), "inn": (30.0, 1.0), "mlp": (25.0, 1.1)}
OPENING, READING = 1.0, 1.6e-7  # processor seconds to open a model, and to read 250 sentences with each parameter
BOX_WIDTH, BOX_STATES, BOX_SENTENCES = 128, 7, 250
WORDS = 14.3  # of a sentence
STACKS = 6  # copies of all rows of both directions that a pair needs at most
KEPT = 160_000  # bytes that a map of the box keeps of a pair


def price(spec: AlignSpec) -> Price:
    """The price of a study, from the sizes of its models; no weights are fetched.

    A model that cannot be had costs nothing: the study leaves it out and says why.

    Raises:
        SpecError: If a shared instance does not allow what it costs.
    """
    sizes = {}
    for group in spec.groups.values():
        for ref in group:
            with suppress(ModelError):
                sizes[ref] = size_of(ref)
    pairs = [(one, other) for _, one, other in spec.pairs() if one in sizes and other in sizes]
    text = spec.sentences / BOX_SENTENCES
    rows = spec.sentences * (WORDS if spec.items == "words" else 1)
    seconds = sum(OPENING + READING * text * size.parameters for size in sizes.values())
    kept = sum(2.0 * (size.layers + 1) * rows * size.d_model for size in sizes.values())
    memory = 0.0
    for one, other in pairs:
        width = max(sizes[one].d_model, sizes[other].d_model)
        states = len(spec.layers) or min(sizes[one].layers, sizes[other].layers) + 1
        seconds += sum(_seconds(name, width, text) for name in spec.methods) * states / BOX_STATES
        kept += KEPT * len(spec.methods) * states / BOX_STATES
        memory = max(memory, STACKS * 2 * states * rows * width * 4.0)
    largest = max((size.parameters for size in sizes.values()), default=0) * 4.0
    found = Price(
        seconds=on_this_machine(seconds / 2),
        memory=LIBRARIES + (largest + memory) / 1e9,
        download=sum(size.download for size in sizes.values()) / 1e9,
        store=kept / 1e9,
        work=f"{len(pairs):,} pair{'s' if len(pairs) != 1 else ''} of {len(sizes)} models",
        known=all(size.asked for size in sizes.values()),
    )
    found.refuse_where_shared()
    return found


def _seconds(method: str, width: int, text: float) -> float:
    """Processor seconds of one map of a pair of `BOX_STATES` states, both directions."""
    base, power = SECONDS.get(method, SECONDS.get(METHODS[method].kind, SECONDS["linear"]))
    grows = min(text, 2.0) ** 2 if method == "kernel" else max(text, 0.3) if method in SECONDS else text**0.5
    return float(base * (width / BOX_WIDTH) ** power * grows)
