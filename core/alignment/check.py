"""The bijection check: real hidden states through a random invertible network, and each method is asked to undo it.

The truth is a bijection by construction, so whatever error a method leaves is the method's. With no coupling block
the network is a rotation and every linear method should be exact; each further block bends the space more.

Reference: arXiv 2305.14555, the sanity experiment. Deviations: the number of blocks of the truth is varied.
"""

from __future__ import annotations

import numpy as np

from core.alignment.protocol import split_of
from core.alignment.registry import METHODS, make_aligner
from core.errors import ShapeError
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Words

BLOCKS = (0, 1, 2, 4)
GAIN = 1.5  # weights of the random network over their usual size: bent enough that least squares leaves an error


@pure("alignment.check", version=2)
def check_bijection(
    model: str,
    identity: str,
    sentences: Words,
    items: str,
    layer: int,
    blocks: int,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Held-out error of undoing a random invertible network with `blocks` coupling blocks.

    Returns:
        `m/nmse` and `m/inverse` (scalars) for each method, `m/refused` where it does not fit; `rows`; `notices`.

    Raises:
        ModelError: If the model cannot be loaded.
        ShapeError: If the layer does not exist.
    """
    from core.vectors.activations import extract

    with span(0.0, 0.3):
        activations = extract(model, sentences, items=items)
    depth = len(activations.vectors)
    if not -depth <= layer < depth:
        raise ShapeError(f"Layers run from 0 to {depth - 1} here; {layer} was asked for.")
    truth = activations.vectors[layer].astype(np.float64)
    bent = _bend(truth, blocks, seed)
    parts = np.array([split_of(words, seed) for words in sentences])[activations.sentence]
    train, held, test = (np.flatnonzero(parts == part) for part in ("train", "validation", "test"))
    if min(len(train), len(held), len(test)) < 2:
        raise ShapeError("Too few sentences to split into training, validation and test; use more.")
    value: Value = {"rows": len(train), "notices": list(activations.notices)}
    spread = float(((truth[test] - truth[train].mean(0)) ** 2).sum())
    bent_spread = float(((bent[test] - bent[train].mean(0)) ** 2).sum())
    for number, name in enumerate(methods):
        with span(0.3 + 0.7 * number / len(methods), 0.3 + 0.7 * (number + 1) / len(methods)):
            tick(0.0, METHODS[name].label)
            aligner = make_aligner(name, seed)
            try:
                aligner.fit(bent[train], truth[train], (bent[held], truth[held]))
            except ShapeError as error:
                value[f"{name}/refused"] = str(error)
                continue
            undone = aligner.transform(bent[test])
            value[f"{name}/nmse"] = float(((undone - truth[test]) ** 2).sum()) / spread
            if aligner.invertible:
                back = aligner.inverse_transform(undone)
                value[f"{name}/inverse"] = float(((back - bent[test]) ** 2).sum()) / bent_spread
    return value


def _bend(rows: np.ndarray, blocks: int, seed: int) -> np.ndarray:
    """Rows, centred and scaled to unit variance, rotated and sent through the random network."""
    import torch

    from core.alignment.nonlinear import coupling_network

    scaled = (rows - rows.mean(0)) / max(float(rows.std()), 1e-12)
    rng = np.random.default_rng(seed)
    turned = torch.from_numpy(scaled @ np.linalg.qr(rng.normal(size=(rows.shape[1], rows.shape[1])))[0])
    if blocks == 0:
        return turned.numpy()
    network = coupling_network(rows.shape[1], blocks, 64, seed + 1, zero=False).double()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.mul_(GAIN)
        return network(turned, jac=False)[0].numpy()
