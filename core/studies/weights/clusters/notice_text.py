"""Notices: what was left out, cannot be scored, or did not change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from core.maths.spectra.neighbours import LEAST_LABELS, LEAST_MODELS
from core.maths.spectra.registry import Features
from core.studies.text_kit import listed, short_names

OF_TABLE = "label table"  # in the notices of `describe_table` alone
SHOWN, MOST_OF_NAME = 3, 100  # rows that are named, and characters of a name


def describe_strangers(base: str, names: str) -> str:
    """The notice of models that were fine-tuned from another base, which a folder may be a copy
    of."""
    copy = " If the folder is a copy of that base, name it as they do (--base on the command line)."
    return (
        f"Left out, because they were fine-tuned from another base than {base}: {names}."
        f"{copy if base.startswith('path:') else ''}"
    )


def describe_variants(names: str) -> str:
    """The notice of models that were trained with other settings and not named."""
    return (
        "Left out, because they were trained with other settings; to add one, name it under "
        f"“Fine-tunes”: {names}."
    )


def describe_named_data(names: str) -> str:
    """The notice of models whose data set was read from their names."""
    return f"Data sets read from the models' names, because their cards name none: {names}."


def describe_aside(aside: Mapping[str, bool]) -> list[str]:
    """The notices of models that are on the map and in no score, by the reason.

    Args:
        aside: Whether each was trained with other settings; the rest are earlier checkpoints.
    """
    reasons: dict[str, list[str]] = {}
    for ref, variant in aside.items():
        reason = (
            "Trained with other settings than the rest"
            if variant
            else "Earlier checkpoints of a run whose last one is scored"
        )
        reasons.setdefault(reason, []).append(ref)
    return [
        f"{reason}, so shown on the map but not scored: {', '.join(refs)}."
        for reason, refs in reasons.items()
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


def describe_shapes(ref: str, first: str) -> str:
    """The notice of a model whose matrices cannot be compared with the others'."""
    return f"{ref} is left out, because its matrices do not have the shapes of those of {first}."


def describe_unscored(labels: Sequence[str]) -> str:
    """Why labels of models allow no score; "" where they allow one."""
    groups = len(set(labels))
    if len(labels) < LEAST_MODELS or groups < LEAST_LABELS:
        return (
            f"Neighbours cannot be scored: {len(labels)} labelled model{'s' * (len(labels) != 1)} "
            f"with {groups} label{'s' * (groups != 1)}, and {LEAST_MODELS} models "
            f"with {LEAST_LABELS} labels are needed: add fine-tunes of the same base whose task is "
            "known, with a label table (--labels on the command line) where their cards do not say."
        )
    if len(labels) == groups:
        return (
            "Neighbours cannot be scored, because no two models share a label; choose other labels."
        )
    return ""


def describe_unlabelled(count: int, models: int) -> str:
    """The notice of models without a label; "" where there is none."""
    return (
        f"{count} of {models} models have no label: they are on the map and not scored."
        if count
        else ""
    )


def describe_table(labels: Mapping[str, str], strays: Collection[str]) -> list[str]:
    """The notices of a label table: how many models it labels, and its rows that name none.

    Args:
        labels: Label by the reference of each compared model; "" without one.
        strays: Names of rows that match no model, which may be misspelt.
    """
    labelled = sum(map(bool, labels.values()))
    notices = [f"The label table gives {labelled} of {len(labels)} models a label."]
    if strays:
        rows = listed([name[:MOST_OF_NAME] for name in strays], SHOWN)
        names = short_names(labels)
        missing = [names[ref] for ref, label in labels.items() if not label]
        written = f" Models without a label: {listed(missing, SHOWN)}." if missing else ""
        notices.append(
            f"Rows of the label table for models that are not compared: {rows}.{written}"
        )
    return notices
