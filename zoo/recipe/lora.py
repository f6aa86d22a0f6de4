"""LoRA: factors of low rank beside a body's frozen matrices, and adapters in PEFT's format.

Every matrix of attention and of the feed-forward part gets factors. The body, its biases and layer
norms stay the base's, bit for bit; the task's head trains, and is saved with the factors. Factors
and head are rounded to fp16 at the end, as full fine-tunes are.

Reference: Hu et al. 2022, ICLR. The files are those of PEFT (`adapter_config.json`,
`adapter_model.safetensors`). Deviations: none that a reader of the files could see.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from core.errors import RecipeError
from core.models.files.adapters import ADAPTER_WEIGHTS, WRAPPER
from core.models.files.layout import ADAPTER, CONFIG
from core.models.loading.heads import ArcParser
from zoo.recipe.checkpoints import RECORD, config_of, rounded, write_folder
from zoo.recipe.settings import LowRank

TARGETS = (
    *("query", "key", "value", "output.dense", "intermediate.dense"),
    *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
)  # ends of modules' names: of a BERT-like encoder, of a Llama-like decoder
FACTORS = ("lora_A", "lora_B")


class LowRankLinear(nn.Module):
    """A frozen linear layer plus alpha / rank times the product of two factors that train.

    The first factor is drawn as PEFT draws it, the second one is 0, so that training starts from
    the base's own function.
    """

    def __init__(self, frozen: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.lora_A = nn.Linear(frozen.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, frozen.out_features, bias=False)
        self.scaling = alpha / rank
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        """Apply the layer to inputs of shape (..., input)."""
        product = self.lora_B(self.lora_A(inputs))
        return cast("Tensor", self.frozen(inputs) + self.scaling * product)


def add_factors(model: Any, settings: LowRank) -> None:
    """Freeze a task model's body and put factors beside its matrices, in place. Raises RecipeError
    if the body has no matrix that is called as `TARGETS` are."""
    body = _body(model).requires_grad_(False)
    places = [
        (name, module)
        for name, module in body.named_modules()
        if isinstance(module, nn.Linear) and name.endswith(tuple(f".{end}" for end in TARGETS))
    ]
    if not places:
        raise RecipeError(
            f"{type(body).__name__} has no matrices called {', '.join(TARGETS)}, "
            "which an adapter changes; use a BERT-like or a Llama-like base."
        )
    for name, linear in places:
        above, _, last = name.rpartition(".")
        factors = LowRankLinear(linear, settings.rank, settings.alpha)
        setattr(body.get_submodule(above), last, factors)


def write_adapter(
    model: Any, base: Path, out: Path, record: dict[str, Any], **config_extra: Any
) -> None:
    """Write factors and head as PEFT does, with the record; whole or not at all. `config.json`
    beside them is the merged model's: it names the head and its labels. Raises RecipeError if a
    number is not finite in fp16 or the folder cannot be written."""
    weights, settings = rounded(model), record["settings"]
    body = {id(parameter) for parameter in _body(model).parameters()}
    heads = [name for name, parameter in model.named_parameters() if id(parameter) not in body]
    factors = [name for name in weights if name.split(".")[-2] in FACTORS]
    adapter = {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": _name_of(record["base"]),
        "r": settings["rank"],
        "lora_alpha": settings["alpha"],
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": False,
        "init_lora_weights": True,
        "inference_mode": True,
        "target_modules": [
            end for end in TARGETS if any(f".{end}.lora_" in name for name in factors)
        ],
        "modules_to_save": sorted({name.partition(".")[0] for name in heads}),
    }
    files = {ADAPTER: adapter, CONFIG: config_of(model, **config_extra), RECORD: record}
    write_folder(
        out, ADAPTER_WEIGHTS, {WRAPPER + name: weights[name] for name in (*factors, *heads)}, files
    )


def _name_of(base: str) -> str:
    """Return what PEFT calls a base: zoo/models/seed-0, a Hub model's name, a folder."""
    kind, _, name = base.partition(":")
    return f"zoo/models/{name}" if kind == "zoo" else name


def _body(model: Any) -> nn.Module:
    return cast("nn.Module", model.body if isinstance(model, ArcParser) else model.base_model)
