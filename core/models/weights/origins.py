"""Where references lead: the folder of a model or an adapter, and the base of an adapter.

An adapter names its base in its configuration. On a shared instance that may be a Hub model or an
included one, never a folder.
"""

from __future__ import annotations

from pathlib import Path

from core import COMMAND
from core.errors import ModelError
from core.limits import current_limits
from core.models.files.adapters import AdapterConfig, is_adapter, read_adapter
from core.models.files.checkpoints import read_config
from core.models.files.layout import CONFIG
from core.models.references import ModelRef, parse_ref
from core.models.zoo import BESIDE, adapter_base, not_included, zoo_folder

INCLUDED = Path(BESIDE.name, "models")  # as included adapters name their bases
HOW_TO_NAME = (
    "Write where its base is into adapter_config.json as base_model_name_or_path (a folder, "
    f"hub:NAME or zoo:NAME), or merge the adapter: `{COMMAND} convert ADAPTER --base MODEL`."
)


def folder_of(ref: ModelRef) -> Path:
    """Find the folder of a model or an adapter as it is; download one of the Hub. Raises ModelError
    as `locate` does."""
    if ref.kind == "hub":
        import core.models.hub.client as hub

        return hub.download(ref.name, ref.revision)
    if ref.kind == "path":
        folder = Path(ref.name)
        if not _is_folder(folder):
            raise ModelError(
                f"{str(folder)[-300:]} is not a folder: "
                f"give the folder that holds the model's {CONFIG}."
            )
        return folder
    folder = zoo_folder() / "models" / ref.name
    if not _is_folder(folder):
        raise ModelError(not_included(ref.name, folder.parent))
    return folder


def adapter_folder(ref: str | ModelRef) -> Path | None:
    """Find the folder of a reference that holds an adapter; None for models, and on the Hub for
    what has not been downloaded."""
    ref = parse_ref(ref)
    if ref.random:
        return None
    if ref.kind == "hub":
        import core.models.hub.client as hub

        folder = hub.earlier_download(ref.name, ref.revision)
    else:
        folder = folder_of(ref)
    return folder if folder is not None and is_adapter(folder) else None


def folder_of_adapter(ref: str | ModelRef) -> Path:
    """Find the folder of an adapter; download one of the Hub. Raises ModelError as `locate` does;
    also if it is none."""
    folder = folder_of(parse_ref(ref))
    if not is_adapter(folder):
        raise ModelError(f"{ref} is a whole model, not an adapter: it can be used as it is.")
    return folder


def whole_base(base: str, ref: str | ModelRef) -> Path:
    """Find the folder of an adapter's base. Raises ModelError, with how to say where it is, if it
    cannot be found or read, or is no whole model."""
    try:
        if parse_ref(base).random:
            raise ModelError(f"{base} has random weights.")
        folder = folder_of(parse_ref(base))
        if is_adapter(folder):
            raise ModelError(f"{base} is an adapter itself.")
        read_config(folder)
    except ModelError as error:
        included = parse_ref(ref).kind == "zoo"
        if included and base.startswith("zoo:"):
            raise
        advice = "" if included else f" {HOW_TO_NAME}"
        raise ModelError(
            f"{ref} is an adapter of {base}, which cannot be read. {error}{advice}"
        ) from error
    return folder


def base_of(ref: str | ModelRef) -> str:
    """Find the model that an adapter was trained on, as manifest or configuration says: a folder,
    as for PEFT, else a model of the Hub or an included one. Raises ModelError if the adapter does
    not say it, or names a folder on a shared instance."""
    ref = parse_ref(ref)
    if ref.kind == "zoo" and (listed := adapter_base(f"zoo:{ref.name}")):
        return listed
    return base_in(read_adapter(folder_of_adapter(ref)), ref)


def base_in(config: AdapterConfig, ref: ModelRef) -> str:
    """Read the reference of an adapter's base in its configuration; raises ModelError as `base_of`
    does."""
    named = config.base.strip()
    if named.startswith(("zoo:", "hub:", "path:")):
        return str(parse_ref(named))
    if Path(named).parent == INCLUDED:
        return str(parse_ref(f"zoo:{Path(named).name}"))
    if not current_limits().shared and named and _is_folder(Path(named)):
        return str(parse_ref(f"path:{named}"))
    try:
        return str(parse_ref(f"hub:{named}" + (config.revision and f"@{config.revision}")))
    except ModelError as error:
        fault = f"of {named}, which is not there" if named else "that does not name its base"
        raise ModelError(f"{ref} is an adapter {fault}. {HOW_TO_NAME}") from error


def _is_folder(path: Path) -> bool:
    """As Path.is_dir, but False for a name that no file system accepts."""
    try:
        return path.is_dir()
    except OSError:
        return False
