"""LoRA adapters: their configuration, or why their factors give no weight change.

An adapter is read as every model is: plain JSON, safetensors, no code. What PEFT can do beside
plain LoRA changes the weights in other ways than by the product of two factors, or changes the base
as well; each is refused by its name. Biases and rows of embeddings that were trained as well are
numbers in place of the base's.

References: Hu et al. 2022, ICLR (LoRA); Kalajdzievski 2023, arXiv 2312.03732 (rsLoRA); the fields
are those of PEFT's LoraConfig. Deviations: patterns of modules are read as names, dots and `\\d+`,
not as any regular expression.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.models.files.checkpoints import content_hash, layout_of, read_json
from core.models.files.layout import ADAPTER, lay_out
from core.runs.process.remembered import READ_FILES, folder_state, remembered

ADAPTER_WEIGHTS = "adapter_model.safetensors"
WRAPPER = "base_model.model."  # begins the names of an adapter's tensors
MOST_RANK = 65_536
MOST_ALPHA = 1e6
MOST_PATTERNS = 1_000
MOST_TOKENS = 100_000  # rows of an embedding that were trained
LONGEST_PATTERN = 300  # characters
CLASS_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}")
PLAIN_PATTERN = re.compile(r"\^?(?:[A-Za-z0-9_-]|\\?\.|\\d\+)+")
ANY_NUMBER = r"\d+"
PLAIN_STARTS = (
    None,
    True,
    False,
    "true",
    "false",
    "gaussian",
    "eva",
    "orthogonal",
)  # the base's weights stay
QUANTISED = re.compile(
    r"(?i)(?:[48]-?bit|int[48]|nf4|fp8|gptq|awq|gguf|bnb|hqq|aqlm|eetq|quanti[sz]ed)"
)
REFUSED = {  # field -> its name in messages
    "use_dora": "DoRA, which rescales every weight",
    "use_qalora": "QALoRA, which pools the inputs",
    "lora_bias": "LoRA with biases of its own",
    "alora_invocation_tokens": "activated LoRA, which changes some positions only",
    "layer_replication": "layer replication, which makes other layers",
    "megatron_config": "Megatron's parallel layers",
    "target_parameters": "LoRA of bare parameters",
}


@dataclass(frozen=True)
class AdapterConfig:
    """The configuration of a LoRA adapter.

    Attributes:
        base: Name of the model that it was trained on, as it says itself; "" where it does not.
        rank: Of its factors, r.
        alpha: Numerator of its scaling.
        root: Whether the scaling is alpha / sqrt(r) (rsLoRA) rather than alpha / r.
        ranks, alphas: Those of some modules, by pattern.
        saved: Modules that it holds whole, such as a classifier's head.
        revision: Of the base on the Hub; "" for its main branch.
        task: What the head is for, as PEFT calls it, such as "SEQ_CLS"; "" where it is not said.
        trained_class: Class of the model that it was trained in; "" where it is not said.
        tokens: Rows that were trained, by the name of their embedding; "" is any.
        tied: Whether an output layer that is tied to the embeddings follows them.
    """

    base: str
    rank: int
    alpha: float
    root: bool
    ranks: Mapping[str, int]
    alphas: Mapping[str, float]
    saved: tuple[str, ...]
    revision: str
    task: str
    trained_class: str
    tokens: Mapping[str, tuple[int, ...]]
    tied: bool

    def rank_of(self, module: str) -> int:
        """Rank of a module's factors."""
        return self.ranks.get(_first_match(self.ranks, module), self.rank)

    def scaling(self, module: str) -> float:
        """The factor that a module's product is multiplied by."""
        rank = self.rank_of(module)
        alpha = self.alphas.get(_first_match(self.alphas, module), self.alpha)
        return alpha / math.sqrt(rank) if self.root else alpha / rank

    def holds_whole(self, name: str) -> bool:
        """Whether a tensor is of a module that it says it holds whole; PEFT looks at the ends of
        modules' names."""
        parts = name.split(".")
        modules = (".".join(parts[:end]) for end in range(1, len(parts)))
        return any(module.endswith(self.saved) for module in modules)

    def tokens_of(self, module: str) -> tuple[int, ...]:
        """Rows of an embedding that were trained."""
        named = next((key for key in self.tokens if key and module.endswith(key)), "")
        return self.tokens.get(named, ())


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and no model."""
    return layout_of(folder).adapter


def holds_adapter(names: Iterable[str]) -> bool:
    """Whether files of these names are an adapter; one beside a model's weights is ignored."""
    return lay_out(names, "").adapter


@remembered(READ_FILES, state=folder_state)
def read_adapter(folder: Path) -> AdapterConfig:
    """Read the configuration of the adapter in a folder. Raises ModelError as `check_adapter` does;
    also if its factors are not there in safetensors."""
    check_files([path.name for path in folder.iterdir()], folder)
    return check_adapter(read_json(folder / ADAPTER), folder)


def adapter_fingerprint(folder: Path) -> str:
    """Calculate the sha256 hex of an adapter's configuration and factors. Raises ModelError if one
    of them is missing."""
    parts = [content_hash(folder / name) for name in (ADAPTER, ADAPTER_WEIGHTS)]
    return hashlib.sha256(json.dumps(["adapter", *parts]).encode()).hexdigest()


