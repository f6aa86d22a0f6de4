"""`python -m core convert FOLDER`: write weights of another format as safetensors."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("folder", type=Path, help="the model's folder")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder to write, which must not exist yet (default FOLDER-safetensors)",
    )


def main(arguments: argparse.Namespace) -> int:
    """Convert the model; return the exit status."""
    from core.models.loading.conversion import convert

    folder = arguments.folder.expanduser().resolve()
    target = arguments.out or folder.with_name(f"{folder.name}-safetensors")
    count = convert(folder, target)
    print(f"{count:,} tensors written to {target}; choose it as path:{target}.")
    return 0
