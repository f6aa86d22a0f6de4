"""`make hub OWNER=NAME`: folders of the included models as a repository each of the Hub has them.

python -m zoo.recipe.upload OWNER [--out FOLDER]

Cards and adapters name their bases as the owner's. Nothing is sent: `hf upload` does that.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from core.errors import PalimpsestError, RecipeError
from core.models.files.layout import ADAPTER
from core.models.zoo import how_to_restore_file, read_adapters, read_manifest, zoo_folder
from zoo.recipe.cards import card
from zoo.recipe.heads import base_on_hub, hub_name

OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,95}")
PEFT_TASKS = {"sequence": "SEQ_CLS", "span": "QUESTION_ANS", "text": "CAUSAL_LM"}
"""Kind of task -> PEFT's name of it, by which it chooses the class of the base."""


def write_uploads(
    out: Path, owner: str, entries: Iterable[dict[str, Any]] | None = None
) -> list[Path]:
    """Write one folder a model, `out/palimpsest-NAME`, with its card and weights. Raises
    RecipeError if the owner's name is none, no model is included, or a file cannot be copied,
    ModelError if the manifest cannot be read."""
    if not OWNER.fullmatch(owner):
        raise RecipeError(
            f"{owner[:100]!r} is no name of a user or organisation of the Hub: "
            "write letters, digits and single hyphens."
        )
    listed = [*read_manifest(), *read_adapters()]
    if not listed:
        manifest = zoo_folder() / "manifest.json"
        raise RecipeError(f"{manifest} lists no model. {how_to_restore_file(manifest)}")
    by_ref = {entry["ref"]: entry for entry in listed}
    written = []
    for entry in listed if entries is None else entries:
        base = by_ref.get(entry["base"])
        folder = out / hub_name(entry["name"], owner).partition("/")[2]
        try:
            shutil.copytree(zoo_folder() / "models" / entry["name"], folder, dirs_exist_ok=True)
            (folder / "README.md").write_text(card(entry, base, owner), encoding="utf8")
            if (folder / ADAPTER).is_file():
                _name_base(folder / ADAPTER, base_on_hub(entry, owner), entry["kind"])
        except OSError as error:
            raise RecipeError(
                f"{folder} could not be written ({error}); free some space and run again."
            ) from error
        written.append(folder)
    return written


def _name_base(path: Path, base: str, kind: str) -> None:
    """Write the Hub's name of its base, and of its task, into an adapter's configuration."""
    config = json.loads(path.read_text(encoding="utf8"))
    config |= {"base_model_name_or_path": base, "task_type": PEFT_TASKS.get(kind)}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf8")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the folders and say how they are sent; return 0, or 2 after an error message."""
    parser = argparse.ArgumentParser(prog="python -m zoo.recipe.upload")
    parser.add_argument("owner", help="user or organisation of the Hub")
    parser.add_argument("--out", type=Path, default=Path("out/hub"), help="default: %(default)s")
    arguments = parser.parse_args(argv)
    try:
        written = write_uploads(arguments.out, arguments.owner)
    except PalimpsestError as error:
        print(f"palimpsest: {error}", file=sys.stderr)
        return 2
    print(f"{len(written)} folders in {arguments.out}. After `hf auth login`, send each with")
    print(f"  hf upload {arguments.owner}/{written[0].name} {written[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
