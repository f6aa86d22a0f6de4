"""What the tasks of a study are written with: how one is declared, what it costs, how far it is,
and what it reads of a model and returns."""

from core.maths.arrays import Value, Words
from core.maths.progress import span, tick
from core.models import costs
from core.models.identity import as_identified
from core.models.sizes import Size
from core.runs.price import Cost
from core.runs.tasks import pure
from core.vectors.activations import extract

__all__ = [
    "Cost",
    "Size",
    "Value",
    "Words",
    "as_identified",
    "costs",
    "extract",
    "pure",
    "span",
    "tick",
]
