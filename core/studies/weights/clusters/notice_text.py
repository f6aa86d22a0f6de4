"""Notices: what was left out, cannot be scored, or did not change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from core.maths.spectra.neighbours import LEAST_LABELS, LEAST_MODELS
from core.maths.spectra.registry import Features
from core.studies.text_kit import counted, listed, short_names, words_beside

said = words_beside(__file__).sentence
OF_TABLE = "label table"  # in the notices of `describe_table` alone
SHOWN, MOST_OF_NAME = 3, 100  # rows that are named, and characters of a name


def describe_strangers(base: str, names: str) -> str:
    """The notice of models that were fine-tuned from another base, of which a folder may be a
    copy."""
    copy = " If the folder is a copy of that base, name it as they do (--base on the command line)."
    return (
        f"Left out, because they were fine-tuned from another base than {base}: {names}."
        f"{copy if base.startswith('path:') else ''}"
    )


def describe_aside(aside: Mapping[str, bool]) -> list[str]:
    """The notices of models that are on the map and in no score: `aside` says whether each was
    trained with other settings; the rest are earlier checkpoints."""
    return [
        said(
            "other_recipe" if variant else "earlier",
            models=", ".join(ref for ref, each in aside.items() if each == variant),
        )
        for variant in dict.fromkeys(aside.values())
    ]


def describe_unchanged(features: Mapping[str, Features]) -> list[str]:
    """A sentence for each set of frozen matrices, with the models that have it."""
    affected: dict[tuple[str, int], list[str]] = {}
    for ref, model in features.items():
        still = [place for place, norm in enumerate(model.delta_norms) if norm == 0]
        moved = {model.layers[place] for place, norm in enumerate(model.delta_norms) if norm > 0}
        whole = sorted(
            {model.layers[place] + 1 for place in still if model.layers[place] not in moved}
        )
        where = (
            f"all of layer{'s' * (len(whole) > 1)} {', '.join(map(str, whole))}"
            if whole
            else "no whole layer"
        )
        if still:
            affected.setdefault((where, len(still)), []).append(ref)
    return [
        f"{', '.join(refs)}: {count} of {len(features[refs[0]].families)} matrices ({where}) are "
        "identical to the base's. Their updates have norm and rank 0 and no directions, so "
        "projectors and spectra are compared on matrices that changed in both models."
        for (where, count), refs in affected.items()
    ]


def describe_unscored(labels: Sequence[str]) -> str:
    """Why labels of models allow no score; "" where they allow one."""
    groups = len(set(labels))
    if len(labels) < LEAST_MODELS or groups < LEAST_LABELS:
        return said(
            "unscored",
            models=counted(len(labels), "labelled model"),
            labels=counted(groups, "label"),
            least_models=LEAST_MODELS,
            least_labels=LEAST_LABELS,
        )
    return said("unshared") if len(labels) == groups else ""


def describe_table(labels: Mapping[str, str], strays: Collection[str]) -> list[str]:
    """The notices of a label table: how many models it labels, and its rows, perhaps misspelt, that
    name none."""
    labelled = sum(map(bool, labels.values()))
    names = short_names(labels)
    missing = [names[ref] for ref, label in labels.items() if not label]
    strange = (
        said("strays", rows=listed([name[:MOST_OF_NAME] for name in strays], SHOWN)),
        f"Models without a label: {listed(missing, SHOWN)}." if missing else "",
    )
    table = said("table", labelled=labelled, models=len(labels))
    return [table, *([" ".join(filter(None, strange))] if strays else [])]
