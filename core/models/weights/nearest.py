"""The included model that a matrix comes from, to answer who names the wrong base.

Reference: none. Deviations: none.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models import locate, read_manifest
from core.models.changes import share_start
from core.models.files import checkpoints
from core.models.weights.families import Slot, find_slots
from core.models.weights.tensors import open_folder


def nearest_included(model_type: str, place: Slot, tensor: Float[ndarray, "*shape"]) -> str:
    """Find the included pretrained model whose matrix resembles this one most.

    Args:
        model_type: Of the model that has the matrix.
        place: The matrix and its place in the tensor.
        tensor: As stored.

    Returns:
        Its reference; "" if no included model is related. Models that cannot be read are no
        candidates.
    """
    matrix = place.cut(tensor).astype(np.float64)
    cosines: dict[str, float] = {}
    for entry in read_manifest():
        if entry.get("base"):
            continue
        ref = str(entry["ref"])
        try:
            folder = locate(ref)
            checkpoint = open_folder(ref, folder, checkpoints.read_config(folder))
            if checkpoint.model_type != model_type:
                continue
            slots = find_slots(model_type, checkpoint.entries, checkpoint.config)
            here = (place.family, place.layer)
            slot = next((s for s in slots if (s.family, s.layer) == here), None)
            if slot is None:
                continue
            theirs = slot.cut(checkpoint.read(slot.tensor)).astype(np.float64)
        except ModelError:
            continue  # a damaged included model: `zoo verify` says so
        lengths = float(np.linalg.norm(theirs) * np.linalg.norm(matrix))
        if theirs.shape == matrix.shape and lengths > 0:
            cosines[ref] = float((theirs * matrix).sum()) / lengths
    nearest = max(cosines, key=cosines.__getitem__, default="")
    return nearest if share_start(cosines.get(nearest, 0.0)) else ""
