"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.maths.spectra.products import HELD as HELD_PRODUCTS
from core.models import costs
from core.runs.price import Price
from core.studies.weights.prices import READ, SKETCHED, STARTING, matrices_of

if TYPE_CHECKING:
    from core.studies.weights.lineage.spec import LineageSpec

HEADER = 0.01  # processor seconds to open a model for reading
MULTIPLIED = 2 * (costs.SINGLE + costs.DOUBLE)  # bytes of a number as it is and with rows permuted
PRODUCT = 4e-10  # per number of a model and other model


def lineage_price(spec: LineageSpec) -> Price:
    """Price the lineage: every matrix is read from every model, once, and multiplied."""
    sizes = costs.sizes_of(spec.refs)
    here = list(sizes.values())
    most = HELD_PRODUCTS / max(1, len(here))
    seconds, largest = STARTING, 0
    for size in here:
        for (rows, columns), number in matrices_of(size, spec.families):
            count = rows * columns
            largest = max(largest, count)
            each = READ * count + SKETCHED * count * (count > most)
            seconds += number * (each + PRODUCT * min(count, most) * len(here))
    return costs.price_of(
        sizes,
        [seconds + HEADER * len(here)],
        MULTIPLIED * min(largest, most) * len(here) + 2 * costs.DOUBLE * largest,
        libraries=costs.NUMPY,
        work=costs.counted(len(here), "model"),
    )
