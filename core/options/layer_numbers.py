"""Which layers a study reads: those that are named, all, or by default some of a deep model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import SpecError

EVERY_LAYER = -1  # in the place of a layer's number: all of them
ALL_LAYERS, SOME_LAYERS = "all", "some"  # as flags and links say it
FEW = 8  # layers of a model of which all are read
SOME = 7  # of a deeper one


def layers_of(asked: Sequence[int], layers: int) -> tuple[int, ...]:
    """Return the numbers of the layers to read; the output of the embeddings is layer 0.

    Args:
        asked: Numbers; (EVERY_LAYER,) for all; none for all of a model with up to `FEW` layers, and
            of a deeper one for `SOME` that are evenly spaced, the first and the last among them.
        layers: How many the model has.

    Example:
        >>> layers_of((), 6), layers_of((), 12), layers_of((2, 9), 12)
        ((0, 1, 2, 3, 4, 5, 6), (0, 2, 4, 6, 8, 10, 12), (2, 9))
        >>> len(layers_of((EVERY_LAYER,), 12))
        13
    """
    if asked and EVERY_LAYER not in asked:
        return tuple(asked)
    if asked or layers <= FEW:
        return tuple(range(layers + 1))
    return tuple(round(number * layers / (SOME - 1)) for number in range(SOME))


def few_of(read: Sequence[int]) -> tuple[int, ...]:
    """Return the first, the middle and the last of the layers read.

    Example:
        >>> few_of((0, 2, 4, 6, 8, 10, 12))
        (0, 6, 12)
    """
    return tuple(dict.fromkeys((read[0], read[len(read) // 2], read[-1])))


def layers_of_model(asked: Sequence[int], ref: str, layers: int) -> tuple[int, ...]:
    """Return the numbers of the layers to read of a model; arguments as of `layers_of`.

    Raises:
        SpecError: If the model has no layer of a number that was asked for.
    """
    read = layers_of(asked, layers)
    missing = [layer for layer in read if layer > layers]
    if missing:
        numbers = ", ".join(map(str, missing))
        named = f"layer {numbers} is" if len(missing) == 1 else f"layers {numbers} are"
        raise SpecError(f"{ref} has layers 0 to {layers}; {named} not among them.")
    return read


def which_layers(asked: Sequence[int], layers: Mapping[str, int]) -> str:
    """Say which layers a study reads, for a methods paragraph; arguments as of `some_read`."""
    if asked and EVERY_LAYER not in asked:
        return f"layers {', '.join(map(str, asked))}"
    some = f" ({SOME}, evenly spaced, of models with more than {FEW})"
    return f"every layer{some if some_read(asked, layers) else ''}"


def some_read(asked: Sequence[int], layers: Mapping[str, int]) -> str:
    """Say of which models not all layers were read, though none was named; "" of none.

    Args:
        asked: As of `layers_of`.
        layers: Model -> how many it has.
    """
    deep = [ref for ref, count in layers.items() if not asked and count > FEW]
    if not deep:
        return ""
    numbers = ", ".join(map(str, layers_of((), layers[deep[0]])))
    more = ", and as many of the other deep models" if len(deep) > 1 else ""
    return (
        f"Of {deep[0]}, layers {numbers} were read{more}: a best layer is the best of these. "
        f"{ALL_LAYERS.capitalize()} in place of {SOME_LAYERS} layers reads every one."
    )
