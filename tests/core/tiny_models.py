"""Tiny random models of every architecture, saved as a user would have them: for tests, made in a
second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.models.architectures import ARCHITECTURES

TEXT = (
    "the man opened the door of unbelievable things and went out to a quiet room with his old dog"
)
SENTENCES = (
    ("the", "man", "opened", "the", "door"),
    ("a", "quiet", "dog"),
    (
        "things",
        "went",
        "unbelievable",
        "out",
        "of",
        "the",
        "old",
        "room",
        "and",
        "the",
        "man",
        "opened",
        "it",
    ),
    ("don't", "stop"),
    ("door",),
    ("his", "unquiet", "undoor", "went", "with", "the", "manthing"),
)
TYPES = (
    *("bert", "roberta", "distilbert", "electra", "mpnet", "roformer"),
    *("gpt2", "llama", "mistral", "qwen2", "qwen3", "t5", "mt5", "bart"),
    *(
        "xlm-roberta",
        "camembert",
        "albert",
        "deberta-v2",
        "modernbert",
        "gemma",
        "phi3",
        "opt",
        "gpt_neox",
    ),
    *(
        "deberta",
        "eurobert",
        "nomic_bert",
        "esm",
        "longformer",
        "xlnet",
        "mbart",
        "pegasus",
        "marian",
    ),
    *(
        "gemma2",
        "gemma3_text",
        "olmo",
        "olmo2",
        "olmo3",
        "smollm3",
        "granite",
        "glm4",
        "phi",
        "mixtral",
    ),
    *("falcon", "bloom", "gpt_neo", "gptj"),
    *("gpt_oss", "deepseek_v3", "gemma4_text"),
    *("qwen3_moe", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"),
)
LLAMA_LIKE = (
    *("gpt_oss", "deepseek_v3", "gemma4_text"),
    *("qwen3_moe", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"),
    *("llama", "mistral", "qwen2", "qwen3", "gemma", "phi3", "eurobert", "nomic_bert"),
    *(
        "gemma2",
        "gemma3_text",
        "olmo",
        "olmo2",
        "olmo3",
        "smollm3",
        "granite",
        "glm4",
        "phi",
        "mixtral",
    ),
)
BYTE_LEVEL = (
    *(
        "roberta",
        "bart",
        "modernbert",
        "gpt2",
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "opt",
        "gpt_neox",
    ),
    *(
        "olmo",
        "olmo2",
        "olmo3",
        "smollm3",
        "granite",
        "glm4",
        "phi",
        "falcon",
        "bloom",
        "gpt_neo",
        "gptj",
    ),
)
UNIGRAM = ("t5", "mt5", "xlm-roberta", "camembert", "albert", "deberta-v2", "gemma", "phi3")
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
D_MODEL, LAYERS, HEADS, POSITIONS = 32, 3, 4, 64


def _tokenizer(model_type: str) -> Any:
    """The tokenizer of `tiny_tokenizer` before it knows what begins and ends a text.

    One was trained for each kind, three times on `TEXT`, with the `tokenizers` library's trainers
    (90 pieces of WordPiece, 340 of bytes, 60 of Unigram). The trainer takes another one of equally
    frequent pieces each time, so all tests share the files that it wrote.
    """
    from tokenizers import Tokenizer

    kind = "unigram" if model_type in UNIGRAM else "wordpiece"
    if model_type in BYTE_LEVEL:
        kind = "bytes_qwen" if model_type.startswith("qwen") else "bytes"
    return Tokenizer.from_file(str(Path(__file__).with_name("tokenizers") / f"{kind}.json"))


def tiny_tokenizer(model_type: str) -> Any:
    """A fast tokenizer of the kind that this model type has, trained on a few words."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    names: dict[str, str] = {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    tokenizer = _tokenizer(model_type)
    if model_type in ("t5", "mt5"):
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 2)]
        )
    elif model_type in ("llama", "mistral", "gemma", "phi3", "gemma2", "gemma3_text", "mixtral"):
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 1)]
        )
    elif model_type not in BYTE_LEVEL or model_type in ("roberta", "bart", "modernbert"):
        pair = [("<s>", 1), ("</s>", 2)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=pair
        )
        names |= {"cls_token": "<s>", "sep_token": "</s>"}
    if model_type == "gpt2":
        names = {"unk_token": "<unk>"}  # as published: nothing to pad with
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def plain_tokenizer(ref: str) -> Any:
    """The tokenizer of a `path:` reference as the transformers library reads it, for comparison."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(ref.removeprefix("path:"))


def tiny_config(model_type: str, vocabulary: int, **changes: Any) -> Any:
    """A configuration of this type: three layers of 32 dimensions and four heads."""
    from transformers import AutoConfig

    bert = {
        "hidden_size": D_MODEL,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 64,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": 0,
    }
    special: dict[str, dict[str, Any]] = {
        "distilbert": {
            "dim": D_MODEL,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": 64,
            "max_position_embeddings": POSITIONS,
        },
        "gpt2": {"n_embd": D_MODEL, "n_layer": LAYERS, "n_head": HEADS, "n_positions": POSITIONS},
        "bart": {
            "d_model": D_MODEL,
            "encoder_layers": LAYERS,
            "decoder_layers": 2,
            "encoder_attention_heads": HEADS,
            "decoder_attention_heads": HEADS,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "pad_token_id": 0,
            "max_position_embeddings": POSITIONS,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 2,
            "forced_eos_token_id": 2,
        },
        "electra": {**bert, "embedding_size": 16},
        "roformer": {**bert, "embedding_size": 16},
        "albert": {**bert, "embedding_size": 16},
        "modernbert": {
            **bert,
            "global_attn_every_n_layers": 3,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
        },
        "opt": {**bert, "ffn_dim": 64, "word_embed_proj_dim": D_MODEL},
        "gpt_neox": {**bert, "bos_token_id": 1, "eos_token_id": 2},
    }
    special |= {
        "deberta": {**bert, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
        "esm": {**bert, "position_embedding_type": "rotary", "mask_token_id": 4},
        "longformer": {**bert, "attention_window": 4},
        "xlnet": {
            "d_model": D_MODEL,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "d_inner": 64,
            "pad_token_id": 0,
        },
        "falcon": bert,
        "bloom": {"hidden_size": D_MODEL, "n_layer": LAYERS, "n_head": HEADS, "pad_token_id": 0},
        "gpt_neo": {
            "hidden_size": D_MODEL,
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "pad_token_id": 0,
            "attention_types": [[["global"], LAYERS]],
            "max_position_embeddings": POSITIONS,
        },
        "gptj": {
            "n_embd": D_MODEL,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "rotary_dim": 4,
            "n_positions": POSITIONS,
            "pad_token_id": 0,
        },
    }
    special |= dict.fromkeys(("mbart", "pegasus", "marian"), special["bart"])
    for name in ("t5", "mt5"):
        special[name] = {
            "d_model": D_MODEL,
            "d_kv": 8,
            "d_ff": 64,
            "num_layers": LAYERS,
            "num_decoder_layers": 2,
            "num_heads": HEADS,
            "pad_token_id": 0,
            "decoder_start_token_id": 0,
        }
    for name in LLAMA_LIKE:
        special[name] = {
            **bert,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "bos_token_id": 1,
            "eos_token_id": 2,
        }
    for name in ("mixtral", "gpt_oss"):
        special[name]["num_local_experts"] = 4
    routed = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
    linear = {
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
        **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), 8),
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
    }
    special["qwen3_moe"] |= {**routed, "mlp_only_layers": [0]}
    for name in ("qwen3_next", "qwen3_5_moe_text"):
        special[name] |= {**routed, **linear, "shared_expert_intermediate_size": 40}
    special["qwen3_5_text"] |= linear
    special["deepseek_v3"] |= {
        "num_key_value_heads": HEADS,
        "moe_intermediate_size": 48,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace"), 1),
        **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "v_head_dim"), 12),
        **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim"), 8),
    }
    special["deepseek_v3"].pop("head_dim")
    special["gemma4_text"] |= {
        "layer_types": ["sliding_attention", "full_attention", "full_attention"],
        "num_kv_shared_layers": 1,
        "global_head_dim": 16,
        "hidden_size_per_layer_input": 6,
        "vocab_size_per_layer_input": vocabulary,
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
        "enable_moe_block": True,
        "num_experts": 4,
        "top_k_experts": 2,
        "moe_intermediate_size": 48,
    }
    for name in ("nomic_bert", "phi"):
        special[name]["num_key_value_heads"] = HEADS
    settings = {**special.get(model_type, bert), "vocab_size": vocabulary, **changes}
    return AutoConfig.for_model(model_type, **settings)


def save_tiny(
    folder: Path, model_type: str = "bert", *, head: bool = False, seed: int = 0, **changes: Any
) -> Path:
    """A tiny random model and its tokenizer in `folder`.

    Args:
        head: Whether to save the task model (masked or causal language model) and not the bare one.
        seed: Of the weights.
        changes: To the configuration.
    """
    import torch
    from transformers import (
        AutoModel,
        AutoModelForCausalLM,
        AutoModelForMaskedLM,
        AutoModelForSeq2SeqLM,
    )
    from transformers.utils import logging

    tokenizer = tiny_tokenizer(model_type)
    config = tiny_config(model_type, len(tokenizer), **changes)
    factory: Any = AutoModel
    if head:
        family = ARCHITECTURES[model_type].family
        factory = {"decoder": AutoModelForCausalLM, "encoder": AutoModelForMaskedLM}.get(
            family, AutoModelForSeq2SeqLM
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        logging.disable_progress_bar()
        factory.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
