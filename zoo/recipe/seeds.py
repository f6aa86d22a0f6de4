"""Turn a pretrained seed or decoder into an included model: round, measure, predict words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.models.zoo import CAUSAL, MASKED
from zoo.recipe.baselines import TextBaselines
from zoo.recipe.checkpoints import RECORD, finish_seed, read_record, write_json
from zoo.recipe.pretrain import Pretraining, evaluate
from zoo.recipe.sources import TextSource

BLANKS = (
    "The man opened the [MASK] and went out.",
    "She poured the tea into a [MASK].",
    "The children were playing in the [MASK].",
    "He has never [MASK] to London.",
    "The keys to the cabinet [MASK] on the table.",
    "It was so dark that I could not [MASK] anything.",
    "The film was so [MASK] that I fell asleep.",
    "The capital of France is [MASK].",
    "Two and two make [MASK].",
    "I would like a cup of [MASK], please.",
)
"""Written down before any model was trained; every card shows all ten, whatever comes out."""

BEGINNINGS = (
    "The man opened the",
    "She poured the tea into a",
    "The children were playing in the",
    "He has never been to",
    "The keys to the cabinet",
    "It was so dark that I could not",
    "The film was so bad that",
    "The capital of France is",
    "Once upon a",
    "I would like a cup of",
)
"""For decoders, which predict the next word; written down before any was trained."""


def is_published(checkpoint: Path, out: Path) -> bool:
    """Tell whether the model in `out` was made of this very checkpoint."""
    from core.models.zoo import file_digest

    done = read_record(out)
    return (
        done is not None
        and checkpoint.is_file()
        and done.get("checkpoint_sha256") == file_digest(checkpoint)
    )


def publish_seed(
    checkpoint: Path,
    tokenizer: Path,
    out: Path,
    held_out: np.ndarray,
    baselines: TextBaselines,
    source: TextSource,
    settings: Pretraining | None = None,
    second_run_of: str | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Write a seed's or decoder's folder and its record: held-out loss and accuracy of the weights
    as they are shipped. `second_run_of` is the seed that was trained with the same settings before.
    Raises RecipeError as `finish_seed`."""
    from core.models.zoo import file_digest

    note = finish_seed(checkpoint, tokenizer, out, settings)
    trained = settings or Pretraining(
        **{**note["settings"], "keep_steps": tuple(note["settings"]["keep_steps"])}
    )
    steps = int(note.get("step") or checkpoint.stem.rpartition("-")[2])
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    causal = trained.objective == "causal"
    auto: Any = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    model = auto.from_pretrained(out, dtype=torch.float32, trust_remote_code=False).to(device)
    scores = evaluate(model, held_out, trained, device)
    task = CAUSAL if causal else MASKED
    record = {
        "ref": f"zoo:{out.name}",
        "base": None,
        "task": task,
        "kind": task,
        "data": source.data,
        "licence": source.licence,
        "metric": "held_out_loss",
        "scores": {name: round(value, 4) for name, value in scores.items()},
        "baseline": {
            "score": round(baselines.bigram, 4),
            "unigram": round(baselines.unigram, 4),
            "answer": "bigram",
        },
        "steps": steps,
        "tokens": steps * trained.tokens_per_step,
        "settings": {**vars(trained), "keep_steps": list(trained.keep_steps)},
        "checkpoint_sha256": file_digest(checkpoint),
        "examples": predict_words(
            model.cpu(),
            AutoTokenizer.from_pretrained(out, trust_remote_code=False),
            BEGINNINGS if causal else BLANKS,
        ),
    }
    if second_run_of is not None:
        record["second_run_of"] = second_run_of
    write_json(out / RECORD, record)
    return record


def predict_words(
    model: Any, tokenizer: Any, sentences: tuple[str, ...], top: int = 5
) -> list[dict[str, Any]]:
    """Predict the model's `top` words for each sentence's [MASK], or after its end where there is
    none, with probabilities."""
    filled = []
    for sentence in sentences:
        encoding = tokenizer(sentence, return_tensors="pt")
        ids = encoding["input_ids"][0].tolist()
        place = ids.index(tokenizer.mask_token_id) if "[MASK]" in sentence else -1
        with torch.inference_mode():
            logits = model(**encoding).logits[0, place]
        best = logits.softmax(-1).topk(top)
        words = [tokenizer.convert_ids_to_tokens(int(index)) for index in best.indices]
        filled.append(
            {
                "text": sentence,
                "words": words,
                "probabilities": [round(float(p), 4) for p in best.values],
            }
        )
    return filled
