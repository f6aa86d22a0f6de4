"""All supported architectures, one description each."""

from __future__ import annotations

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


def describe_type(model_type: object, source: object) -> Architecture:
    """Find the description of a model type; the ModelError for any other, which names `source`,
    lists those that are supported."""
    if isinstance(model_type, str) and model_type in ARCHITECTURES:
        return ARCHITECTURES[model_type]
    raise ModelError(
        f"{source} is of type {model_type!r}, whose layers and matrices are not described here: "
        f"choose a model of one of these types: {', '.join(ARCHITECTURES)}."
    )
