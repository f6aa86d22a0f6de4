"""Every architecture that can be read, one description each: names declared once, everything else derived."""

from __future__ import annotations

from core.errors import ModelError
from core.models.architectures.decoders import gpt2, gpt_neox, llama, opt, phi3
from core.models.architectures.description import Architecture
from core.models.architectures.encoder_decoders import bart, t5
from core.models.architectures.encoders import albert, bert, deberta, distilbert, modernbert, mpnet

FAMILIES = (
    *(bert, distilbert, mpnet, gpt2, llama, t5, bart),
    *(albert, deberta, modernbert, phi3, opt, gpt_neox),
)
ARCHITECTURES: dict[str, Architecture] = {
    model_type: architecture
    for family in FAMILIES
    for architecture in family.FAMILY
    for model_type in architecture.types
}
"""Description by model type."""


def describe_type(model_type: object, source: object) -> Architecture:
    """The description of a model type.

    Args:
        source: Names the model in the message.

    Raises:
        ModelError: If it is not described: with the types that are.
    """
    if isinstance(model_type, str) and model_type in ARCHITECTURES:
        return ARCHITECTURES[model_type]
    raise ModelError(
        f"{source} is of type {model_type!r}, whose layers and matrices are not described here: choose "
        f"a model of one of these types: {', '.join(ARCHITECTURES)}."
    )
