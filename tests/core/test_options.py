"""An option is declared once: flag, form's value and link give the same spec, and the same sentence
for nonsense."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from core import options
from core.catalogue import STUDIES
from core.commands.study import add_flag, spec_of
from core.errors import PalimpsestError, SpecError
from core.options import Option, Spec, options_of
from core.options.layer_numbers import (
    EVERY_LAYER,
    control_layers,
    layers_of,
    some_read,
    which_layers,
)

EVERY = [(study, option) for study in STUDIES for option in options_of(STUDIES[study].Spec)]
NAMES = [f"{study}: {option.name}" for study, option in EVERY]


@dataclass(frozen=True)
class Example(Spec):
    base: str = options.model("Base", "zoo:seed-0", help="A model.")
    compare: tuple[str, ...] = options.models("Others", ("zoo:parse-0",), most=3, help="Models.")
    draws: int = options.whole("Draws", 500, low=20, high=10_000, help="Resamples.")
    share: float = options.number("Share", 0.9, low=0.5, high=0.99, help="Of the energy.")
    several: tuple[str, ...] = options.models(
        "Several", ("zoo:*-*",), patterns=True, help="Models or patterns."
    )
    bands: bool = options.flag("Bands", True, help="Whether bands are drawn.")
    kernel: str = options.choice(
        "Kernel", "cosine", {"cosine": "", "euclidean": ""}, help="A kernel."
    )
    probes: tuple[str, ...] = options.choices(
        "Probes", ("a",), {"a": "", "b": "", "c": ""}, help="Which."
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    layers: tuple[int, ...] = options.layers()
    marked: tuple[str, ...] = options.words("Marked", help="Words.")
    note: str = options.line("Note", help="A line.")

    def check(self) -> None:
        if self.kernel == "euclidean" and not self.bands:
            raise SpecError("The Euclidean kernel needs bands.")


def another(option: Option) -> Any:
    """A value of this option that is not its default, where it takes another."""
    if option.kind == "whole":
        return option.low if option.default != option.low else option.low + 1
    if option.kind == "number":
        return (option.low + (option.default if option.default != option.low else option.high)) / 2
    if option.kind == "flag":
        return not option.default
    if option.kind == "choice":
        return next(
            (name for name in option.meanings if name != option.default), option.default
        )  # one parser, say
    if option.kind in ("choices", "genres"):
        chosen = tuple(option.meanings)[: max(1, option.low)]
        return (
            chosen if chosen != option.default else tuple(option.meanings)[: max(1, option.low) + 1]
        )
    return {
        "model": "random:zoo:seed-3",
        "models": tuple(f"zoo:seed-{n}" for n in range(2, 2 + max(2, option.low))),
        "corpus": "demo-gold",
        "layers": (1, 3),
        "words": ("left", "right"),
        "line": "a line",
        "passage": "Another passage of some words.",
    }[option.kind]


def from_flags(study: str, flags: list[str]) -> Spec:
    parser = argparse.ArgumentParser()
    for option in options_of(STUDIES[study].Spec):
        add_flag(parser, option)
    return spec_of(study, parser.parse_args(flags))


@pytest.mark.parametrize(("study", "option"), EVERY, ids=NAMES)
def test_flag_and_link_give_the_value_that_python_gives(study: str, option: Option) -> None:
    value = another(option)
    assert option.check(value) == value
    assert option.read(option.write(value)) == value
    flag = f"--{option.name.replace('_', '-')}"
    if option.kind == "flag":
        flags = [flag if value else f"--no-{flag[2:]}"]
    else:
        flags = [flag, *option.write(value)]
    parser = argparse.ArgumentParser()
    add_flag(parser, option)
    given = getattr(parser.parse_args(flags), option.name)
    assert (given if option.kind == "flag" else option.read(given)) == value


def test_a_flag_that_is_given_twice_loses_no_value() -> None:
    twice = from_flags("rsa", ["--compare", "zoo:parse-0", "--compare", "zoo:nli-0"])
    assert twice.compare == ("zoo:parse-0", "zoo:nli-0")
    with pytest.raises(SpecError, match=r"--seed was given twice \(1, 2\)"):
        from_flags("rsa", ["--seed", "1", "--seed", "2"])


@pytest.mark.parametrize(("study", "option"), EVERY, ids=NAMES)
def test_every_option_says_what_it_is(study: str, option: Option) -> None:
    assert option.label
    assert option.help.endswith((".", ")", "?")), option.help
    assert option.check(option.default) == option.default
    parser = argparse.ArgumentParser(prog="x")
    add_flag(parser, option)
    said = " ".join(parser.format_help().split())
    assert f"--{option.name.replace('_', '-')}" in said
    if option.kind == "whole":
        assert f"{option.low:,} to {option.high:,}; default {option.default}" in said


@pytest.mark.parametrize(("study", "option"), EVERY, ids=NAMES)
def test_the_methods_say_whatever_changes_the_numbers(study: str, option: Option) -> None:
    spec = STUDIES[study].Spec()
    said, value = spec.settings(), another(option)
    object.__setattr__(
        spec, option.name, value
    )  # alone: whether it goes with the others is another matter
    if value == option.default or option.name in spec.display_only:
        assert spec.settings() == said
    else:
        assert spec.settings() != said
        assert all(part in spec.settings() for part in option.write(value))


@pytest.mark.parametrize("study", STUDIES)
def test_the_defaults_are_a_study(study: str) -> None:
    spec = STUDIES[study].Spec()
    assert spec.changed() == {}
    assert from_flags(study, []) == spec
    assert set(spec.plain()) == {option.name for option in options_of(type(spec))}


def test_a_command_line_of_several_flags_gives_its_spec() -> None:
    from core.studies.rsa.layers.spec import RsaSpec

    words = [
        "--compare",
        "zoo:pos-0",
        "--words",
        "50",
        "--no-references",
        "--genres",
        "news",
        "legal",
        "--against-genres",
        "email",
    ]
    assert from_flags("rsa", words) == RsaSpec(
        compare=("zoo:pos-0",),
        words=50,
        references=False,
        genres=("news", "legal"),
        against_genres=("email",),
    )


NONSENSE: list[tuple[str, Any, str]] = [
    ("draws", 8.5, "draws takes a whole number from 20 to 10,000, not 8.5."),
    ("draws", "x", "draws takes a whole number from 20 to 10,000, not x."),
    ("draws", True, "draws takes a whole number"),
    ("draws", None, "not None"),
    ("draws", 10**30, "draws takes a whole number"),
    ("share", 1.0, "share takes a number from 0.5 to 0.99, not 1.0."),
    ("share", "x", "share takes a number from 0.5 to 0.99, not x."),
    ("share", float("nan"), "share takes a number"),
    ("share", True, "share takes a number"),
    ("several", ("hub:someone/*",), "'hub:someone/*' matches none"),
    ("several", ("zoo:",), "is not a model reference"),
    ("compare", ("zoo:parse-*",), "is not a model reference"),
    ("bands", "perhaps", "bands takes true or false, not perhaps."),
    ("bands", 1, "bands takes true or false"),
    ("kernel", "magic", "kernel takes one of cosine, euclidean, not magic."),
    ("kernel", 7, "kernel takes one of"),
    ("probes", ("a", "z"), "probes takes any of a, b, c, not z."),
    ("probes", (), "probes needs at least 1"),
    ("probes", "a", "probes takes any of"),
    ("base", "nonsense", "is not a model reference"),
    ("base", 3, "base takes a model"),
    ("compare", (), "at least 1"),
    ("compare", ("zoo:a", "zoo:b", "zoo:c", "zoo:d"), "compare takes 1 to 3 models, not 4."),
    ("corpus", "/etc/passwd", "is not a text"),
    ("corpus", "", "is not a text"),
    ("corpus", 5, "corpus takes a text"),
    ("genres", ("gossip",), "genres takes any of news"),
    ("layers", (-3, "a"), "layers takes some, all, or numbers from 0 to 1000, not -3."),
    ("layers", ("a",), "layers takes some, all, or numbers"),
    ("layers", 3, "layers takes"),
    ("note", "x" * 5000, "note takes up to 4,000 characters"),
    ("note", 5, "note takes up to"),
    ("marked", "word", "marked takes"),
    ("corpus", "/tmp/caf\udce9.txt", "is not UTF-8, in which results are written"),
    ("compare", ("zoo:a", "path:/tmp/\udcff"), "is not UTF-8, in which results are written"),
]


@pytest.mark.parametrize(
    ("name", "value", "sentence"), NONSENSE, ids=[f"{n}={str(v)[:20]}" for n, v, _ in NONSENSE]
)
def test_nonsense_is_refused_in_one_sentence(name: str, value: Any, sentence: str) -> None:
    with pytest.raises(PalimpsestError) as refused:
        Example(**{name: value})
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("text", ["x", "19", "1e3", "", "²", "9" * 400])
def test_flag_and_link_say_what_python_says(text: str) -> None:
    option = next(option for option in options_of(Example) if option.name == "draws")
    with pytest.raises(SpecError) as from_text:
        option.read([text])
    with pytest.raises(SpecError) as from_python:
        Example(draws=text)  # type: ignore[arg-type]
    assert str(from_text.value) == str(from_python.value).replace("not '", "not '") or text == "19"


def test_values_come_in_their_final_form() -> None:
    spec = Example(
        compare=["zoo:a", "zoo:a"],
        probes=["c", "a"],
        layers=[2, "1", 2],
        draws=500.0,
        marked=["x ", ""],
    )  # type: ignore[arg-type]
    assert spec.compare == ("zoo:a",)
    assert spec.probes == ("a", "c")
    assert spec.layers == (2, 1)
    assert spec.marked == ("x",)
    assert (spec.draws, type(spec.draws)) == (500, int)
    assert spec.plain()["layers"] == [2, 1]
    assert Example(layers=()).changed() == {}


@pytest.mark.parametrize(("text", "value"), [("all", (EVERY_LAYER,)), ("some", ()), ("3", (3,))])
def test_all_layers_and_some_are_words(text: str, value: tuple[int, ...]) -> None:
    option = next(option for option in options_of(Example) if option.name == "layers")
    assert option.read([text]) == value
    assert option.write(value) == [text]
    assert Example(layers=value).layers == value
    assert Example(layers=(2, "all")).layers == (EVERY_LAYER,)  # type: ignore[arg-type]


def test_of_deep_models_some_layers_are_read_unless_others_are_asked_for() -> None:
    assert layers_of((), 8) == layers_of((EVERY_LAYER,), 8) == tuple(range(9))
    for deep in (9, 12, 24, 37):
        some = layers_of((), deep)
        assert (some[0], some[-1], len({*some})) == (0, deep, 7)
        assert {*np.diff(some)} <= {deep // 6, deep // 6 + 1}
        assert layers_of((EVERY_LAYER,), deep) == tuple(range(deep + 1))
    depths = {"deep": 12, "shallow": 6}
    assert "Of deep, layers 0, 2, 4, 6, 8, 10, 12 were read" in some_read((), depths)
    assert "7, evenly spaced" in which_layers((), depths)
    assert which_layers((), {"shallow": 6}) == which_layers((EVERY_LAYER,), depths) == "every layer"
    assert some_read((EVERY_LAYER,), depths) == some_read((3,), depths) == ""


def test_controls_of_deep_models_are_computed_at_three_of_the_seven_layers() -> None:
    for deep in (9, 12, 24, 37):
        few = control_layers((), deep)
        assert few == tuple(layers_of((), deep)[place] for place in (0, 3, 6))
        assert control_layers((EVERY_LAYER,), deep) == tuple(range(deep + 1))
    assert control_layers((), 8) == layers_of((), 8)
    assert control_layers((1, 5), 12) == (1, 5)
    depths = {"deep": 12, "shallow": 6}
    assert "control trees only 0, 6, 12" in some_read((), depths, ["control trees"])
    assert "control trees" in which_layers((), depths, ["control trees"])
    assert which_layers((), {"shallow": 6}, ["control trees"]) == "every layer"


def test_rules_between_fields_are_the_specs_own() -> None:
    with pytest.raises(SpecError, match="needs bands"):
        Example(kernel="euclidean", bands=False)


def test_a_flag_that_makes_no_sense_ends_with_the_same_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from core.commands.main import main

    assert main(["rsa", "--words", "x", "--out", "nowhere"]) == 2
    assert (
        capsys.readouterr().err
        == "palimpsest: words takes a whole number from 10 to 20,000, not x.\n"
    )
