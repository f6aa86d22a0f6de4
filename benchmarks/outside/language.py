"""Scores of sentences and lenses, by the app and by others."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.outside.inputs import DECODER, MASKED, Numbers, Words, sentences
from benchmarks.outside.merges import tiny_models


def our_scores(ref: str, small: bool) -> Numbers:
    """Log-likelihoods of `probe behaviour`, in nats."""
    from core.models.loading.language_models import prediction_kind
    from core.models.loading.model import load_with_head
    from core.studies.probes.minimal_pairs.scoring import score_words

    loaded = load_with_head(ref, device="cpu")
    return {"nats": score_words(loaded, prediction_kind(ref), sentences(small)).sum(1)}


def our_bits(ref: str, words: Words) -> Numbers:
    """Losses of `bits`, in nats, first word excepted."""
    from core.models.identity import identify
    from core.studies.rsa.bits.tasks import score_sentences

    value = score_sentences(ref, identify(ref).content, tuple(map(tuple, words)))
    return {"nats": -value["nats"]}


def minicons_scores(ref: str, words: Words, first: int = 0, **how: str) -> Numbers:
    """Summed log-probabilities of the subwords of words from `first` on, a sentence at a time."""
    import torch
    from minicons.scorer import IncrementalLMScorer, MaskedLMScorer

    from core.models.describing import locate

    causal = ref == DECODER
    scorer: Any = IncrementalLMScorer if causal else MaskedLMScorer
    model = scorer(str(locate(ref)), device="cpu", dtype=torch.float32)
    sums = []
    for sentence in words:
        cut = model.tokenizer([sentence], is_split_into_words=True, return_tensors="pt")
        owners = cut.word_ids(0)[1:] if causal else [at for at in cut.word_ids(0) if at is not None]
        (scores,) = model.sequence_score(cut, reduction=lambda scores: scores, **how)
        pairs = zip(owners, scores.tolist(), strict=True)
        sums.append(sum(score for owner, score in pairs if owner is not None and owner >= first))
    return {"nats": np.array(sums)}


def short_sentences(small: bool) -> Words:
    """Beginnings of which `bits` masks one subword at a time, because they have no more than it
    masks one of."""
    from core.models.loading.model import load_with_head
    from core.vectors.forward import cut_sentences
    from core.vectors.predicting import EVERY

    tokenizer = load_with_head(MASKED, device="cpu").tokenizer
    begun = []
    for words in sentences(small):
        cut = cut_sentences(tokenizer, [words])[0]
        begun.append(words[: max(cut.words[: EVERY + 1])])  # the word cut there is left out
    return begun


def our_lens(ref: str, words: Words) -> Numbers:
    """Distance of each layer's logit lens from the output, in bits, (layer, place)."""
    from core.models.loading.model import load_with_head
    from core.studies.rsa.lens.lenses import Head, fit_maps, measure_lenses
    from core.vectors.predicting import ask_following

    loaded = load_with_head(ref, device="cpu")
    asked = ask_following(loaded, words)
    seen = measure_lenses(Head.of(loaded.model), fit_maps(loaded.model, asked), asked)
    order = np.lexsort((seen["place"], seen["sentence"]))
    return {"bits": seen["kl"][0][:, order]}


def nnterp_lens(ref: str, words: Words) -> Numbers:
    """The same from probabilities that nnterp projects each layer's output to."""
    import torch
    from nnterp import StandardizedTransformer

    from core.models.describing import locate
    from core.models.loading.model import load_with_head
    from core.vectors.forward import cut_sentences

    model = StandardizedTransformer(str(locate(ref)), dtype=torch.float32, device_map="cpu")
    tokenizer = load_with_head(ref, device="cpu").tokenizer
    columns = []
    for cut in cut_sentences(tokenizer, words):
        with model.trace(torch.tensor([cut.ids])):
            said = [model.project_on_vocab(model.token_embeddings)]
            for layer in range(model.num_layers):
                said.append(model.project_on_vocab(model.layers_output[layer]))
            logits = torch.stack(said).save()  # type: ignore[attr-defined]  # a proxy's
        logs = logits[:, 0].double().log_softmax(-1)
        lost = (logs[-1].exp() * (logs[-1] - logs)).sum(-1) / np.log(2)
        asked = [place for place, owner in enumerate(cut.words[1:]) if owner >= 0]
        columns.append(lost[:, asked].detach().numpy())
    return {"bits": np.concatenate(columns, 1)}


def tiny() -> str:
    """The tiny Llama."""
    return f"path:{tiny_models()['base']}"


def tiny_words() -> Words:
    """Words that its tokenizer cuts."""
    from tests.core.tiny_models import SENTENCES as FEW_WORDS

    return [list(words) for words in FEW_WORDS]
