"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.runs.price import Price

if TYPE_CHECKING:
    from core.studies.rsa.tokens.spec import TokenMapSpec

PASSAGE = 2.0  # processor seconds of a token map beside its models


def tokens_price(spec: TokenMapSpec) -> Price:
    """Estimate the price of a token map: one passage through each model."""
    sizes = costs.sizes_of(spec.models)
    tasks = [costs.STARTING + PASSAGE, *(costs.vectors(size, 5) for size in sizes.values())]
    widest = max((size.d_model for size in sizes.values()), default=0)
    tasks.append(5e-10 * widest**3)  # the axes of all layers together
    return costs.price_of(
        sizes,
        tasks,
        costs.resident(sizes, 5) + 3 * widest**2 * costs.DOUBLE,
        work=costs.counted(len(sizes), "model"),
    )
