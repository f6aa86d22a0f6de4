"""`python -m core convert MODEL`: write weights of another format as safetensors, or an adapter
merged into its base."""

from __future__ import annotations

import argparse
import re
from pathlib import Path


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
        "--out",
        type=Path,
        help="folder to write, which must not exist yet (default FOLDER-safetensors; "
        "for an adapter, its name here)",
    )


def main(arguments: argparse.Namespace) -> int:
    """Convert the model, or merge the adapter; return the exit status."""
    from core.models.files.adapters import is_adapter
    from core.models.loading.adapters import merge_adapter
    from core.models.loading.conversion import convert
    from core.models.weights.origins import base_of

    folder = Path(arguments.folder.removeprefix("path:")).expanduser().resolve()
    elsewhere = arguments.folder.startswith(("zoo:", "hub:"))
    if elsewhere or is_adapter(folder):
        ref = arguments.folder if elsewhere else f"path:{folder}"
        target = arguments.out or Path(f"{re.split('[:/]', ref)[-1]}-merged")
        count = merge_adapter(ref, arguments.base or base_of(ref), target)
    else:
        target = arguments.out or folder.with_name(f"{folder.name}-safetensors")
        count = convert(folder, target)
    print(f"{count:,} tensors written to {target}; choose it as path:{target}.")
    return 0
