"""Fine-tunes and adapters of a base in the Hub's model tree, with the facts of their cards; and
what the weights of a model are known by.

Cards are written by people: relation and data set are claims. Whether a model really is a fine-tune
of the base is seen from its weights, later. One `look_up` names the commit and the files of a
model; nothing is downloaded here.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.limits import current_limits
from core.models.files import checkpoints, layout
from core.models.files.adapters import ADAPTER_WEIGHTS, holds_adapter, is_adapter
from core.models.hub import client as hub
from core.models.hub.asking import ask_json, is_offline
from core.models.hub.names import data_in_name
from core.models.hub.repository import Repository, check_names, data_of, weight_files
from core.models.references import ModelRef, parse_ref

MOST_LISTED = 2_500
PAGE = 100  # models per request
LISTING_SECONDS = 60.0  # for all pages; those received are kept
FIELDS = ("downloads", "safetensors", "tags", "cardData", "gated")
# asked for where safetensors of an adapter, which the Hub does not count, must be seen by name
FILES = "siblings"
SHA256 = re.compile("[0-9a-f]{64}")
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1}


@dataclass(frozen=True)
class Listed:
    """A model whose card names its base, or an adapter to it.

    Attributes:
        ref: Model reference ("hub:owner/name").
        data: Data sets on its card, in its order; empty where the card names none.
        downloads: In the last month.
        parameters: Numbers in its safetensors files; None where it has none (pickled weights only).
        bytes: Their size, likewise.
        licence: As its card says, several joined by " + "; or "".
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
        """Its data sets as one label, from the card or else the name; "" if unknown."""
        return label_of(self.ref.removeprefix("hub:"), self.data)[0]

    @property
    def label_from(self) -> str:
        """The source of the label: "card", "name", or "" without one."""
        return label_of(self.ref.removeprefix("hub:"), self.data)[1]


def label_of(name: str, data: Sequence[str]) -> tuple[str, str]:
    """Find a label for a repository and its source ("card", "name" or ""), from the data sets on
    its card or its name."""
    if data:
        return " + ".join(sorted(each.rsplit("/", 1)[-1] for each in data)), "card"
    told = data_in_name(name)
    return told, "name" if told else ""


