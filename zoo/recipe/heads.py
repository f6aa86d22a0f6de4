"""The YAML heads of model cards, which the Hub reads: base, licences, data sets, tags.

The Hub's model tree is made of `base_model` and `base_model_relation`. Bases are named as they are
called once they are uploaded: `OWNER/palimpsest-NAME`.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml

from core.models.zoo import BESIDE, CAUSAL, MASKED

DATASETS = {
    "SICK": "RobZamp/sick",
    "Sentence Polarity": "cornell-movie-review-data/rotten_tomatoes",
    "Subjectivity": "SetFit/subj",
    "TREC": "CogComp/trec",
    "WikiText-2": "Salesforce/wikitext",
    "EWT": "universal-dependencies/universal_dependencies",
}
"""A word of a source's name -> the Hub's data set with the same data, where there is one."""
BASES = {
    "hub:sentence-transformers/all-MiniLM-L6-v2": ("a billion pairs of sentences", "apache-2.0")
}
"""Bases that are not included -> what their cards say they were trained on, and their licence."""
LICENCE = re.compile(r"CC BY[A-Z-]* \d\.\d")
NOBODY = "OWNER"  # stands in the address until somebody publishes it
OTHER = "other"  # the Hub's name of a licence that it has no name for


def owner() -> str:
    """Return the owner in the repository's address, who stands in the committed cards."""
    return address().rsplit("/", 2)[-2]


def address() -> str:
    """Return the repository's public address, which stands in `pyproject.toml` alone."""
    project = tomllib.loads((BESIDE.parent / "pyproject.toml").read_text(encoding="utf8"))
    return str(project["project"]["urls"]["Repository"])


def hub_name(name: str, owner: str) -> str:
    """Name the Hub's repository of an included model; a name there has no @."""
    return f"{owner}/palimpsest-{name.replace('@', '-')}"


def base_on_hub(entry: dict[str, Any], owner: str) -> str:
    """Name the Hub's repository of the model that one was made of; "" of a pretrained one."""
    kind, _, name = str(entry["base"] or "").partition(":")
    return name if kind == "hub" or not name else hub_name(name, owner)


def head(entry: dict[str, Any], base: dict[str, Any] | None, owner: str) -> str:
    """Write the head of one model's card, with its lines of dashes; the licences of its base hold
    for a fine-tune, too."""
    adapter = "rank" in entry["settings"]
    licences = {each for model in (entry, base) if model for each in _licences(model["licence"])}
    licences |= {BASES[entry["base"]][1]} if entry["base"] in BASES else set()
    fields: dict[str, Any] = {
        "language": "en",
        "license": sorted(licences),
        "library_name": "peft" if adapter else "transformers",
    }
    if entry["base"]:
        fields["base_model"] = base_on_hub(entry, owner)
        fields["base_model_relation"] = "adapter" if adapter else "finetune"
    if data := [name for word, name in DATASETS.items() if word in entry["data"]]:
        fields["datasets"] = data
    task = {MASKED: "fill-mask", CAUSAL: "text-generation"}.get(entry["task"], entry["task"])
    fields["tags"] = ["palimpsest", task, *(["lora"] if adapter else [])]
    return f"---\n{yaml.safe_dump(fields, sort_keys=False)}---\n"


def _licences(text: str) -> list[str]:
    """Read the Hub's names of the licences in a sentence."""
    named = [each.lower().replace(" ", "-") for each in LICENCE.findall(text)]
    return named or [OTHER]
