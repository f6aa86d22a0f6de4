"""Deltas of LoRA adapters from their factors, scaling * B A, without merging them into the base.

A product of factors of rank r has rank r at most, known exactly: its singular values come from the
factors, not from a matrix with rounding in it. Where the base stores a matrix (input, output), as
GPT-2 does, PEFT transposes the product whatever `fan_in_fan_out` says; in (output, input) it is B A
for every architecture. What an adapter does not target has a delta of exactly zero.

Reference: Hu et al. 2022, ICLR. Deviations: embeddings, heads and whatever else is no matrix of a
layer is left out, as it is for every fine-tune.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.errors import ModelError, listed
from core.models.files.adapters import AdapterConfig
from core.models.files.safetensors import sides
from core.models.weights.deltas import Delta, Pair, check_families, check_related
from core.models.weights.factors import Product, product_of, sort_tensors
from core.models.weights.matrix_families import Slot, match_names
from core.models.weights.tensors import Checkpoint


@dataclass(frozen=True)
class Adapter:
    """An adapter whose factors have not been read.

    Attributes:
        config: What its configuration says.
        factors: Its tensors, a checkpoint without a configuration.
    """

    config: AdapterConfig
    factors: Checkpoint


@dataclass(frozen=True)
class AdapterPair(Pair):
    """A base and an adapter whose factors fit it; `tuned` holds the factors.

    Attributes:
        targets: What changes a tensor of the base, by its name.
    """

    targets: dict[str, Product]


def match_adapter(base: Checkpoint, adapter: Adapter, families: Sequence[str] = ()) -> AdapterPair:
    """Pair an adapter's factors with the base's matrices of these families (all, if none is named),
    from headers alone. Raises ModelError if they do not fit this base or the configuration, one of
    a pair is missing, or a layer's matrix is held whole."""
    ref, entries = adapter.factors.ref, adapter.factors.entries
    ours = base.slots
    tensors = sort_tensors(entries, ref)
    modules, whole_names = tensors.linear, [*tensors.whole]
    placed = match_names(base.model_type, [f"{module}.weight" for module in modules], base.config)
    whole = match_names(base.model_type, whole_names, base.config)
    if whole:
        name = next(iter(whole.values())).tensor
        raise ModelError(
            f"{ref} stores {name} in full (modules_to_save), not as factors: "
            "merge it into its base."
        )
    if not placed:
        raise ModelError(
            f"{ref} has no factors for the matrices of {base.ref}, a {base.model_type}: "
            "choose its base."
        )
    targets: dict[str, Product] = {}
    for key, place in placed.items():
        slot = ours.get(key)
        if slot is None:
            raise ModelError(
                f"{ref} is not an adapter of {base.ref}, "
                f"which has no {key[0]} matrix in layer {key[1] + 1}; choose its base."
            )
        module = place.tensor.removesuffix(".weight")
        target = product_of(adapter.config, module, modules[module], ref)
        rows, columns = slot.whole(base.entries[slot.tensor].shape)
        if not target.fits(adapter.factors, rows, columns):
            sizes = listed([sides(entries[name].shape) for name in (target.upper, target.lower)])
            raise ModelError(
                f"{ref} has factors of {sizes} for {target.module}, {rows} x {columns} in "
                f"{base.ref} with rank {target.rank}: it is damaged, or an adapter of another base."
            )
        targets[slot.tensor] = target
    check_families(base, [family for family, _ in ours], families)
    slots = tuple((slot, slot) for slot in ours.values() if not families or slot.family in families)
    others = {*tensors.embedded, *tensors.tokens}
    left_out = sorted({*modules, *others} - {target.module for target in targets.values()})
    return AdapterPair(
        base,
        adapter.factors,
        slots,
        _notices(base, adapter, targets, placed, left_out, whole_names),
        targets,
    )


def read_factors(pair: AdapterPair, skip: Collection[int] = ()) -> Iterator[Delta]:
    """Read the delta's matrices with their factors, but those at the indices in `skip`; a fused
    tensor is read once. Raises ModelError if one cannot be read, or the first one is changed by
    more than a fine-tune's would be."""
    first = not skip  # stored matrices have passed the check
    for tensor, slots in pair.by_tensor(skip).items():
        base = pair.base.read(tensor).astype(np.float64)
        target = pair.targets.get(tensor)
        factors = None if target is None else target.read(pair.tuned)
        for index, slot, _ in slots:
            weight = slot.cut(base)
            rows, columns = weight.shape
            left, right = (
                (np.zeros((rows, 0)), np.zeros((columns, 0))) if factors is None else factors
            )
            left = slot.cut_rows(left) if factors is not None else left
            change = left @ right.T
            if first:
                check_related(pair, weight, weight + change)
                first = False
            yield Delta(index, change, float(np.linalg.norm(weight)), 0.0, weight, (left, right))


def _notices(
    base: Checkpoint,
    adapter: Adapter,
    targets: dict[str, Product],
    placed: dict[tuple[str, int], Slot],
    left_out: list[str],
    unfactored: list[str],
) -> tuple[str, ...]:
    ref, config = adapter.factors.ref, adapter.config
    ranks = sorted({target.rank for target in targets.values()})
    scales = sorted({target.scaling for target in targets.values()})
    families = ", ".join(dict.fromkeys(family for family, _ in placed))
    notices = [
        f"{ref} is a LoRA adapter of rank {_span(ranks)}, scaled by {_span(scales)}, of "
        f"{families}. Its update is the product of its factors; its other matrices are the base's."
    ]
    named = Path(config.base).name.lower()
    if named and named != Path(base.ref.partition(":")[2].partition("@")[0]).name.lower():
        notices.append(
            f"{ref} was trained on {config.base} according to its configuration, "
            f"not on {base.ref}; its relative sizes hold only if both have the same weights."
        )
    if left_out or unfactored:
        whole = {name.rpartition(".")[0] or name for name in unfactored}
        names = sorted({*left_out, *whole})
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        notices.append(f"{ref} also changes parts that are not compared here ({shown}).")
    return tuple(notices)


def _span(values: Sequence[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
