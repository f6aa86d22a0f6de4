"""A hub that stumbles: the numbers of a healthy hub, or the model left out with the reason; never
another's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands.pair import check_pair
from core.errors import ModelError, PalimpsestError
from core.models.hub import asking as hub_asking
from core.models.hub import client as hub
from core.models.hub import listing as hub_listing
from core.models.hub import ranges as hub_ranges
from core.options import options_of
from core.results.export import Result
from core.runs import encoding
from core.runs.encoding import identified
from core.runs.runner import Task, run
from core.runs.store import Store, using
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.tasks import measure_delta, open_pair
from core.studies.weights.intruders.spec import IntruderSpec
from core.studies.weights.intruders.study import STUDY as INTRUDER_STUDY
from tests.cases import exhaustive
from tests.core.contents import read_as
from tests.core.small_zoo import CONFIG, base_tensors, tuned_tensors
from tests.core.tiny_models import save_tiny
from tests.core.tree_server import TreeServer, as_files

BASE = "org/base"
NAMES = ("org/b", "org/c", "org/d")
SPEC = WeightsSpec(
    base=f"hub:{BASE}", models=tuple(f"hub:{name}" for name in NAMES), rank=3, permutations=100
)
INTRUDERS = IntruderSpec(base=SPEC.base, models=SPEC.models, leading=3, draws=19)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TreeServer]:
    with TreeServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache", timeout=2.0)
        running.add(BASE, as_files(base_tensors(), CONFIG))
        for place, name in enumerate(NAMES):
            running.add(name, as_files(tuned_tensors(base_tensors(), place, 0), CONFIG))
        yield running


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three tiny models, written once, to be read only."""
    folder = tmp_path_factory.mktemp("tiny")
    return {
        f"org/tiny-{number}": save_tiny(folder / str(number), head=True, seed=number)
        for number in range(3)
    }


def forget() -> None:
    """As a process that has just started."""
    hub._resolved.begin()
    hub_ranges._fetched.begin()
    hub_asking._gave_up.begin()


def stumble(server: TreeServer, times: int) -> None:
    forget()
    for repository in server.repositories.values():
        repository.stumbles = times


def same(one: Result, other: Result) -> None:
    assert one.failures == other.failures == {}
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, other.tables[name])


STUDIES_OF_WEIGHTS: list[Callable[[Store], Result]] = [
    lambda store: STUDY.run(SPEC, store=store),
    lambda store: INTRUDER_STUDY.run(INTRUDERS, store=store),
]


@pytest.mark.parametrize(
    "study",
    exhaustive(STUDIES_OF_WEIGHTS, STUDIES_OF_WEIGHTS[0]),
    ids=["weights", "intruders"],
)
def test_a_hub_that_stumbles_gives_the_numbers_of_a_healthy_one(
    server: TreeServer, tmp_path: Path, study: Callable[[Store], Result]
) -> None:
    healthy = study(Store(tmp_path / "healthy"))
    stumble(server, 3)
    store = Store(tmp_path / "stumbling")
    same(study(store), healthy)
    changed = as_files(tuned_tensors(base_tensors(), 7, 7), CONFIG)
    server.repositories["models/org/c"].files.update(changed)
    forget()
    renewed = study(Store(tmp_path / "renewed"))
    stumble(server, 3)
    same(study(store), renewed)
    assert any(not table.equals(healthy.tables[name]) for name, table in renewed.tables.items())


@pytest.mark.parametrize("study", STUDIES_OF_WEIGHTS, ids=["weights", "intruders"])
def test_a_model_that_the_hub_does_not_name_is_left_out_with_the_reason(
    server: TreeServer, tmp_path: Path, study: Callable[[Store], Result]
) -> None:
    server.repositories["models/org/c"].stumbles = 99
    result = study(Store(tmp_path / "store"))
    assert set(result.failures) == {"hub:org/c"}
    assert "rate limit" in result.failures["hub:org/c"]
    assert "hub:org/c" not in set(result.table["model"])


def test_a_pair_is_looked_at_as_its_studies_are(server: TreeServer, tmp_path: Path) -> None:
    stumble(server, 3)
    with using(Store(tmp_path / "store")):
        check = check_pair(SPEC.base, SPEC.models[0])
        stumble(server, 99)
        with pytest.raises(ModelError, match="rate limit"):
            check_pair(SPEC.base, SPEC.models[1])
    assert check.related


def test_a_hub_model_is_read_at_the_commit_that_it_is_known_by(
    server: TreeServer, tmp_path: Path
) -> None:
    """A commit that appears between the two stages is not kept under the one before."""
    base, model = SPEC.base, SPEC.models[0]
    known = read_as(base), read_as(model)
    server.repositories["models/org/b"].files.update(
        as_files(tuned_tensors(base_tensors(), 8, 8), CONFIG)
    )
    forget()
    with using(Store(tmp_path / "store")), pytest.raises(ModelError, match="revision"):
        measure_delta(base, model, *known, (), 8, 0)
    assert open_pair(base, model, read_as(base), read_as(model))


