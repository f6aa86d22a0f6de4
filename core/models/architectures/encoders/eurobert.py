"""EuroBERT and Nomic BERT: encoders with Llama's matrices."""

from dataclasses import replace

from core.models.architecture import ATTENTION, fuse, name_tensors
from core.models.architectures.decoders.llama import LLAMA

EUROBERT = replace(LLAMA, types=("eurobert",), family="encoder")
NOMIC_BERT = replace(
    EUROBERT,
    types=("nomic_bert",),
    # As the published checkpoints name them, and as transformers does in memory.
    matrices=(
        *name_tensors(
            "layers.#.self_attn.", {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
        ),
        fuse("layers.#.attn.Wqkv", ATTENTION),
        *name_tensors(
            "layers.#.",
            {
                "output": "(?:self_attn.o_proj|attn.out_proj)",
                "gate": "mlp.(?:gate_proj|fc12)",
                "ff1": "mlp.(?:up_proj|fc11)",
                "ff2": "mlp.(?:down_proj|fc2)",
            },
        ),
    ),
    embedding="embeddings.word_embeddings",
    norm="",
    head="cls",
    cls=True,
)

FAMILY = (EUROBERT, NOMIC_BERT)
