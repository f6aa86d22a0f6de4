"""All supported model families, a file each in these folders and a name in `FAMILIES` below: a
family is added here. Also which of them a configuration is of: old ones do not say their type,
which is then inferred."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from core.errors import ModelError
from core.models.architecture import Architecture
from core.models.architectures.decoders import (
    bloom,
    deepseek,
    gemma4,
    glm4,
    gpt2,
    gpt_neo,
    gpt_neox,
    gpt_oss,
    llama,
    mixtral,
    opt,
    phi,
    qwen_hybrid,
)
from core.models.architectures.encoder_decoders import bart, t5
from core.models.architectures.encoders import (
    albert,
    bert,
    deberta,
    distilbert,
    esm,
    eurobert,
    longformer,
    modernbert,
    mpnet,
    xlnet,
)

FAMILIES = (
    *(bert, distilbert, mpnet, albert, deberta, modernbert, eurobert, esm, longformer, xlnet),
    *(gpt2, llama, mixtral, phi, glm4, gpt_neo, gpt_neox, opt, bloom),
    *(gpt_oss, deepseek, qwen_hybrid, gemma4),
    *(t5, bart),
)
ARCHITECTURES: dict[str, Architecture] = {
    model_type: architecture
    for family in FAMILIES
    for architecture in family.FAMILY
    for model_type in architecture.types
}
"""Description by model type."""
CLASS = re.compile(r"(\w+?)(?:LMHeadModel|PreTrainedModel|Model|For[A-Z]\w*)")
MOST_NAMED = 4  # types named in an error


def describe_type(model_type: object, source: object) -> Architecture:
    """Find the description of a model type; the ModelError for any other, which names `source`,
    lists those that are supported."""
    if isinstance(model_type, str) and model_type in ARCHITECTURES:
        return ARCHITECTURES[model_type]
    raise ModelError(
        f"{source} is of type {model_type!r}, whose layers and matrices are not described here: "
        f"choose a model of one of these types: {', '.join(ARCHITECTURES)}."
    )


def class_in(config: Mapping[str, Any], source: object = "config.json") -> str:
    """Read which class a configuration names; "" if none. Raises ModelError, which names `source`,
    if `architectures` is no list of names."""
    names = config.get("architectures")
    if names is None:
        return ""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"{source} gives no names in its architectures: get it again.")
    return names[0] if names else ""


def stem(name: str) -> str:
    """Take what a class of transformers does off its name: "RoFormer" of RoFormerForMaskedLM; "" of
    what is no such name."""
    hit = CLASS.fullmatch(name)
    return hit[1] if hit else ""


def infer_type(config: Mapping[str, Any], names: Iterable[str], source: object) -> str:
    """Infer the model type from the class that config.json names, else from the names of tensors,
    of which there may be none. Raises ModelError, which names `source`, if neither decides it."""
    named = _bare(stem(class_in(config, source)))
    of_class = [model_type for model_type in ARCHITECTURES if _bare(model_type) == named]
    if of_class:
        return of_class[0]
    listed = tuple(names)
    explained = {model_type: _explained(model_type, listed) for model_type in ARCHITECTURES}
    most = max(explained.values())
    fitting = [model_type for model_type, count in explained.items() if count == most > 0]
    firsts = {name.partition(".")[0] for name in listed}
    prefixed = [model_type for model_type in fitting if _bare(model_type) in map(_bare, firsts)]
    for candidates in (fitting, prefixed):
        if len(candidates) == 1:
            return candidates[0]
    likely = ", ".join((prefixed or fitting)[:MOST_NAMED])
    hint = f"; its tensors are named as in {likely}" if likely else ""
    raise ModelError(
        f'{source} does not say its model type{hint}: write "model_type": "..." '
        "into it, with the type that it is."
    )


def _explained(model_type: str, names: tuple[str, ...]) -> int:
    """Count the tensors that are named as the type's matrices are."""
    patterns = [tensor.pattern for tensor in ARCHITECTURES[model_type].matrices]
    return sum(any(pattern.search(name) for pattern in patterns) for name in names)


def _bare(name: str) -> str:
    return re.sub(r"[-_]", "", name).lower()
