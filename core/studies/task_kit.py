"""What the tasks of a study are written with: how one is declared, what it costs, how far it is,
what it reads of a model and returns, and what of it is kept while it runs."""

from core.maths.arrays import Value, Words
from core.maths.progress import span, tick
from core.models import costs
from core.models.costs import Sizes
from core.models.identity import as_identified
from core.models.sizes import Size
from core.runs.pieces import compute_pieces, keep_pieces
from core.runs.price import Cost
from core.runs.store import identified, key_of
from core.runs.tasks import pure
from core.vectors.activations import extract

__all__ = [
    "Cost",
    "Size",
    "Sizes",
    "Value",
    "Words",
    "as_identified",
    "compute_pieces",
    "costs",
    "extract",
    "identified",
    "keep_pieces",
    "key_of",
    "pure",
    "span",
    "tick",
]
