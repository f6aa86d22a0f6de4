"""The data dictionary of alignments: see `core.results.columns`."""

from __future__ import annotations

from collections.abc import Mapping

COLUMNS: Mapping[str, str] = {
    "nmse": "fraction of the target's variance unexplained: squared error over squared distance "
    "from the mean; 0 is perfect, 1 no better than the mean",
    "l2": "mean Euclidean distance of mapped and true vectors (units of the target space)",
    "r2": "one minus the fraction of variance unexplained",
    "retrieval": "share of mapped vectors whose nearest true vector is the right one",
    "inverse_error": "round-trip error: fraction of the source's variance lost by the map followed "
    "by its inverse",
    "other_group": "the group of the method with which it is compared: models, against, or second "
    "run",
    "other_method": "the method with which it is compared",
    "gain": "what is compared: state over window (the static window: layer 0 of a word and its "
    "neighbours), window over word (alone), window beside state (both, over the state), or state "
    "beside window (both, over the window)",
    "gains.layer": "the layer; -1 for the mean over layers",
    "gains.difference": "how much more of the target's variance the first predicts (a share)",
    "rotation_gaps.layer": "layer number; 0 is the embeddings, -1 the mean over layers",
    "rotation_gaps.difference": "error of the rotation with one scale minus that of ridge "
    "(fraction of the target's variance)",
    "rotation.layer": "layer number; 0 is the embeddings, -1 the mean over layers",
    "rotation_gaps.planted": "the same difference where a rotation was planted, mean over draws",
    "spectra.singular_value": "singular value of ridge's weight over their root mean square; 1 for "
    "a rotation with one scale",
    "spectra.planted": "the same value where a rotation was planted, mean over draws",
    "planted_low": "lower end of the 95 % range over the planted rotations",
    "planted_high": "upper end of the 95 % range over the planted rotations",
    "level": "level of the interval: .95, or higher where several methods are compared with one "
    "(Bonferroni)",
    "converged": "whether training ended because the validation loss had stopped falling",
    "step": "training step",
    "training": "error on training rows (fraction of variance unexplained)",
    "validation": "error on validation rows (fraction of variance unexplained)",
    "claim": "the finding, by a short name",
    "says": "what the finding says",
    "said_by": "the source of the finding: the paper, the code (its readme), or this study: a "
    "question or a control",
    "protocol": "published; the published protocol with one change: padding, dropout, partners, "
    "maps, rows, training or unit; all (changes); or ours",
    "published": "verdict with the published protocol: holds, reversed, or open (its interval "
    "includes 0)",
    "ours": "verdict with our protocol, on unseen words: holds, reversed, open; empty where it was "
    "not tested",
    "changed_by": "changes of the published protocol that change the verdict",
    "survives": "yes (with both protocols), no (only with the published one), only by ours, found "
    "by neither, or not asked",
    "verdict": "holds, reversed, or open: the interval of the difference includes 0",
    "claims.difference": (
        "difference of the two errors of the finding (times the target's variance)"
    ),
    "errors.method": (
        "the map; start is the invertible network before training, mean the target's mean"
    ),
    "errors.layer": "layer number; 0 is the embeddings, -1 the mean over layers",
    "errors.nmse": (
        "squared error over the target's variance: of all layers together, or (unit, "
        "all, ours) by layer"
    ),
    "errors.pair": "models: the pair itself; tuned: the pair of fine-tunes",
    "mse": (
        "squared error, mean over coordinates as in the published code (squared units of the "
        "target space)"
    ),
    "truth": "form of the known bijection: coupling, bend, residual, monotone, triangular, "
    "inversion or twist",
    "blocks": "number of blocks of the known bijection",
    "accuracy": "share of labelled sentences classified correctly",
    "correlation": "correlation of the attention of the two heads, over pairs of positions",
}
