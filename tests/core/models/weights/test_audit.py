"""The audit of checkpoints: each planted fault is found and named, and nothing else is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from core.errors import ModelError
from core.models.identity import IDENTICAL
from core.models.weights.audit import (
    ALIKE,
    BROKEN,
    FINAL,
    FINE,
    FOREIGN,
    INCOMPLETE,
    MISPLACED,
    RELATED,
    SWAPPED,
    Audit,
    Verdict,
    audit_run,
    audit_seeds,
    fault_in_words,
)
from core.models.weights.samples import look_at, read_sample, sample_of, sample_weights
from core.models.weights.sources import open_model
from tests.core.contents import read_as

STEPS = (*(f"zoo:seed-0@step-{step}" for step in (0, 50, 200, 800, 3200)), "zoo:seed-0")
SEEDS = tuple(f"zoo:seed-{seed}" for seed in range(5))
Samples = dict[str, dict[str, np.ndarray]]


def test_the_nearest_checkpoint_is_another() -> None:
    cosine = np.array([[1.0, 0.2, 0.5], [0.2, 1.0, -0.1], [0.5, -0.1, 1.0]])
    audit = Audit(dict.fromkeys("abc", Verdict()), cosine, False)
    assert audit.nearest == {"a": ("c", 0.5), "b": ("a", 0.2), "c": ("a", 0.5)}
    (name, alone) = Audit({"a": Verdict()}, np.ones((1, 1)), False).nearest["a"]
    assert name == ""
    assert np.isnan(alone)


@pytest.fixture(scope="module")
def samples() -> Samples:
    """Samples of included models."""
    return {ref: sample_of(sample_weights(ref, read_as(ref))) for ref in {*STEPS, *SEEDS}}


def run(samples: Samples, **planted: str) -> Audit:
    """Audit the run with other content under some names: `s1="zoo:seed-1"` is step number 1. The
    reference of what is served stands for the hash of its file."""
    served = {f"s{number}": ref for number, ref in enumerate(STEPS)} | planted
    at = {ref: served[f"s{n}"] for n, ref in enumerate(STEPS)}
    return audit_run({ref: samples[name] for ref, name in at.items()}, at)


def faults(audit: Audit) -> dict[str, tuple[str, str]]:
    """What is wrong, by checkpoint."""
    return {
        ref: (verdict.fault, verdict.partner)
        for ref, verdict in audit.verdicts.items()
        if verdict.fault != FINE
    }


def test_there_is_no_false_alarm_on_the_included_models(samples: Samples) -> None:
    audit = run(samples)
    assert faults(audit) == {}
    assert audit.ordered
    assert faults(audit_seeds({ref: samples[ref] for ref in SEEDS}, {})) == {}


def test_small_models_are_not_related_by_chance() -> None:
    """Of 60 samples of 100 independent numbers, hundreds of pairs have a cosine above .1."""
    rng = np.random.default_rng(0)
    drawn = {f"model-{n}": {"weight": rng.normal(size=100)} for n in range(60)}
    audit = audit_seeds(drawn, {})
    assert np.count_nonzero(np.triu(audit.cosine, 1) > 0.1) > 200
    assert faults(audit) == {}
    near = drawn["model-0"]["weight"] + 0.5 * rng.normal(size=100)
    found = faults(audit_seeds(drawn | {"model-0-more": {"weight": near}}, {}))
    assert found == {"model-0": (RELATED, "model-0-more"), "model-0-more": (RELATED, "model-0")}


def test_less_than_one_per_cent_is_read() -> None:
    sample, share = read_sample(open_model("zoo:seed-0", read_as("zoo:seed-0")))
    assert share < 0.01
    assert sum(map(len, sample.values())) > 5_000


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
def test_every_swap_of_two_steps_is_found(samples: Samples, first: int, second: int) -> None:
    audit = run(samples, **{f"s{first}": STEPS[second], f"s{second}": STEPS[first]})
    expected = {
        STEPS[first]: (SWAPPED, STEPS[second]),
        STEPS[second]: (SWAPPED, STEPS[first]),
    }
    assert faults(audit) == (expected if first != second else {})


def test_a_long_run_is_ordered_in_the_memory_of_a_few_samples() -> None:
    rng, count = np.random.default_rng(0), 40
    steps = rng.normal(size=(count, 20_000)).cumsum(axis=0)
    tracemalloc.start()
    audit = audit_run({f"s{number}": {"w": step} for number, step in enumerate(steps)}, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * steps.nbytes
    assert audit.ordered
    assert faults(audit) == {}


@pytest.mark.parametrize("copied", [2, 5])
@pytest.mark.parametrize("place", [0, 1])
def test_a_copy_is_found_that_of_the_final_model_too(
    samples: Samples, place: int, copied: int
) -> None:
    audit = run(samples, **{f"s{place}": STEPS[copied]})
    assert faults(audit) == {STEPS[place]: (IDENTICAL, STEPS[copied])}


@pytest.mark.parametrize("place", range(5))
def test_a_step_of_another_run_is_found(samples: Samples, place: int) -> None:
    assert faults(run(samples, **{f"s{place}": "zoo:seed-1"})) == {STEPS[place]: (FOREIGN, "")}


def test_a_step_in_a_wrong_place_belongs_before_another(samples: Samples) -> None:
    audit = run(samples, s0=STEPS[1], s1=STEPS[2], s2=STEPS[0])
    assert faults(audit) == {STEPS[2]: (MISPLACED, STEPS[0])}


def test_several_faults_at_once_are_all_found(samples: Samples) -> None:
    audit = run(samples, s0="zoo:seed-2", s2=STEPS[3], s3=STEPS[2])
    assert faults(audit) == {
        STEPS[0]: (FOREIGN, ""),
        STEPS[2]: (SWAPPED, STEPS[3]),
        STEPS[3]: (SWAPPED, STEPS[2]),
    }


def test_missing_weights_and_numbers_that_are_not_finite_are_found(samples: Samples) -> None:
    planted = {ref: dict(samples[ref]) for ref in STEPS}
    name = next(iter(planted[STEPS[1]]))
    del planted[STEPS[1]][name]
    planted[STEPS[2]][name] = np.full_like(planted[STEPS[2]][name], np.nan)
    assert faults(audit_run(planted, {})) == {STEPS[1]: (INCOMPLETE, ""), STEPS[2]: (BROKEN, "")}
    assert faults(audit_seeds(planted, {}))[STEPS[2]] == (BROKEN, "")


def test_seeds_of_one_run_are_related(samples: Samples) -> None:
    audit = audit_seeds({ref: samples[ref] for ref in ("zoo:seed-0", STEPS[4], "zoo:seed-1")}, {})
    assert faults(audit) == {
        "zoo:seed-0": (RELATED, STEPS[4]),
        STEPS[4]: (RELATED, "zoo:seed-0"),
    }
    copies = {"a": samples["zoo:seed-0"], "b": samples["zoo:seed-0"], "c": samples["zoo:seed-1"]}
    assert faults(audit_seeds(copies, dict.fromkeys("ab", "x"))) == {"a": (IDENTICAL, "b")}


@pytest.mark.parametrize("contents", [{}, {"b": "x", "c": "x"}, {"a": "x", "b": "y", "c": "z"}])
@pytest.mark.parametrize("judge", [audit_run, audit_seeds])
def test_equal_samples_of_other_files_are_no_copies(
    samples: Samples, judge: Callable[[Samples, Mapping[str, str]], Audit], contents: dict[str, str]
) -> None:
    """A fine-tune of biases alone has the sample of its base."""
    equal = dict.fromkeys("ab", samples["zoo:seed-0"]) | {"c": samples[STEPS[4]]}
    audit = judge(equal, contents)
    assert audit.verdicts["a"] == Verdict(ALIKE, "b")
    assert audit.verdicts["b"].fault != IDENTICAL
    assert not audit.ordered
    assert "not known to be a copy" in fault_in_words(ALIKE, "a", "b", {})


def test_a_copy_is_one_of_the_same_file_among_equal_samples(samples: Samples) -> None:
    equal = dict.fromkeys("abc", samples["zoo:seed-0"])
    audit = audit_run(equal, {"a": "x", "b": "x", "c": "y"})
    assert faults(audit) == {"a": (IDENTICAL, "b"), "b": (ALIKE, "c")}
    assert audit_run(equal, dict.fromkeys("bc", "x")).verdicts["b"] == Verdict(FINAL, "c")


def test_steps_of_which_biases_alone_were_trained_are_in_no_order(samples: Samples) -> None:
    audit = audit_run(dict.fromkeys("abcd", samples["zoo:seed-0"]), {ref: ref for ref in "abcd"})
    assert {ref: fault for ref, (fault, _) in faults(audit).items()} == dict.fromkeys("abc", ALIKE)
    assert not audit.ordered


def test_an_order_with_contradictions_is_not_judged() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=400)
    noise: Mapping[str, dict[str, np.ndarray]] = {
        name: {"matrix": common + rng.normal(size=400) * scale}
        for name, scale in zip("abcde", (0.1, 2.0, 0.3, 1.5, 0.2), strict=True)
    }
    audit = audit_run(noise, {})
    assert not audit.ordered
    assert faults(audit) == {}
    assert not audit_run({name: noise[name] for name in "ab"}, {}).ordered


def test_what_cannot_be_sampled_is_said() -> None:
    with pytest.raises(ModelError, match="random weights"):
        sample_weights("random:zoo:seed-0", "x")
    assert "random weights" in look_at("random:zoo:seed-0")["reason"]
    assert fault_in_words(MISPLACED, "a", "", {"a": "step"}) == "step belongs at the end"


@pytest.mark.parametrize("judge", [audit_run, audit_seeds])
def test_checkpoints_without_a_matrix_in_common_lack_weights(
    judge: Callable[[Samples, Mapping[str, str]], Audit],
) -> None:
    audit = judge({"a": {"x": np.arange(4.0)}, "b": {"y": np.arange(4.0)}}, {})
    assert {verdict.fault for verdict in audit.verdicts.values()} == {INCOMPLETE}


def test_a_run_is_the_largest_set_that_is_joined_by_steps() -> None:
    """Neighbours are joined, the ends are not; the first of two equal sets counts."""

    def sample(*numbers: float) -> dict[str, np.ndarray]:
        return {"x": np.repeat(numbers, 500)}

    turned = {f"s{n}": sample(np.cos(n / 2), np.sin(n / 2), 0.0, 0.0) for n in range(5)}
    apart = {f"t{n}": sample(0.0, 0.0, 1.0, 0.1 * n) for n in range(5)}
    assert turned["s0"]["x"] @ turned["s4"]["x"] < 0
    audit = audit_run({**turned, **apart}, {})
    assert {ref for ref, verdict in audit.verdicts.items() if verdict.fault == FOREIGN} == {*apart}
    fewer = audit_run({**dict(list(turned.items())[:3]), **apart}, {})
    assert {ref for ref, said in fewer.verdicts.items() if said.fault == FOREIGN} == {
        "s0", "s1", "s2"
    }  # fmt: skip


def test_a_reversed_run_is_in_no_known_direction(samples: Samples) -> None:
    """Distances are the same backwards; norms, which grow along these runs, are not."""
    assert run(samples).forward
    audit = audit_run({ref: samples[ref] for ref in reversed(STEPS)}, {})
    assert audit.ordered
    assert not audit.forward
    rng = np.random.default_rng(0)
    for _ in range(40):
        steps = rng.normal(size=2_000) + rng.normal(size=(8, 2_000)).cumsum(axis=0)
        backwards = {f"s{n}": {"w": step} for n, step in enumerate(steps[::-1])}
        assert not audit_run(backwards, {}).forward