def check_files(names: list[str], source: object) -> None:
    """Refuse an adapter without factors in safetensors, by a ModelError with the reason."""
    if ADAPTER_WEIGHTS in names:
        return
    if any(name.startswith("adapter_model") for name in names):
        raise ModelError(
            f"{source} has pickled factors only, which are never opened here: "
            f"choose an adapter with {ADAPTER_WEIGHTS}."
        )
    raise ModelError(
        f"{source} holds no {ADAPTER_WEIGHTS}: get the adapter again, or choose another."
    )


def check_adapter(config: Mapping[str, Any], source: object) -> AdapterConfig:
    """Read a configuration of plain LoRA. Raises ModelError if it is another kind of adapter or of
    LoRA, was trained on a quantised base, or is damaged."""
    kind = config.get("peft_type")
    if kind != "LORA":
        raise _refuse(source, f"an adapter of kind {str(kind)[:40]}")
    for name, value in config.items():
        if name in REFUSED and value not in (None, False, [], {}):
            raise _refuse(source, REFUSED[name])
        plain = name == "use_rslora" and value is True
        unsupported = name.startswith("use_") and not plain and value not in (None, False)
        unsupported |= (
            name.endswith("_config") and name != "eva_config" and value not in (None, False, {})
        )
        if unsupported:
            raise _refuse(source, f"LoRA with {name[:40]}")
    if config.get("init_lora_weights") not in PLAIN_STARTS:
        start = str(config["init_lora_weights"])[:40]
        raise _refuse(source, f"LoRA begun with {start}, which changes the base's weights as well")
    base = str(config.get("base_model_name_or_path") or "")[:300]
    if QUANTISED.search(base):
        raise _refuse(source, f"LoRA on a quantised base ({base[:80]})")
    saved = config.get("modules_to_save") or []
    classes = config.get("auto_mapping")
    trained = classes.get("base_model_class") if isinstance(classes, dict) else None
    return AdapterConfig(
        base=base,
        rank=_rank(config.get("r"), source),
        alpha=_alpha(config.get("lora_alpha"), source),
        root=config.get("use_rslora") is True,
        ranks={
            key: _rank(value, source) for key, value in _patterns(config, "rank_pattern", source)
        },
        alphas={
            key: _alpha(value, source) for key, value in _patterns(config, "alpha_pattern", source)
        },
        saved=tuple(str(name)[:100] for name in saved[:100] if name)
        if isinstance(saved, list)
        else (),
        revision=_plain(config.get("revision"), REVISION),
        task=_plain(config.get("task_type"), CLASS_NAME),
        trained_class=_plain(trained, CLASS_NAME),
        tokens=_tokens(config.get("trainable_token_indices"), source),
        tied=config.get("ensure_weight_tying") is True,
    )


def _plain(value: object, form: re.Pattern[str]) -> str:
    """A text of this form; "" for any other value."""
    return value if isinstance(value, str) and form.fullmatch(value) else ""


def _tokens(value: object, source: object) -> dict[str, tuple[int, ...]]:
    """Read which rows of which embeddings were trained."""
    groups = value if isinstance(value, dict) else {"": value} if value else {}
    read = {
        str(name)[:LONGEST_PATTERN]: tuple(rows)
        for name, rows in groups.items()
        if isinstance(rows, list) and all(type(row) is int and row >= 0 for row in rows)
    }
    if len(read) < len(groups) or sum(map(len, read.values())) > MOST_TOKENS:
        raise ModelError(
            f"{source} has damaged trainable_token_indices: "
            "get the adapter again, or choose another."
        )
    return read


def _refuse(source: object, fault: str) -> ModelError:
    return ModelError(
        f"{source} is {fault}, whose update is not the product of its factors: "
        "merge it into its base and use the result."
    )


def _first_match(patterns: Mapping[str, object], module: str) -> str:
    """Find the first pattern that a module's name ends with, as PEFT does; else the name."""
    parts = module.split(".")
    return next((key for key in patterns if _ends_with(parts, key)), module)


def _ends_with(parts: list[str], pattern: str) -> bool:
    wanted = pattern.removeprefix("^").replace("\\.", ".").split(".")
    if len(wanted) > len(parts) or (pattern.startswith("^") and len(wanted) != len(parts)):
        return False
    ends = zip(parts[-len(wanted) :], wanted, strict=True)
    return all(part == want or (want == ANY_NUMBER and part.isdecimal()) for part, want in ends)


def _patterns(config: Mapping[str, Any], field: str, source: object) -> list[tuple[str, Any]]:
    given = config.get(field) or {}
    if not isinstance(given, dict) or len(given) > MOST_PATTERNS:
        raise ModelError(
            f"{source} has a damaged {field}: get the adapter again, or choose another."
        )
    for key in given:
        if len(key) > LONGEST_PATTERN or not PLAIN_PATTERN.fullmatch(key):
            raise ModelError(
                f"{source} names modules by {key[:80]!r} in {field}, which is no plain name: "
                "merge the adapter into its base."
            )
    return list(given.items())


def _rank(value: object, source: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_RANK:
        raise ModelError(
            f"{source} names an impossible rank ({str(value)[:40]}): "
            "get the adapter again, or choose another."
        )
    return value


def _alpha(value: object, source: object) -> float:
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not abs(value) <= MOST_ALPHA
    ):
        raise ModelError(
            f"{source} names an unusable lora_alpha ({str(value)[:40]}): get the adapter again, "
            "or choose another."
        )
    return float(value)
