"""What would mislead a reader of this study."""

from __future__ import annotations

CAVEATS = {
    "A direction can be new without anything having been added.": (
        "Where two singular values of the base nearly agree, any change mixes their directions, "
        "and the mixtures resemble neither. The dashed line is what a Gaussian change of the same "
        "norm does; only what lies above it is more than that."
    ),
    "The threshold is a choice.": (
        "With d directions a random one has a cosine of about the root of 2 log(d) / d with the "
        "nearest: .28 for 128, .13 for 768. A threshold near that finds hardly any, one near 1 "
        "finds almost all."
    ),
    "A Gaussian change spreads its norm over all directions.": (
        "A fine-tune puts most of its norm into few. That a fine-tune has more intruders says that "
        "its change is concentrated, not what it is for."
    ),
    "Left directions only.": "They are what a matrix writes to; what it reads from is not looked at.",
}