def list_fine_tunes(
    base: str,
    most: int = 100,
    *,
    adapters: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> list[Listed]:
    """List the models, or adapters, whose card names `base` as their base, most downloaded first;
    `say` is told in a sentence what the list lacks. Raises ModelError if the Hub cannot be asked
    for its first page, or `most` is out of range."""
    if not 1 <= most <= MOST_LISTED:
        raise ModelError(f"The Hub lists 1 to {MOST_LISTED:,} models at once, got {most:,}.")
    if is_offline():
        raise hub.refusal(None, base, None)
    url = f"{hub.endpoint()}/api/models"
    question: dict[str, Any] | None = {
        "filter": f"base_model:{'adapter' if adapters else 'finetune'}:{base}",
        "sort": "downloads",
        "limit": min(most, PAGE),
        "expand": [*FIELDS, *([FILES] if adapters else [])],
    }
    listed: dict[str, Listed] = {}
    unread, asked, until = 0, set[str](), time.monotonic() + LISTING_SECONDS
    while url and url not in asked and len(listed) < most:
        asked.add(url)
        try:
            if time.monotonic() > until:
                raise ModelError(
                    f"The Hub took more than {LISTING_SECONDS:g} seconds to list models: try again."
                )
            page, url = _ask_page(url, question, base)
        except ModelError as error:
            if not listed:
                raise
            say(
                f"The Hub's list of fine-tunes of {base} ends after {len(listed):,} models. {error}"
            )
            break
        question = None  # the next page's address holds it
        models = [
            model for model in (_read(entry, adapters) for entry in page) if model is not None
        ]
        unread += len(page) - len(models)
        if not {model.ref for model in models} - listed.keys():
            break  # pages without new models may never end
        for model in models:
            listed.setdefault(model.ref, model)
    if unread:
        say(
            f"{unread:,} entries of the Hub's list of fine-tunes of {base} name no model and are "
            "left out."
        )
    return list(listed.values())[:most]


def choose_listed(
    listed: Sequence[Listed],
    *,
    first: int,
    text: str = "",
    licence: str = "",
    labelled: bool = False,
    a_label: int | None = None,
) -> list[Listed]:
    """Choose the first models with safetensors that are not gated and pass the filters: `text` in
    the name or a data set, the licence, a data set at all, and at most `a_label` of the same data
    sets."""
    selection: list[Listed] = []
    counts: Counter[str] = Counter()
    for model in listed:
        words = " ".join((model.ref, model.label, *model.data)).lower()
        fits = model.safe and not model.gated and text.lower() in words
        fits &= not licence or model.licence == licence
        fits &= not labelled or bool(model.label)
        fits &= a_label is None or counts[model.label] < a_label
        if fits and len(selection) < first:
            selection.append(model)
            counts[model.label] += 1
    return selection


def look_up(name: str, revision: str | None = None) -> Repository:
    """Look up commit, files and data sets of a model. Raises ModelError if the Hub cannot be asked
    or refuses, has no configuration of it, or it is too large for this instance."""
    with hub.refusing(name, revision):
        model = hub.ask_about(name, revision)
    if holds_adapter(model.files):
        return model
    check_names(model)
    numbers = sum(size for path, size in model.files.items() if path.endswith(".safetensors")) // 4
    if numbers > current_limits().max_parameters:
        safe_weights(model)  # which of them count, an index may have to say
    return model


def safe_weights(model: Repository) -> list[str]:
    """List the files of a Hub model's weights; raises ModelError if they are pickled, or the Hub
    refuses."""
    with hub.refusing(model.name, model.commit):
        weights = weight_files(model, partial(hub.read_index, model))
    if weights[0].endswith(".bin"):
        raise ModelError(
            f"{model.name} has pickled weights only, which are never opened here; ask for a "
            "safetensors version, or convert a copy that you trust."
        )
    return weights


def read_small(model: Repository, path: str) -> bytes:
    """Read a file of settings of a model through the Hub's own cache."""
    with hub.refusing(model.name, model.commit):
        return checkpoints.read_small(hub.fetch_small(model, path), f"{model.name}/{path}")


def known_by(ref: ModelRef) -> tuple[str, str]:
    """Return name and commit of a model on the Hub; and, for copies, the sha256 of each of its
    files of weights, or the same where the Hub does not say them. Raises ModelError if the Hub does
    not answer and there is no download."""
    try:
        commit = look_up(ref.name, ref.revision).commit
    except ModelError:
        earlier = hub.earlier_download(ref.name, ref.revision)
        if earlier is None:
            raise
        commit = earlier.name  # offline: use the earlier download
    content = f"{ref.name} {commit}"
    return content, f"random {content}" if ref.random else _hashes(ref.name, commit) or content


def _hashes(name: str, commit: str) -> str:
    """Join the sha256 of the files of a Hub model's weights; "" of an adapter, and where the Hub
    does not say."""
    earlier = hub.earlier_download(name, commit)
    if earlier is not None and not is_adapter(earlier):
        return " ".join(map(_hash_of_download, checkpoints.weight_files(earlier)))
    hashes: list[str] = []
    with suppress(ModelError):  # whoever reads the weights is told why they cannot be
        model = look_up(name, commit)
        if not holds_adapter(model.files):
            read_small(model, layout.CONFIG)  # a gated model is nobody's original
            hashes = [model.hashes.get(file, "") for file in safe_weights(model)]
    return " ".join(hashes) if all(hashes) else ""


def _hash_of_download(path: Path) -> str:
    """The sha256 hex of a downloaded file's content, by which the Hub's cache names large ones."""
    name = path.resolve().name
    return name if SHA256.fullmatch(name) else checkpoints.content_hash(path)


def _ask_page(url: str, question: dict[str, Any] | None, base: str) -> tuple[list[Any], str]:
    """Request one page of a list; return it with the address of the next, or ""."""
    with hub.refusing(base, None):
        try:
            page, following = ask_json(url, question, hub.login())
        except json.JSONDecodeError:
            page, following = None, ""
    if not isinstance(page, list):
        raise ModelError(f"The Hub at {hub.endpoint()} did not send a list: check HF_ENDPOINT.")
    # never send the token to another server
    return page, following if following.startswith(f"{hub.endpoint()}/") else ""


def _read(entry: Any, adapter: bool) -> Listed | None:
    """Parse an entry of a page; None if it describes no model."""
    try:
        tags = [str(tag) for tag in entry.get("tags") or ()]
        given = entry.get("cardData")
        card: dict[str, Any] = given if isinstance(given, dict) else {}
        weights = entry.get("safetensors") or {}
        counts = weights.get("parameters") or {}
        files = {
            str(file.get("rfilename")) for file in entry.get(FILES) or () if isinstance(file, dict)
        }
        told = card.get("license") or ()
        licences = [tag.removeprefix("license:") for tag in tags if tag.startswith("license:")]
        licences = licences or list(map(str, told if isinstance(told, list) else [told]))
        return Listed(
            ref=str(parse_ref(f"hub:{entry['id']}")),
            data=data_of(tags, card),
            downloads=int(entry.get("downloads") or 0),
            parameters=weights.get("total"),
            bytes=sum(WIDTHS.get(kind, 4) * count for kind, count in counts.items())
            if weights
            else None,
            licence=" + ".join(licences),
            gated=bool(entry.get("gated")),
            adapter=adapter,
            factors=adapter and {layout.ADAPTER, ADAPTER_WEIGHTS} <= files,
        )
    except (ModelError, LookupError, TypeError, ValueError, OverflowError, AttributeError):
        return None
