"""Stitching: the lower layers of one model, a map, the upper layers and the head of another.

If two models compute the same thing up to a map, a task head should not notice the change of trains. The map at
layer l is fitted on subword states of unlabelled sentences; then each labelled sentence goes through the source up to
l, through the map, and on through the target from l to its head.

References: Lenc & Vedaldi 2015; Bansal, Nakkiran & Barak 2021 (model stitching). Deviations: the map is fitted to
the target's states and never trained on the task's loss, so that it cannot learn the task.
"""

from __future__ import annotations

import numpy as np
import torch

from core.alignment.live import batches, enter, states, subword_rows
from core.alignment.protocol import split_of
from core.alignment.registry import METHODS, make_aligner
from core.errors import ModelError, ShapeError
from core.models import load_tokenizer, load_with_head, tokenizer_fingerprint
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Words

Labelled = tuple[tuple[str, str], ...]


@pure("alignment.stitch", version=2)
def stitch_pair(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    labelled: Labelled,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Accuracy of every stitch of two models.

    Args:
        source, target: References of two models with a sequence-classification head for one task.
        source_identity, target_identity: For the key, see `pairs.identity`.
        sentences: Unlabelled sentences that the maps are fitted on.
        labelled: (text, label) pairs; labels as in the target's config.
        methods: Names in the registry.
        seed: Of the split and the networks.

    Returns:
        `m/correct` (layer, text) for each method, `m/refused` with a reason where one does not fit;
        `own_target` and `own_source` (text,); `rows` that the maps were fitted on.

    Raises:
        ModelError: If a model cannot be loaded, has no such head, or the tokenizers differ.
        ShapeError: If a label is unknown to the target.
    """
    if tokenizer_fingerprint(source) != tokenizer_fingerprint(target):
        raise ModelError(f"{source} and {target} cut words differently, so one cannot go on where the other stops.")
    tokenizer = load_tokenizer(target)
    lower, upper = (load_with_head(ref, device="cpu").model for ref in (source, target))
    names = _labels(target, upper.config)
    unknown = sorted({label for _, label in labelled} - set(names))
    if unknown:
        raise ShapeError(f"{target} does not know the label {unknown[0]!r}; it knows {', '.join(names)}.")
    with span(0.0, 0.2):
        tick(0.1, "reading the sentences that the maps are fitted on")
        x, owner = subword_rows(lower, tokenizer, sentences)
        y, _ = subword_rows(upper, tokenizer, sentences)
    if len(x) != len(y):
        raise ModelError(
            f"{source} has {len(x) - 1} layers and {target} {len(y) - 1}; stitching needs the same number."
        )
    parts = np.array([split_of(words, seed) for words in sentences])[owner]
    train, held = np.flatnonzero(parts != "validation"), np.flatnonzero(parts == "validation")
    truth = np.array([names.index(label) for _, label in labelled])
    value: Value = {"rows": len(train)}
    value["own_target"] = _own(upper, tokenizer, labelled) == truth
    value["own_source"] = _own(lower, tokenizer, labelled) == truth
    for number, name in enumerate(methods):
        with span(0.2 + 0.8 * number / len(methods), 0.2 + 0.8 * (number + 1) / len(methods)):
            aligner = make_aligner(name, seed)
            try:
                tick(0.0, METHODS[name].label)
                aligner.fit(x[:, train], y[:, train], (x[:, held], y[:, held]))
            except ShapeError as error:
                value[f"{name}/refused"] = str(error)
                continue
            value[f"{name}/correct"] = _stitched(lower, upper, tokenizer, labelled, aligner, len(x)) == truth
    return value


def _stitched(lower, upper, tokenizer, labelled: Labelled, aligner, layers: int) -> np.ndarray:
    """Predicted label of every text by the stitch at every layer, (layer, text)."""
    predicted = np.zeros((layers, len(labelled)), dtype=np.int64)
    done = 0
    for batch in batches(tokenizer, [text for text, _ in labelled], split=False):
        hidden = states(lower, batch)
        real = batch.mask.bool()
        mapped = hidden.clone()
        rows = aligner.transform(hidden[:, real].double().numpy())
        mapped[:, real] = torch.from_numpy(rows).to(mapped.dtype)
        for layer in range(layers):
            logits = enter(upper, batch, layer, mapped[layer]).logits
            predicted[layer, batch.sentences] = logits.argmax(-1).numpy()
        done += len(batch.sentences)
        tick(done / len(labelled))
    return predicted


def _own(model, tokenizer, labelled: Labelled) -> np.ndarray:
    predicted = np.zeros(len(labelled), dtype=np.int64)
    for batch in batches(tokenizer, [text for text, _ in labelled], split=False):
        with torch.inference_mode():
            output = model(input_ids=batch.ids, attention_mask=batch.mask)
        predicted[batch.sentences] = output.logits.argmax(-1).numpy()
    return predicted


def _labels(ref: str, config) -> list[str]:
    """Names of the classes in order.

    Raises:
        ModelError: If the model has no sequence-classification head.
    """
    architecture = str((getattr(config, "architectures", None) or ["none"])[0])
    if not architecture.endswith("ForSequenceClassification"):
        raise ModelError(
            f"{ref} has no head that labels sentences ({architecture}); choose a sentiment model of the box."
        )
    return [str(config.id2label[number]) for number in range(config.num_labels)]
