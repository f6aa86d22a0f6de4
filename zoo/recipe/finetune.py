"""Fine-tuning: any encoder with a task's head, AdamW, warmup and linear decay, the whole body or
its upper layers.

The body starts from the base's file as it is (fp16 numbers computed with in float32) and is rounded
to fp16 again at the end, so that a weight delta is the difference of two files, and exactly zero
where nothing trained.

Reference: Devlin et al. 2019 (heads), Dozat & Manning 2017 (arcs). Deviations: the parse head has
no labels.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from core.errors import RecipeError
from core.models.files.checkpoints import HEAD_KEY
from core.models.loading.heads import ArcParser
from core.models.zoo import file_digest
from zoo.recipe.batches import encode_task
from zoo.recipe.checkpoints import read_record, write_model
from zoo.recipe.lora import add_factors, write_adapter
from zoo.recipe.scores import METRICS, baseline_of, score_model
from zoo.recipe.settings import Finetuning, LowRank
from zoo.recipe.tasks import TaskData
from zoo.recipe.training import train

Report = Callable[[str], None]


_LAYER = re.compile(r"\.(?:layers?|h|block)\.(\d+)\.")


def finetune(
    base: Path,
    base_ref: str,
    task: TaskData,
    settings: Finetuning,
    out: Path,
    report: Report = lambda line: None,
) -> dict[str, Any]:
    """Fine-tune the model in `base` and write it, with its head and its record, to `out`; an
    interrupted run resumes from its state beside it, a finished one is kept. Raises RecipeError if
    the base cannot be opened, the task is empty, training diverges, or the disk is full."""
    done = finished_run(base, base_ref, task.name, settings, out)
    if done is not None:
        report(f"{out.name}: already there")
        return done
    from transformers import AutoTokenizer

    task = task.limited(settings.train_limit, settings.test_limit)
    if not task.train or not task.test:
        raise RecipeError(f"The task {task.name} has no examples in its training or test part.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=False)
    torch.manual_seed(settings.seed)
    model = new_task_model(base, task, settings)
    began = time.monotonic()
    items = encode_task(tokenizer, task, task.train, settings.max_length)
    model, pad = model.to(device), tokenizer.pad_token_id
    longest = min(512, int(tokenizer.model_max_length))
    held_out = encode_task(tokenizer, task, task.test, longest)
    baseline = baseline_of(model, task, held_out, pad, device)
    state = _state_file(base, base_ref, task.name, settings, out)
    steps, tokens = train(model, task.kind, items, settings, pad, device, out.name, report, state)
    _round_to_fp16(model)  # scored as it is saved
    scores = score_model(model, task, held_out, pad, device=device)
    record: dict[str, Any] = {
        **_run_key(base, base_ref, task.name, settings),
        **_data_of(task),
        "ref": f"zoo:{out.name}",
        "scores": {name: round(value, 4) for name, value in scores.items()},
        "baseline": baseline,
        "steps": steps,
        "tokens": tokens,
        "seconds": round(time.monotonic() - began, 1),
    }
    write = write_adapter if isinstance(settings, LowRank) else write_model
    write(model.cpu(), base, out, record, **_config_of_task(model, task, settings))
    state.unlink(missing_ok=True)
    name, value = next(iter(scores.items()))
    report(
        f"{out.name}: {name} {value:.3f} against {record['baseline']['score']:.3f}, "
        f"{record['seconds']:.0f} s"
    )
    return record


def _data_of(task: TaskData) -> dict[str, Any]:
    """Return the entries of a record that say what was trained on, and how it is scored."""
    return {
        "kind": task.kind,
        "data": task.data,
        "licence": task.licence,
        "metric": METRICS[task.kind],
        "train_examples": len(task.train),
        "test_examples": len(task.test),
    }


def _round_to_fp16(model: Any) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(torch.float16).to(parameter.dtype))


def finished_run(
    base: Path, base_ref: str, task: str, settings: Finetuning, out: Path
) -> dict[str, Any] | None:
    """Read the record in `out` if it is of this very run, from this very base; None if the run is
    still to do. Raises RecipeError if the base has no weights."""
    wanted, done = _run_key(base, base_ref, task, settings), read_record(out)
    return (
        done
        if done is not None and all(done.get(key) == value for key, value in wanted.items())
        else None
    )


def _run_key(base: Path, base_ref: str, task: str, settings: Finetuning) -> dict[str, Any]:
    """Return the entries of its record that identify a run."""
    return {
        "base": base_ref,
        "base_sha256": _digest(base),
        "task": task,
        "settings": asdict(settings),
    }


def _state_file(base: Path, base_ref: str, task: str, settings: Finetuning, out: Path) -> Path:
    """Name the file beside `out` that keeps the state of this very run."""
    run = json.dumps(_run_key(base, base_ref, task, settings), sort_keys=True)
    return out.with_name(f"{out.name}.{hashlib.sha256(run.encode()).hexdigest()[:8]}.state")


def new_task_model(base: Path, task: TaskData, settings: Finetuning) -> Any:
    """Make the base's body with a fresh head for the task's kind, and an adapter's factors. Raises
    RecipeError if weights of the body are missing from the file."""
    import transformers
    from transformers.utils import logging

    names = {
        "sequence": "SequenceClassification",
        "words": "TokenClassification",
        "span": "QuestionAnswering",
        "text": "CausalLM",
    }
    options: dict[str, Any] = {
        "dtype": torch.float32,
        "use_safetensors": True,
        "trust_remote_code": False,
    }
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        options[name] = settings.dropout
    config = transformers.AutoConfig.from_pretrained(base, trust_remote_code=False)
    options = {
        name: value
        for name, value in options.items()
        if not name.endswith("_prob") or hasattr(config, name)
    }
    if task.label_names:
        options["id2label"] = dict(enumerate(task.label_names))
        options["label2id"] = {label: index for index, label in enumerate(task.label_names)}
    level = logging.get_verbosity()
    # a new head is what is wanted here; what must not be missing is checked below
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        auto = getattr(
            transformers, "AutoModel" if task.kind == "arcs" else f"AutoModelFor{names[task.kind]}"
        )
        model, loading_info = auto.from_pretrained(base, output_loading_info=True, **options)
    except (OSError, ValueError) as error:
        raise RecipeError(
            f"The base {base} could not be opened for {task.name}: {error}"
        ) from error
    finally:
        logging.set_verbosity(level)
    body = str(model.base_model_prefix)
    lacking = [
        name
        for name in loading_info["missing_keys"]
        if task.kind == "arcs" or name.startswith(f"{body}.")
    ]
    lacking = [
        name for name in lacking if "pooler" not in name
    ]  # a head in all but name; not every base ships one
    if lacking:
        raise RecipeError(
            f"The base {base} lacks {len(lacking)} weights of its body ({lacking[0]})."
        )
    made = ArcParser(model, settings.arc_size) if task.kind == "arcs" else model
    freeze(made, settings.frozen)
    if isinstance(settings, LowRank):
        add_factors(made, settings)
    return made


def freeze(model: Any, layers: int) -> None:
    """Exclude the embeddings and the lowest `layers` layers of a task model's body from training; 0
    excludes nothing. Raises RecipeError if the body has fewer layers, or unknown names for them."""
    if not layers:
        return
    body = model.body if isinstance(model, ArcParser) else model.base_model
    embeddings, lower = 0, set()
    for name, parameter in body.named_parameters(prefix="body"):
        place = _LAYER.search(name)
        if place is None and "embed" in name:
            embeddings += 1
        elif place is not None and int(place.group(1)) < layers:
            lower.add(int(place.group(1)))
        else:
            continue
        parameter.requires_grad_(False)
    if not embeddings or len(lower) < layers:
        raise RecipeError(
            f"{type(body).__name__} has {len(lower)} layers that could be found, and {layers} are "
            "to be frozen with the embeddings; freeze fewer, or use a BERT-like base."
        )


def _config_of_task(model: Any, task: TaskData, settings: Finetuning) -> dict[str, Any]:
    """Say in the configuration what was trained; a parser's body stays what `AutoModel` opens, its
    head is named beside it."""
    extra: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    extra = {name: value for name, value in extra.items() if hasattr(model.config, name)}
    if task.kind == "arcs":
        extra |= {
            HEAD_KEY: {"kind": "arc", "size": settings.arc_size},
            "architecture": type(model.body).__name__,
        }
    return extra


def _digest(base: Path) -> str:
    paths = sorted(base.glob("*.safetensors"))
    if not paths:
        raise RecipeError(
            f"No weights (*.safetensors) in {base}; "
            "make the base first, or choose one that has them."
        )
    return "+".join(file_digest(path) for path in paths)
