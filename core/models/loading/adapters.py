"""LoRA adapters merged into a base that a study or a command names.

Reference: Hu et al. 2022, ICLR. Deviations: see `core.models.weights.merging`.
"""

from __future__ import annotations

from pathlib import Path

from core.models.describing import locate_merged
from core.models.files.checkpoints import read_config
from core.models.files.opening import count_parameters
from core.models.loading.conversion import read_back, refuse_existing, writing
from core.models.loading.heads import load_task_model
from core.models.loading.model import load_tokenizer
from core.models.loading.task_models import TaskModel, head_in, load_task
from core.models.references import parse_ref
from core.models.trial import check_implied
from core.models.weights.merged import write_merged
from core.models.weights.merging import merge
from core.models.weights.origins import adapter_folder, folder_of_adapter, whole_base


def load_task_on(ref: str, base: str) -> TaskModel:
    """Load a model with its head; an adapter merged into this base."""
    return load_task(ref) if adapter_folder(ref) is None else load_adapted(ref, base)


def load_adapted(ref: str, base: str) -> TaskModel:
    """Load the base with an adapter's factors merged into it, and with the adapter's head. Raises
    ModelError if either cannot be read, or the adapter does not fit the base or has no head."""
    folder_of_adapter(ref)
    folder = locate_merged(ref, base)
    config = read_config(folder)
    check_implied(parse_ref(ref), folder, "AutoModel", count_parameters(folder, config))
    return TaskModel(ref, head_in(config, ref), load_task_model(folder), load_tokenizer(base))


def merge_adapter(ref: str, base: str, target: Path) -> int:
    """Write an adapter merged into its base to a new folder, with the tokenizer, read it back and
    count its tensors. Raises ModelError if either cannot be read, they do not fit, or the target is
    there."""
    refuse_existing(target)
    adapter, origin = folder_of_adapter(ref), whole_base(base, ref)
    with writing(target) as partial:
        count = write_merged(merge(adapter, origin), adapter, origin, partial)
        read_back(partial)
    return count
