"""Revisions of a Hub model: listed once, in the order of their numbers, and clear when they cannot
be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import ModelError, SpecError
from core.models import costs
from core.models.hub import revisions
from core.models.hub.client import download
from core.models.hub.revisions import list_revisions, matching_revisions
from core.models.patterns import matching_refs
from core.models.references import is_of_revisions
from core.models.zoo import zoo_folder
from core.studies.rsa.audit.spec import AuditSpec
from core.studies.rsa.swap.spec import SwapSpec
from tests.core.hub_server import HubRepository, HubServer

RUN = "hub:lab/run"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A stand-in hub with one run of three steps."""
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        run = server.add("lab/run", zoo_folder() / "models" / "seed-0")
        for name in ("step1000", "step50", "step0", "no+reference"):
            run.revisions[name] = run.files
        yield server


def lists(hub: HubServer) -> int:
    """How often the revisions were asked for."""
    return sum(path.endswith("/refs") for path in hub.requests)


def run_of(hub: HubServer) -> HubRepository:
    """The repository of the run."""
    return hub.repositories["models/lab/run"]


def test_a_pattern_names_revisions_in_the_order_of_their_numbers(hub: HubServer) -> None:
    assert matching_refs(f" {RUN}@step* ") == tuple(f"{RUN}@step{n}" for n in (0, 50, 1000))
    assert matching_refs(f"{RUN}@*") == (RUN, *(f"{RUN}@step{n}" for n in (0, 50, 1000)))
    assert lists(hub) == 1
    with pytest.raises(SpecError, match="No model matches"):
        matching_refs(f"{RUN}@epoch*")
    with pytest.raises(SpecError, match="matches 3 revisions, and at most 2"):
        matching_refs(f"{RUN}@step*", most=2)


def test_a_list_that_is_an_hour_old_is_asked_for_again(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list_revisions("lab/run") == ("main", "step1000", "step50", "step0")
    run_of(hub).revisions["step2000"] = None
    assert "step2000" not in list_revisions("lab/run")
    monkeypatch.setattr(revisions._listed, "seconds", 0.0)
    assert "step2000" in list_revisions("lab/run")
    run_of(hub).state = "broken"
    assert "step2000" in list_revisions("lab/run")  # the earlier list, while the Hub fails


def test_offline_the_revisions_are_those_that_were_downloaded(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    download("lab/run", "step50")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert matching_revisions("lab/run", "step*") == ("step50",)
    with pytest.raises(ModelError, match="offline"):
        list_revisions("lab/other")


@pytest.mark.slow
@pytest.mark.parametrize("state", ["private", "broken", "silent", "portal", "rate-limited"])
def test_a_hub_that_does_not_list_is_said(hub: HubServer, state: str) -> None:
    run_of(hub).state = state
    with pytest.raises(ModelError, match=r"[Hh]ub"):
        list_revisions("lab/run")


def test_revisions_are_priced_as_one_model_that_is_asked_about(hub: HubServer) -> None:
    refs = matching_refs(f"{RUN}@step*")
    sizes = costs.sizes_of(refs)
    assert {size.parameters for size in sizes.values()} == {sizes[refs[0]].parameters}
    assert sum("/revision/" in path for path in hub.requests) == 1
    download("lab/run", "step50")
    assert costs.sizes_of(refs)[f"{RUN}@step50"].download == 0
    assert costs.sizes_of(refs)[f"{RUN}@step1000"].download > 0


def test_options_that_take_patterns_take_those_of_revisions() -> None:
    pattern = f"{RUN}@step*"
    assert is_of_revisions(pattern)
    assert not is_of_revisions("hub:lab/run-*")
    assert not is_of_revisions("zoo:seed-0@step-*")
    assert AuditSpec(models=(pattern,)).models == (pattern,)
    assert SwapSpec(compare=(pattern,)).compare == (pattern,)
    with pytest.raises(ModelError, match="not a model reference"):
        AuditSpec(models=("hub:a/b/c@*",))