def test_a_hub_that_stays_busy_is_asked_a_few_times_and_then_once(server: TreeServer) -> None:
    stumble(server, 99)
    for expected in (hub_asking.ATTEMPTS, 1):
        before = len(server.requests)
        with pytest.raises(ModelError, match="rate limit"):
            hub_listing.look_up("org/b")
        assert len(server.requests) - before == expected


def hub_refs(spec: Any) -> dict[str, Any]:
    """The models of a study's spec, as models of the hub."""
    changes: dict[str, Any] = {}
    for option in options_of(type(spec)):
        value = getattr(spec, option.name)
        if isinstance(value, str) and value.startswith("zoo:"):
            changes[option.name] = "hub:org/tiny-0"
        elif (
            isinstance(value, tuple)
            and value
            and all(str(ref).startswith(("zoo:", "random:")) for ref in value)
        ):
            changes[option.name] = ("hub:org/tiny-1", "hub:org/tiny-2")
    return changes


@pytest.mark.parametrize("stumbles", [3, 99])
@pytest.mark.parametrize("command", exhaustive(STUDIES, "rsa", "probe", "weights", "align"))
def test_no_key_of_any_study_holds_an_empty_identity(
    command: str, stumbles: int, server: TreeServer, tiny: dict[str, Path], tmp_path: Path
) -> None:
    for name, folder in tiny.items():
        server.add(name, folder)
    study = STUDIES[command]
    default = study.Spec()
    spec = replace(default, **hub_refs(default))
    stumble(server, stumbles)
    tasks, reason = [], ""
    with using(Store(tmp_path / "store")):
        try:
            tasks = study.plan(spec, run(study.prepare(spec)))
        except PalimpsestError as error:
            reason = str(error)
    assert stumbles == 99 or "rate limit" not in reason  # a patient question has its answer
    for task in tasks:
        assert task.key
        for name, value in task.arguments:
            assert value or not name.endswith("identity"), (task.name, name)


def test_an_empty_identity_is_a_bug() -> None:
    task = Task.of(
        "x", measure_delta, base="a", model="b", base_identity="x", model_identity="", families=()
    )
    with pytest.raises(ValueError, match="empty identity"):
        _ = task.key
    with pytest.raises(ValueError, match="empty identity"):
        identified(" ")
    assert encoding.key_of("")  # an empty text is a text


def broken_list(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch, answer: Callable[..., None]
) -> None:
    monkeypatch.setattr(server._server.RequestHandlerClass, "_list", answer)


def entries(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"org/m{number}", "tags": [], "downloads": 1}
        for number in range(first, first + count)
    ]


def test_an_entry_without_a_name_is_left_out_and_said(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = [
        {"tags": []},
        *entries(0, 2),
        "no model",
        {"id": "a/b/c"},
        {"id": "org/odd", "safetensors": [1]},
    ]
    broken_list(server, monkeypatch, lambda self, wanted: self._send(200, page))
    said: list[str] = []
    listed = hub_listing.list_fine_tunes(BASE, say=said.append)
    assert [model.ref for model in listed] == ["hub:org/m0", "hub:org/m1"]
    assert len(said) == 1
    assert "4 entries" in said[0]


def test_a_list_that_goes_in_circles_ends(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(self: Any, wanted: str) -> None:
        count = len(self.hub.requests)  # a new address each time, with the same models
        self._send(
            200,
            entries(0, 100),
            {"Link": f'<{self.hub.url}/api/models?cursor={count}>; rel="next"'},
        )

    broken_list(server, monkeypatch, answer)
    listed = hub_listing.list_fine_tunes(BASE, 2_500)
    assert len(listed) == len({model.ref for model in listed}) == 100
    assert len(server.requests) == 2


def test_what_came_before_a_failure_is_kept(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(self: Any, wanted: str) -> None:
        page = int(self.path.rpartition("cursor=")[2]) if "cursor=" in self.path else 0
        if page == 5:
            return self._send(500, {"error": "Internal error"})
        following = {"Link": f'<{self.hub.url}/api/models?cursor={page + 1}>; rel="next"'}
        return self._send(200, entries(100 * page, 100), following)

    broken_list(server, monkeypatch, answer)
    said: list[str] = []
    assert len(hub_listing.list_fine_tunes(BASE, 2_500, say=said.append)) == 500
    assert "500 models" in said[0]


def test_an_answer_that_trickles_has_a_bound(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(self: Any, wanted: str) -> None:
        self.send_response(200)
        self.end_headers()
        pieces = 0
        while not self.hub.stopping.wait(0.02) and pieces < 500:
            self.wfile.write(b" ")
            self.wfile.flush()
            pieces += 1

    broken_list(server, monkeypatch, answer)
    monkeypatch.setattr(hub_asking, "ANSWER_SECONDS", 0.2)
    with pytest.raises(ModelError, match="did not answer"):
        hub_listing.list_fine_tunes(BASE)
    assert len(server.requests) == hub_asking.SILENT_ATTEMPTS
