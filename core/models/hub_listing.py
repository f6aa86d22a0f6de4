"""Fine-tunes and adapters of a base, as the hub's model tree lists them: data sets, size, licence, from their cards.

Cards are written by people: relation and data set are claims. Whether a model really is a fine-tune of the base is
seen from its weights, later. One `look_up` names the commit and the files of a model; nothing is downloaded here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import core.models.checkpoints as checkpoints
import core.models.hub as hub
from core.errors import ModelError
from core.limits import current_limits
from core.models.adapters import ADAPTER_WEIGHTS
from core.models.hub_errors import TIMEOUT, failures
from core.models.hub_names import data_in_name

MOST_LISTED = 2_500
PAGE = 100  # models the hub is asked for at once
FIELDS = ("downloads", "safetensors", "tags", "cardData", "gated")
FILES = "siblings"  # asked for where safetensors of an adapter, which the hub does not count, must be seen by name
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1}


@dataclass(frozen=True)
class Listed:
    """A model that says on its card that it was fine-tuned from another, or an adapter to that.

    Attributes:
        ref: Model reference ("hub:owner/name").
        data: Data sets on its card, in its order; empty where the card names none.
        downloads: In the last month.
        parameters: Numbers in its safetensors files; None where it has none (pickled weights only).
        bytes: Their size, likewise.
        licence: As its card says, or "".
        gated: Whether its terms must be accepted first.
        adapter: Whether it is listed as an adapter.
        factors: Whether, as an adapter, it has its factors as safetensors.
    """

    ref: str
    data: tuple[str, ...]
    downloads: int
    parameters: int | None
    bytes: int | None
    licence: str
    gated: bool
    adapter: bool = False
    factors: bool = False

    @property
    def safe(self) -> bool:
        """Whether it has weights as safetensors."""
        return self.factors if self.adapter else self.bytes is not None

    @property
    def label(self) -> str:
        """Its data sets as one label; the one in its name where the card names none; "" where neither does."""
        return label_of(self.ref.removeprefix("hub:"), self.data)[0]

    @property
    def label_from(self) -> str:
        """Where the label was read: "card", "name", or "" where there is none."""
        return label_of(self.ref.removeprefix("hub:"), self.data)[1]


@dataclass(frozen=True)
class Found:
    """A model on the hub at one commit.

    Attributes:
        name: Repository.
        commit: Forty hex digits.
        files: Size in bytes by path.
        data: Data sets on its card.
    """

    name: str
    commit: str
    files: dict[str, int]
    data: tuple[str, ...]


def label_of(name: str, data: Sequence[str]) -> tuple[str, str]:
    """A label for a model, and where it was read: "card", "name", or "" with no label.

    Args:
        name: Of the repository.
        data: Data sets on its card.
    """
    if data:
        return " + ".join(sorted(each.rsplit("/", 1)[-1] for each in data)), "card"
    told = data_in_name(name)
    return told, "name" if told else ""


def list_fine_tunes(base: str, most: int = 100, *, adapters: bool = False) -> list[Listed]:
    """Models whose card says that they are fine-tunes of `base`, the most downloaded first.

    Args:
        base: Name on the hub ("bert-base-uncased", "owner/name").
        most: How many to list; further pages are not asked for.
        adapters: List adapters to the base instead.

    Raises:
        ModelError: If the hub cannot be asked, or `most` is out of range.
    """
    if not 1 <= most <= MOST_LISTED:
        raise ModelError(f"The hub is asked for 1 to {MOST_LISTED:,} models at once, got {most:,}.")
    if hub.is_offline():
        raise hub.refusal(None, base, None)
    listed: list[Listed] = []
    url = f"{hub.endpoint()}/api/models"
    question: dict[str, Any] | None = {
        "filter": f"base_model:{'adapter' if adapters else 'finetune'}:{base}",
        "sort": "downloads",
        "limit": min(most, PAGE),
        "expand": [*FIELDS, *([FILES] if adapters else [])],
    }
    try:
        while url and len(listed) < most:
            page, url = _ask_page(url, question)
            listed += [_read(model, adapters) for model in page]
            question = None  # the next page's address holds it
    except failures() as error:
        raise hub.refusal(error, base, None) from error
    return listed[:most]


def choose_listed(
    listed: Sequence[Listed],
    *,
    first: int,
    text: str = "",
    licence: str = "",
    most_bytes: int | None = None,
    labelled: bool = False,
    a_label: int | None = None,
) -> list[Listed]:
    """The first of those that pass: with safetensors, not gated, and as asked.

    Args:
        first: How many at most.
        text: Must stand in the name or a data set (case is no matter).
        licence: Must be the licence; any when empty.
        most_bytes: Largest size.
        labelled: Whether the card, or else the name, must tell of a data set.
        a_label: At most so many with the same data sets, so that one popular task does not fill the list.
    """
    chosen: list[Listed] = []
    counts: dict[str, int] = {}
    for model in listed:
        words = " ".join((model.ref, model.label, *model.data)).lower()
        fits = model.safe and not model.gated and text.lower() in words
        fits &= not licence or model.licence == licence
        fits &= most_bytes is None or (model.bytes or 0) <= most_bytes
        fits &= not labelled or bool(model.label)
        fits &= a_label is None or counts.get(model.label, 0) < a_label
        if fits and len(chosen) < first:
            chosen.append(model)
            counts[model.label] = counts.get(model.label, 0) + 1
    return chosen


def look_up(name: str, revision: str | None = None) -> Found:
    """Commit, files and data sets of a model on the hub; asked about once in ten minutes.

    Raises:
        ModelError: If the hub cannot be asked or refuses, or the model is too large for this instance.
    """
    key = (hub.endpoint(), name, revision)
    with _lock:
        when, known = _known.get(key, (0.0, None))
    if known is None or time.monotonic() - when > hub.RESOLVED_FOR:
        known = _ask(name, revision)
        with _lock:
            _known[key] = (time.monotonic(), known)
    limits = current_limits()
    numbers = sum(size for path, size in known.files.items() if path.endswith(".safetensors")) // 4
    if numbers > limits.max_parameters:
        raise ModelError(
            f"{name} is too large: about {numbers / 1e6:,.0f} million parameters, and this instance allows "
            f"{limits.max_parameters / 1e6:,.0f} million. Choose a smaller model."
        )
    return known


def is_adapter(files: Collection[str]) -> bool:
    """Whether a repository with these files holds an adapter and no model."""
    return checkpoints.ADAPTER in files and not any(
        name in files for name in (checkpoints.SAFETENSORS, checkpoints.SAFETENSORS_INDEX, checkpoints.PICKLED)
    )


def read_small(name: str, commit: str, path: str) -> bytes:
    """A small file of a model (configuration, index of shards), kept in the hub's own cache.

    Raises:
        ModelError: If it is not there or the hub refuses.
    """
    try:
        return hub.fetch(name, commit, path).read_bytes()
    except failures() as error:
        raise hub.refusal(error, name, commit) from error


def _ask(name: str, revision: str | None) -> Found:
    if hub.is_offline():
        raise hub.refusal(None, name, revision)
    try:
        info = hub.api().model_info(name, revision=revision, timeout=TIMEOUT, files_metadata=True)
    except failures() as error:
        raise hub.refusal(error, name, revision) from error
    if info.sha is None or not hub.COMMIT.fullmatch(info.sha):
        raise ModelError(f"The hub did not name a commit for {name}: check HF_ENDPOINT.")
    files = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or ()}
    if checkpoints.CONFIG not in files and not is_adapter(files):
        raise ModelError(f"{name} has no {checkpoints.CONFIG}: it is not a Transformers model.")
    card = info.card_data.to_dict() if info.card_data else {}
    return Found(name, info.sha, files, _data(info.tags or (), card))


def _ask_page(url: str, question: dict[str, Any] | None) -> tuple[list[dict[str, Any]], str]:
    """One page of a listing, and the address of the next one, or "".

    Not HfApi.list_models: it tries a hub that does not answer six times, half a minute in all.
    """
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    headers = build_hf_headers(token=hub.login())
    response = get_session().get(url, params=question, headers=headers, timeout=TIMEOUT)
    hf_raise_for_status(response)
    try:
        page = response.json()
    except ValueError as error:
        raise ModelError(f"The hub at {hub.endpoint()} did not send a list: check HF_ENDPOINT.") from error
    if not isinstance(page, list):
        raise ModelError(f"The hub at {hub.endpoint()} did not send a list: check HF_ENDPOINT.")
    following = str(response.links.get("next", {}).get("url", ""))
    if following and not following.startswith(hub.endpoint()):
        return page, ""  # a hub does not send its reader, and the reader's token, elsewhere
    return page, following


def _read(model: dict[str, Any], adapter: bool) -> Listed:
    tags = model.get("tags") or ()
    given = model.get("cardData")
    card: dict[str, Any] = given if isinstance(given, dict) else {}
    weights = model.get("safetensors") or {}
    counts = weights.get("parameters") or {}
    files = {str(file.get("rfilename")) for file in model.get(FILES) or () if isinstance(file, dict)}
    licence = next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), "")
    return Listed(
        ref=f"hub:{model['id']}",
        data=_data(tags, card),
        downloads=int(model.get("downloads") or 0),
        parameters=weights.get("total"),
        bytes=sum(WIDTHS.get(kind, 4) * count for kind, count in counts.items()) if weights else None,
        licence=licence or str(card.get("license") or ""),
        gated=bool(model.get("gated")),
        adapter=adapter,
        factors=adapter and {checkpoints.ADAPTER, ADAPTER_WEIGHTS} <= files,
    )


def _data(tags: Sequence[str], card: Mapping[str, Any]) -> tuple[str, ...]:
    """Data sets: from the tags, which the hub makes from the card, else from the card itself."""
    tagged = tuple(tag.removeprefix("dataset:") for tag in tags if tag.startswith("dataset:"))
    named = card.get("datasets")
    if tagged or not named:
        return tagged
    return (named,) if isinstance(named, str) else tuple(str(name) for name in named)


_known: dict[tuple[str, str, str | None], tuple[float, Found]] = {}
_lock = threading.Lock()
