"""`python -m core convert MODEL`: write weights of another format as safetensors, an adapter merged
into its base, or a base plus the changes of its fine-tunes."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path

from core.errors import SpecError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "folder",
        metavar="MODEL",
        help="the model's folder (also as path:FOLDER), or an adapter: "
        "its folder, or one of the Hub (hub:NAME), or an included one such as zoo:parse-0-lora-8",
    )
    parser.add_argument(
        "--base",
        metavar="MODEL",
        help="the model that an adapter was trained on; without it, the one that its files name",
    )
    parser.add_argument(
        "--add",
        nargs="+",
        metavar="MODEL=FACTOR",
        help="fine-tunes of MODEL whose changes are added to it, each times a factor (1 without "
        "one; negative to subtract); the first one's head and tokenizer are written",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder to write, which must not exist yet (default FOLDER-safetensors; "
        "for an adapter or a sum, its name here)",
    )


def main(arguments: argparse.Namespace) -> int:
    """Convert the model, merge the adapter or add the changes; return the exit status."""
    from core.models.files.adapters import is_adapter
    from core.models.loading.conversion import add_vectors, convert, merge_adapter
    from core.models.weights.origins import base_of

    folder = Path(arguments.folder.removeprefix("path:")).expanduser().resolve()
    elsewhere = arguments.folder.startswith(("zoo:", "hub:"))
    ref = arguments.folder if elsewhere else f"path:{folder}"
    if arguments.add:
        target = arguments.out or Path(f"{re.split('[:/]', ref)[-1]}-sum")
        count = add_vectors(ref, read_factors(arguments.add), target)
    elif elsewhere or is_adapter(folder):
        target = arguments.out or Path(f"{re.split('[:/]', ref)[-1]}-merged")
        count = merge_adapter(ref, arguments.base or base_of(ref), target)
    else:
        target = arguments.out or folder.with_name(f"{folder.name}-safetensors")
        count = convert(folder, target)
    print(f"{count:,} tensors written to {target}; choose it as path:{target}.")
    return 0


def read_factors(given: Sequence[str]) -> dict[str, float]:
    """Read the factor of each model from MODEL=FACTOR; 1 where there is none. Raises ModelError if
    something is no reference, SpecError if a factor is no number, or a model is named twice.

    Example:
        >>> read_factors(["zoo:parse-0", "zoo:nli-0=-0.5"])
        {'zoo:parse-0': 1.0, 'zoo:nli-0': -0.5}
    """
    from core.models import parse_ref

    factors: dict[str, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        ref = str(parse_ref(name if equals else text))
        try:
            factor = float(number) if equals else 1.0
        except ValueError:
            factor = math.nan
        if not math.isfinite(factor):
            raise SpecError(f"{number!r} is no factor: write MODEL=FACTOR, such as {ref}=0.5.")
        if ref in factors:
            raise SpecError(f"{ref} is named twice: give one factor for each fine-tune.")
        factors[ref] = factor
    return factors
