"""Weight deltas: fine-tuned minus base, matched by role and layer, one matrix at a time.

Models that do not fit are refused before anything is computed: another architecture, depth, width
or vocabulary, or weights that are not a fine-tune of this base. Two unrelated matrices of the same
norm differ by sqrt(2) times the norm; fine-tuning changes a matrix by a few hundredths of it, in
small models by a few tenths.

Reference: Ilharco et al. 2023, ICLR (task vectors). Deviations: matrices of attention and
feed-forward only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.maths.spectra.spectra import relative_change
from core.models import locate, read_manifest
from core.models.changes import apartness, share_start, shares_no_start
from core.models.files import checkpoints
from core.models.files.opening import ROUNDING, quantisation_notice
from core.models.files.safetensors import sides
from core.models.weights.matrix_families import Slot
from core.models.weights.tensors import Checkpoint, open_folder

ADDED_WORDS = 1024  # tokens that a fine-tune may add; another tokenizer differs by more
ROUNDED = 2.0  # a delta below this many times the rounding error of its file is mostly rounding


@dataclass(frozen=True)
class Pair:
    """A base and a fine-tune whose matrices match.

    Attributes:
        base, tuned: The checkpoints.
        slots: For each matrix, its place in the base and in the fine-tune.
        notices: Sentences that a reader of the numbers must know.
    """

    base: Checkpoint
    tuned: Checkpoint
    slots: tuple[tuple[Slot, Slot], ...]
    notices: tuple[str, ...]

    def shape(self, index: int) -> tuple[int, int]:
        """Rows and columns of a matrix."""
        slot, _ = self.slots[index]
        return slot.shape(self.base.entries[slot.tensor].shape)

    def by_tensor(self, skip: Collection[int] = ()) -> dict[str, list[tuple[int, Slot, Slot]]]:
        """List the matrices, each with its index and both places, by the tensor of the base that
        holds them, without those at the indices in `skip`."""
        held: dict[str, list[tuple[int, Slot, Slot]]] = {}
        for index, (ours, theirs) in enumerate(self.slots):
            if index not in skip:
                held.setdefault(ours.tensor, []).append((index, ours, theirs))
        return held


@dataclass(frozen=True)
class Delta:
    """One matrix of the delta.

    Attributes:
        index: Its place in `Pair.slots`.
        matrix: Fine-tuned minus base, shape (output, input), float64.
        weight_norm: Frobenius norm of the base's matrix.
        floor: Relative size of the rounding error of the coarser of the two files; 0 for a product
            of factors.
        weight: The base's matrix, float64.
        factors: Two matrices, shapes (output, rank) and (input, rank), whose product it is, where
            that is known.
    """

    index: int
    matrix: Float[ndarray, "output input"]
    weight_norm: float
    floor: float
    weight: Float[ndarray, "output input"]
    factors: tuple[Float[ndarray, "output rank"], Float[ndarray, "input rank"]] | None = None


def match(base: Checkpoint, tuned: Checkpoint, families: Sequence[str] = ()) -> Pair:
    """Pair the matrices of a base and a fine-tune of these families (all, if none is named), from
    headers alone. Raises ModelError if type, depth, width or vocabulary differ, or a family is not
    there."""
    name = f"{tuned.ref} is not a fine-tune of {base.ref}"
    if base.model_type != tuned.model_type:
        raise ModelError(
            f"{name}: "
            f"one is a {tuned.model_type or 'nameless type'}, the other a {base.model_type}."
        )
    ours, theirs = base.slots, tuned.slots
    depth, tuned_depth = (1 + max(layer for _, layer in keys) for keys in (ours, theirs))
    if depth != tuned_depth:
        raise ModelError(f"{name}: it has {tuned_depth} layers, the base {depth}.")
    if set(ours) != set(theirs):
        family, layer = min(set(ours) ^ set(theirs))
        raise ModelError(f"{name}: only one of them has a {family} matrix in layer {layer}.")
    for key, slot in ours.items():
        mine, its = base.entries[slot.tensor].shape, tuned.entries[theirs[key].tensor].shape
        if len(mine) < 2:
            raise ModelError(
                f"{base.ref}: {slot.tensor} is no matrix ({sides(mine)}); the file is damaged."
            )
        if mine != its:
            raise ModelError(
                f"{name}: {theirs[key].tensor} is {sides(its)}, in the base {sides(mine)}."
            )
    notices = _check_vocabulary(base, tuned, name)
    check_families(base, [family for family, _ in ours], families)
    slots = tuple(
        (slot, theirs[key]) for key, slot in ours.items() if not families or key[0] in families
    )
    quantised = (quantisation_notice(model.ref, model.entries) for model in (base, tuned))
    return Pair(base, tuned, slots, (*notices, *filter(None, quantised)))


def check_families(base: Checkpoint, held: Sequence[str], families: Sequence[str]) -> None:
    """Refuse families that are not among those that a base holds. Raises ModelError with the
    first of them."""
    unknown = sorted(set(families) - set(held))
    if unknown:
        raise ModelError(
            f"{base.ref} has no family {unknown[0]!r}; it has {', '.join(dict.fromkeys(held))}."
        )


def read_deltas(pair: Pair, skip: Collection[int] = ()) -> Iterator[Delta]:
    """Read the delta's matrices, but those at the indices in `skip`; a fused tensor is read once.
    Raises ModelError if one cannot be read, or the first shows that the models are unrelated."""
    first = not skip  # stored matrices have passed the check
    for tensor, slots in pair.by_tensor(skip).items():
        _, _, place = slots[0]
        base = pair.base.read(tensor).astype(np.float64)
        tuned = pair.tuned.read(place.tensor)
        if first:
            check_related(pair, base, tuned, place)
            first = False
        stored = (pair.base.entries[tensor], pair.tuned.entries[place.tensor])
        floor = max(ROUNDING[entry.dtype] for entry in stored)
        for index, ours, theirs in slots:
            weight = ours.cut(base)
            yield Delta(
                index,
                theirs.cut(tuned) - weight,
                float(np.linalg.norm(weight)),
                floor,
                weight,
            )


def check_related(
    pair: Pair,
    base: Float[ndarray, "*shape"],
    tuned: Float[ndarray, "*shape"],
    slot: Slot | None = None,
) -> None:
    """Raise ModelError for a model or adapter (without a `slot`) that does not come from the base,
    by one matrix in each; the included base that it does come from is named."""
    squares = [float((values**2).sum()) for values in (tuned - base, base, tuned)]
    if shares_no_start(apartness(*squares), chance=base.size**-0.5):
        change = float(relative_change(squares[0], squares[1], of_nothing=np.inf))
        nearest = nearest_included(pair.tuned.model_type, slot, tuned) if slot is not None else ""
        hint = f"; nearest: {nearest}" if nearest not in ("", pair.tuned.ref) else ""
        raise ModelError(
            f"{pair.tuned.ref} does not look like a fine-tune of {pair.base.ref}: relative delta "
            f"{change:.2g} (unrelated weights: about 1.4). Choose the base that it started "
            f"from{hint}."
        )


def nearest_included(model_type: str, place: Slot, tensor: Float[ndarray, "*shape"]) -> str:
    """Find the included pretrained model whose matrix at this place resembles this one most; "" if
    none that can be read is related."""
    matrix = place.cut(tensor).astype(np.float64)
    cosines: dict[str, float] = {}
    for ref in (str(entry["ref"]) for entry in read_manifest() if not entry.get("base")):
        try:
            folder = locate(ref)
            checkpoint = open_folder(ref, folder, checkpoints.read_config(folder))
            if checkpoint.model_type != model_type:
                continue
            slot = checkpoint.slots.get((place.family, place.layer))
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


def _check_vocabulary(base: Checkpoint, tuned: Checkpoint, name: str) -> tuple[str, ...]:
    ours, theirs = base.config.get("vocab_size"), tuned.config.get("vocab_size")
    if not isinstance(ours, int) or not isinstance(theirs, int) or ours == theirs:
        return ()
    if abs(theirs - ours) > ADDED_WORDS:
        raise ModelError(f"{name}: its vocabulary has {theirs:,} tokens, the base's {ours:,}.")
    return (
        f"The vocabulary of {tuned.ref} has {theirs:,} tokens, that of its base {ours:,}; "
        "embeddings are not compared.",
    )
