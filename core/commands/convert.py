"""`python -m core convert MODEL`: write weights of another format as safetensors, or an adapter
merged into its base."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "folder",
        metavar="MODEL",
        help="the model's folder (also as path:FOLDER), or an adapter: its folder, or an included "
        "one such as zoo:parse-0-lora-8",
    )
    parser.add_argument(
        "--base",
        metavar="MODEL",
        help="the model that an adapter in a folder was trained on; included adapters name theirs",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder to write, which must not exist yet (default FOLDER-safetensors; for an "
        "adapter, its name here)",
    )


def main(arguments: argparse.Namespace) -> int:
    """Convert the model, or merge the adapter; return the exit status."""
    from core.models.files.adapters import is_adapter
    from core.models.loading.conversion import convert

    included = arguments.folder.startswith("zoo:")
    folder = Path(arguments.folder.removeprefix("path:")).expanduser().resolve()
    if included or is_adapter(folder):
        ref = arguments.folder if included else f"path:{folder}"
        target = arguments.out or Path(f"{ref.rpartition(':')[2].rpartition('/')[2]}-merged")
        count = _merge(ref, arguments.base, target)
    else:
        target = arguments.out or folder.with_name(f"{folder.name}-safetensors")
        count = convert(folder, target)
    print(f"{count:,} tensors written to {target}; choose it as path:{target}.")
    return 0


def _merge(ref: str, base: str | None, target: Path) -> int:
    """Merge an adapter into the named base, or into the one that the manifest names.

    Raises:
        ModelError: If no base is known, and as `merge_adapter`.
    """
    from core.errors import ModelError
    from core.models.describing import adapter_folder
    from core.models.loading.adapters import merge_adapter
    from core.models.zoo import adapter_base

    if adapter_folder(ref) is None:
        raise ModelError(f"{ref} is a whole model, not an adapter: it can be used as it is.")
    origin = base or adapter_base(ref)
    if not origin:
        raise ModelError(
            f"{ref} is not an included adapter, so its base is not known: name it with --base."
        )
    return merge_adapter(ref, origin, target)
