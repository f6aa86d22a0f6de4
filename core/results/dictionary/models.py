"""The data dictionary of whole models, their predictions and files: see `core.results.columns`."""

from __future__ import annotations

from collections.abc import Mapping

COLUMNS: Mapping[str, str] = {
    # output divergence
    "divergence.part": "compared, or baseline: another training run",
    "states.part": "compared, or baseline: another training run",
    "by": "what words are grouped by: all, part of speech, or frequency in the text",
    "divergence.words": "the group of words, as its column says: all, a universal part of speech, "
    "or how often a word occurs in the text",
    "divergence.items": "number of words in the group",
    "js": "Jensen-Shannon divergence of the predictions from the base's, mean over words (bits; 0 "
    "for equal predictions, 1 for disjoint ones)",
    "kl": "Kullback-Leibler divergence of the model's predictions from the base's (bits)",
    "reverse_kl": "Kullback-Leibler divergence of the base's predictions from the model's (bits)",
    "chance_js": "Jensen-Shannon divergence of the predictions for different words: chance level "
    "(bits)",
    "surprisal": "surprisal of the word in the text under the model, per subword (bits)",
    "base_surprisal": "surprisal of the word in the text under the base, per subword (bits)",
    "agreement": "share of subwords for which both models find the same token most likely",
    "gaps.other": "reference of the baseline with which the model is compared",
    "gaps.difference": "the model's mean Jensen-Shannon divergence minus the baseline's (bits)",
    "states.correlation": "Spearman correlation, over words, of the divergence of predictions and "
    "the change of the state at the layer",
    "correlation_low": "lower end of the 95 % interval of the correlation",
    "correlation_high": "upper end of the 95 % interval of the correlation",
    "within": "the same correlation among words of equal part of speech and frequency",
    "within_low": "lower end of the 95 % interval of that correlation",
    "within_high": "upper end of the 95 % interval of that correlation",
    "coloured.sentence": "number of the sentence in the text, from 1",
    "coloured.position": "position of the word in its sentence, from 1",
    "predicted_token": "the model's most likely token at the word's first subword",
    "base_token": "the base's most likely token at the word's first subword",
    # attention sinks
    "sinks": "number of words whose state at the layer holds a massive activation: a magnitude "
    "above 100 and above 1,000 times the median magnitude of the sentence's states",
    "first_words": "how many of these words are the first of their sentence",
    "sinks.words": "number of words that the model read",
    "largest": "largest magnitude among the massive activations (units of the state); 0 without "
    "any",
    "times_median": "largest ratio of a massive activation to the median magnitude; 0 without any",
    # audit
    "audit.verdict": "fine, final model (of a run's last step, where it is the end that the run "
    "was given), or the fault: identical, equal where read, missing, missing weights, not finite, "
    "swapped, out of order, not of this run, or related (of models that should be independent)",
    "audit.other": "the checkpoint that the verdict names: the identical, swapped or related one, "
    "or the one before which this one belongs; empty without one",
    "audit.nearest": "reference of the checkpoint with the most similar sampled weights; empty "
    "without one",
    "audit.cosine": "cosine of their sampled weights",
    "read": "share of the bytes of the weights that was read",
    "cosines.other": "reference of the other checkpoint",
    "cosines.cosine": "cosine of the sampled weights of the two checkpoints",
}
