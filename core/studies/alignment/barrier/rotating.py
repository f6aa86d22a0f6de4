"""The residual stream of a network in other axes, where its norms allow it.

A norm that only divides by the root mean square has no axes of its own once its gains stand in the
matrices that read it; one that subtracts the mean has. So networks with RMSNorm can be rotated onto
each other, and those with LayerNorm cannot.

Reference: Ashkboos et al. 2024 (SliceGPT, computational invariance).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.linalg import orthogonal_procrustes

from core.models.loading.layers import body_of, layer_list, module_at, run_seen
from core.studies.alignment.barrier.matching import MADE, WRITTEN, Layer, arrays_of
from core.vectors.predicting import Asked

READ = (("input_layernorm", ("query", "key", "value")), ("post_attention_layernorm", MADE))


def fold_gains(model: Any, layers: list[Layer], norm: str) -> bool:
    """Move the gains of all norms into the matrices that read them, in place, and untie the head;
    nothing is done, and False returned, where one is of a kind that cannot be folded. `norm` is the
    path of the last norm under the body, "" where there is none."""
    last: Any = module_at(body_of(model), norm) if norm else None
    norms = [module_at(block, name) for block in layer_list(model) for name, _ in READ]
    if not all("RMSNorm" in type(each).__name__ for each in (*norms, last)):
        return False
    weights = arrays_of(model)
    with torch.no_grad():
        for layer, block in zip(layers, layer_list(model), strict=True):
            for name, roles in READ:
                gains: Any = getattr(block, name).weight
                for role in set(roles) & {*layer}:
                    matrix = layer[role].within(weights[layer[role].tensor])
                    matrix *= gains.numpy()
                gains.fill_(1.0)
        head: Any = model.get_output_embeddings()
        head.weight = torch.nn.Parameter(head.weight * last.weight, requires_grad=False)
        last.weight.fill_(1.0)
    return True


def rotation_between(first: Any, second: Any, asked: Asked) -> np.ndarray:
    """Find the rotation of a second network's states that lies nearest to a first's, over all
    layers, (width, width)."""
    states = []
    for model in (first, second):
        read = [
            state[batch.mask.bool()].double().numpy()
            for batch, _ in asked
            for state in run_seen(model, batch)[0]
        ]
        states.append(np.concatenate(read))
    return np.asarray(orthogonal_procrustes(states[1], states[0])[0])


def rotate(model: Any, layers: list[Layer], rotation: np.ndarray) -> None:
    """Turn the residual stream of a network whose gains are folded, in place."""
    turned = torch.from_numpy(rotation.astype(np.float32))
    weights = arrays_of(model)
    with torch.no_grad():
        for embedding in {model.get_input_embeddings(), model.get_output_embeddings()}:
            embedding.weight.copy_(embedding.weight @ turned)
        for layer in layers:
            for role, slot in layer.items():
                matrix = slot.within(weights[slot.tensor])
                axes = turned.numpy()
                matrix[:] = axes.T @ matrix if role in WRITTEN else matrix @ axes
