"""The price of a study: pairs counted, downloads from the own list, refusals, what the command does
with it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.commands.prices import agree, check_price
from core.errors import SpecError
from core.limits import MODE
from core.models.hub import client as hub
from core.models.hub.collections import ALL_MULTIBERTS
from core.models.sizes import MULTIBERT, download_of, size_of
from core.runs.price import LARGE, LONG, Price
from core.runs.process.cores import TASKS_AT_ONCE, available_cores
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.study import STUDY
from tests.core.hub_server import HubServer
from tests.core.studies.alignment.conftest import save_classifier

EVERY = ("zoo:seed-0", "zoo:seed-1")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with HubServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache")
        yield running


@pytest.fixture
def seeds(server: HubServer, tmp_path: Path) -> HubServer:
    """Twenty-five repositories that are tiny and claim the weights of a BERT-base."""
    folder = tmp_path / "tiny"
    save_classifier(folder, 0)
    for seed in range(25):
        server.add(
            f"google/multiberts-seed_{seed}", folder, sizes={"model.safetensors": 440_000_000}
        )
    return server


def test_one_pattern_is_all_twenty_five_and_every_pair_of_them() -> None:
    spec = AlignSpec((ALL_MULTIBERTS,))
    assert spec.models == tuple(f"hub:google/multiberts-seed_{seed}" for seed in range(25))
    assert len(spec.pairs()) == 300
    assert AlignSpec((ALL_MULTIBERTS, "hub:google/multiberts-seed_3")) == spec
    with pytest.raises(SpecError, match="hub:nobody/model"):
        AlignSpec(("hub:nobody/model-*", "zoo:seed-0"))


@pytest.mark.slow
def test_a_download_is_what_the_hub_lists_and_nothing_once_it_is_there(seeds: HubServer) -> None:
    ref = "hub:google/multiberts-seed_0"
    size = size_of(ref)
    listed = seeds.repositories["models/google/multiberts-seed_0"]
    tokenizer = sum(len(listed.files[name]) for name in ("tokenizer.json", "tokenizer_config.json"))
    assert size.download == download_of(ref) == 440_000_000 + tokenizer
    assert size.parameters == 110_000_000
    assert (size.layers, size.d_model, size.asked) == (2, 16, True)
    assert not any("model.safetensors" in path for path in seeds.requests)
    listed.sizes.clear()
    hub._resolved.begin()
    hub.download("google/multiberts-seed_0")
    assert size_of(ref).download == download_of(ref) == 0
    assert size_of(ref).parameters < 110_000_000


@pytest.mark.slow
def test_three_hundred_pairs_are_priced_before_anything_is_fetched(seeds: HubServer) -> None:
    found = STUDY.price(AlignSpec((ALL_MULTIBERTS,)))
    assert found.work == "1,801 tasks on 25 models"  # six a pair, and the grid
    assert found.download == pytest.approx(25 * 0.44, rel=0.01)
    assert found.asks
    assert "1,801 tasks on 25 models: about " in found.sentence
    assert "11 GB to download" in found.sentence
    assert not any("model.safetensors" in path for path in seeds.requests)


def test_without_a_hub_multiberts_are_known_and_said_to_be(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert size_of("hub:google/multiberts-seed_1") == MULTIBERT
    found = STUDY.price(AlignSpec((ALL_MULTIBERTS,)))
    assert "hours" in found.sentence
    assert "the hub could not be asked" in found.sentence
    assert download_of("hub:google/multiberts-seed_1") == 0


def test_more_pairs_wider_models_more_text_and_more_maps_cost_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "core.models.costs.size_of",
        lambda ref: replace(MULTIBERT, d_model=768 if "a" in ref else 128),
    )
    small = AlignSpec(("hub:x", "hub:y"), methods=("ridge", "inn"))
    cost = STUDY.price(small).processor
    for other in (
        replace(small, models=("hub:a", "hub:y")),
        replace(small, models=("hub:x", "hub:y", "hub:z")),
        replace(small, sentences=1000),
        replace(small, methods=("ridge", "inn", "kernel")),
    ):
        assert STUDY.price(other).processor > 1.1 * cost, other
    assert STUDY.price(replace(small, layers=(0, 1))).processor < cost


@pytest.mark.slow
def test_a_shared_instance_refuses_in_a_sentence(
    seeds: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODE, "shared")
    with pytest.raises(SpecError, match=r"would download 11 GB, and this instance keeps 4\.3 GB"):
        check_price(STUDY.price, AlignSpec((ALL_MULTIBERTS,)))
    with pytest.raises(
        SpecError, match=r"would take about .* hours, and this instance allows 30 minutes"
    ):
        Price(40_000.0, 1.0).refuse_where_shared()
    monkeypatch.setenv(MODE, "")
    Price(40_000.0, 1.0, download=50.0).refuse_where_shared()


def test_the_command_asks_goes_on_or_refuses(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = Price(LONG, 0.1, LARGE, LARGE), Price(LONG + 31, 0.1)
    agree(small, yes=False)
    assert capsys.readouterr().err == ""
    agree(large, yes=True)
    assert capsys.readouterr().err == "Expected: about 2 minutes on two cores, 0.1 GB of memory.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(SpecError, match=r"Nothing was started.*--yes"):
        agree(large, yes=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    agree(large, yes=False)
    with pytest.raises(SpecError, match=r"Nothing was started\.$"):
        agree(large, yes=False)  # the end of the input is no yes


def test_one_core_of_this_machine_is_asked_how_fast_it_is() -> None:
    run = (
        "from threadpoolctl import threadpool_info\n"
        "from core.runs.price import speed\n"
        "assert 0.001 < speed() < 1000\n"
        "print({each['num_threads'] for each in threadpool_info() if each['user_api'] == 'blas'})"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    environment.pop("OMP_NUM_THREADS", None)
    answer = subprocess.run(
        [sys.executable, "-c", run], env=environment, check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == f"{{{max(1, available_cores() // TASKS_AT_ONCE)}}}"
