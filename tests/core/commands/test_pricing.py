"""The price of every study: there is one, it grows with what is asked for, it asks and is refused
by one rule."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

import core.runs.price
from benchmarks.naps import NAP, NapSpec
from core.catalogue import STUDIES
from core.commands import study as command
from core.commands.precomputed import requests
from core.commands.prices import check_price
from core.errors import NotStoredError, SpecError
from core.limits import LOCAL, MODE, SHARED
from core.models import costs, read_manifest
from core.models.sizes import Size
from core.options import Spec
from core.results.findings import Findings
from core.runs.price import LONG, Price, combined, wall_seconds
from core.runs.process import memory
from core.runs.runner import Outputs
from core.runs.tasks import Signal
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.weights.clusters.spec import WeightsSpec

BASE = Size(110_000_000, 12, 768, 440_000_000)  # a BERT-base that is still to be downloaded
PAIR = ("hub:one/base", "hub:other/base")


@pytest.fixture(autouse=True)
def measured_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine is as fast as the one of the prices, however busy it is."""
    monkeypatch.setattr(core.runs.price, "speed", lambda: 1.0)


@pytest.fixture
def bert_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model is as large as a BERT-base, and nothing is asked of a hub."""
    monkeypatch.setattr(costs, "size_of", lambda ref: BASE)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_price_and_its_defaults_pass_in_shared_mode(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not read_manifest():
        pytest.skip("the box has no models yet: make zoo")
    study = STUDIES[name]
    price = check_price(study.price, study.Spec())
    assert 0 < price.seconds <= price.processor
    assert price.download == 0
    monkeypatch.setenv(MODE, "shared")
    shared = check_price(study.price, study.Spec())
    assert shared.excess == ""
    assert 0 < shared.memory < SHARED.max_memory_bytes / 1e9


def test_what_a_shared_instance_says_of_a_bert_base_is_what_it_does(
    bert_base: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODE, "shared")
    whole = RsaSpec(base=PAIR[0], compare=PAIR[1:], references=False, words=500)
    with pytest.raises(SpecError, match="turn off “Layer functions”"):  # they hold both models
        check_price(STUDIES["rsa"].price, whole)
    pair = replace(whole, functions=False)
    assert check_price(STUDIES["rsa"].price, pair).excess == ""
    with pytest.raises(SpecError, match=r"1\.1 GB of memory, and this instance allows 1\.0 GB"):
        check_price(STUDIES["rsa"].price, replace(pair, words=1_000))


@pytest.mark.slow
def test_everything_that_comes_with_the_box_passes_in_shared_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(MODE, "shared")
    priced = [study for study in requests().values() if study[0] in STUDIES]
    assert len(priced) > len(STUDIES)
    for name, spec in priced:
        check_price(STUDIES[name].price, spec)


@pytest.mark.parametrize("name", STUDIES)
def test_more_costs_more_and_wider_models_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = STUDIES[name]
    monkeypatch.setattr(costs, "size_of", lambda ref: Size(2_000_000, 6, 128, 0))
    small = study.price(study.Spec())
    monkeypatch.setattr(costs, "size_of", lambda ref: BASE)
    large = study.price(study.Spec())
    assert large.processor > 1.2 * small.processor
    assert large.memory > small.memory
    assert large.download > small.download == 0


@pytest.mark.parametrize(
    ("name", "values", "what", "option"),
    [
        (
            "rsa",
            {
                **{"measure": "cka", "words": 20_000, "sentences": 1_000},
                "functions": False,
            },
            "memory",
            "(words|sentences)",
        ),
        ("rsa", {"kernel": "euclidean", "words": 6_000, "sentences": 1_000}, "memory", "words"),
        ("align", {"models": PAIR}, "memory", "(methods|sentences)"),
        pytest.param(
            "weights intruders",
            {
                "base": PAIR[0],
                "models": tuple(f"hub:a/{number}" for number in range(6)),
                "draws": 1_000,
            },
            "seconds",
            "models",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_a_shared_instance_refuses_and_names_what_to_lower(
    name: str,
    values: dict[str, object],
    what: str,
    option: str,
    bert_base: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = STUDIES[name]
    spec = study.Spec(**values)
    assert check_price(study.price, spec).asks
    monkeypatch.setenv(MODE, "shared")
    assert study.price(spec).excess == what
    with pytest.raises(
        SpecError, match=rf"and this instance allows .* “.*” \({option}\), or run Palimpsest"
    ):
        check_price(study.price, spec)


def test_a_large_pair_says_its_memory_and_a_fine_tune_its_minutes(bert_base: None) -> None:
    align, intruders = STUDIES["align"], STUDIES["weights intruders"]
    said = align.price(align.Spec(PAIR)).memory
    assert 3.8 / 1.5 < said < 3.8 * 1.5  # 3.8 measured, in two processes
    one = intruders.price(intruders.Spec(base=PAIR[0], models=PAIR[1:]))
    assert 90 / 1.5 < one.processor < 90 * 1.5  # 90 measured
    assert (
        intruders.price(intruders.Spec(base=PAIR[0], models=PAIR[1:], draws=20)).processor
        < 0.6 * one.processor
    )


def test_fine_tunes_of_the_hub_are_counted_with_their_download(bert_base: None) -> None:
    weights = STUDIES["weights"]
    spec = WeightsSpec(base=PAIR[0], models=PAIR[1:], tree=0)
    assert weights.price(replace(spec, tree=10)).download == pytest.approx(0.88 + 4.4, rel=0.01)


def test_half_of_the_free_memory_asks_as_a_minute_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "MEMINFO", told)
    told.write_text("MemTotal: 9000000 kB\nMemAvailable: 2000000 kB\n")
    assert memory.free_memory() == 2_048_000_000
    assert not Price(1.0, 1.0).asks
    assert Price(1.0, 1.1).asks
    assert Price(LONG + 1, 0.1).asks
    told.unlink()
    assert memory.free_memory() > 0  # as the system says, where there is no such file


def test_two_tasks_run_at_once_and_the_longest_is_the_least() -> None:
    assert wall_seconds([4.0, 3.0, 3.0]) == 5.0
    assert wall_seconds([8.0, 1.0]) == 8.0
    assert wall_seconds([]) == 0.0
    both = combined([Price(3.0, 1.0, 2.0), Price(4.0, 0.5, 2.0)])
    assert (both.seconds, both.memory, both.download) == (7.0, 1.0, 2.0)


def test_only_a_shared_instance_has_caps() -> None:
    assert LOCAL.max_memory_bytes > 1e15
    assert SHARED.max_memory_bytes <= 2**30


class Study:
    """A study that is stored or not, and says whether it was run."""

    def __init__(self, stored: bool) -> None:
        self.stored, self.ran = stored, False

    @staticmethod
    def price(spec: Spec) -> Price:
        """Long."""
        return Price(LONG + 60, 0.1)

    def run(self, spec: Spec, *, signal: Signal | None = None, **options: object) -> None:
        """That it was started is all there is to see."""
        if signal is not None and signal.look_only and not self.stored:
            raise NotStoredError("One of the tasks is not stored.")
        self.ran = True
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stored", "yes", "starts"), [(False, False, False), (False, True, True), (True, False, True)]
)
def test_the_command_starts_what_is_large_with_yes_or_where_it_is_stored(
    stored: bool,
    yes: bool,
    starts: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = Study(stored)
    monkeypatch.setitem(command.STUDIES, "weights", study)
    monkeypatch.setattr(command, "spec_of", lambda name, arguments: WeightsSpec())
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)

    arguments = argparse.Namespace(fresh=False, scheduler=None, yes=yes)
    with pytest.raises((SpecError, KeyboardInterrupt)):
        command.main("weights", arguments)
    assert study.ran is starts
    assert ("Expected: about 2 minutes" in capsys.readouterr().err) is not stored


def test_a_large_study_that_is_stored_is_collected_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collected: list[NapSpec] = []

    def collect(spec: NapSpec, ready: Outputs, outputs: Outputs) -> Findings:
        collected.append(spec)
        return NAP.collect(spec, ready, outputs)

    monkeypatch.setattr(type(NAP), "price", lambda self, spec: Price(LONG + 60, 0.1))
    monkeypatch.setitem(command.STUDIES, "nap", replace(NAP, collect=collect))
    monkeypatch.setattr(command, "spec_of", lambda name, arguments: NapSpec(seconds=0.0))
    for times in (1, 2):
        arguments = argparse.Namespace(
            fresh=False, scheduler=None, yes=True, out=tmp_path / str(times)
        )
        assert command.main("nap", arguments) == 0
        assert len(collected) == times
        assert f"{times - 1} of 1 tasks were stored" in capsys.readouterr().err
