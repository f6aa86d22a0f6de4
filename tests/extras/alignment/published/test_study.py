"""The published protocol: rows against a slow loop, training against plain modules, findings
against made-up errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.errors import SpecError
from core.models import load_model
from core.models.loading.memory import borrow_model
from core.runs.runner import run
from core.runs.store import Store, using
from core.study import run_first_stage
from extras.alignment.published import study as published
from extras.alignment.published import training as published_training
from extras.alignment.published.findings import (
    OUR_METHODS,
    Errors,
    claim_rows,
    error_rows,
    finding_rows,
    verdict,
)
from extras.alignment.published.maps import FITTED, METHODS, VARIANTS, partners, published_cca
from extras.alignment.published.rows import RATE, dropping, sentence_rows
from extras.alignment.published.spec import DECAY, LEARNING_RATE, OURS_OF, ProtocolSpec
from extras.alignment.published.text import (
    ABOVE,
    BELOW,
    CLAIMS,
    OURS,
    PROTOCOLS,
    UNDECIDED,
    make_headline,
    statements_of,
)
from extras.alignment.published.training import apply, draw, train
from tests.core.studies.alignment.conftest import WORDS, hurry
from tests.core.tiny_models import plain_tokenizer

LENGTH = 24


def rows_of(
    ref: str, sentences, tmp_path: Path, dropout: bool = False, seed: int = 0, name: str = "store"
):
    with using(Store(tmp_path / name)):
        return sentence_rows(ref, "one", sentences, LENGTH, dropout, seed)


def test_padding_is_averaged_in_and_left_out_as_a_slow_loop_does(
    models, sentences, tmp_path
) -> None:
    found = rows_of(models[0], sentences[:3], tmp_path)
    loaded, tokenizer = load_model(models[0], device="cpu"), plain_tokenizer(models[0])
    for number, words in enumerate(sentences[:3]):
        ids = tokenizer(list(words), is_split_into_words=True)["input_ids"]
        padded = torch.tensor([ids + [tokenizer.pad_token_id] * (LENGTH - len(ids))])
        mask = (torch.arange(LENGTH) < len(ids)).long()[None]
        with torch.inference_mode():
            hidden = loaded.model(
                input_ids=padded, attention_mask=mask, output_hidden_states=True
            ).hidden_states
        for layer, state in enumerate(hidden):
            whole = sum(state[0, place] for place in range(LENGTH)) / LENGTH
            real = sum(state[0, place] for place in range(len(ids))) / len(ids)
            np.testing.assert_allclose(found["padded"][layer, number], whole, atol=1e-5)
            np.testing.assert_allclose(found["real"][layer, number], real, atol=1e-5)


def test_dropout_is_drawn_from_the_seed_and_leaves_the_model_as_it_was(
    models, sentences, tmp_path
) -> None:
    off = rows_of(models[0], sentences, tmp_path)
    first, again, other = (
        rows_of(models[0], sentences, tmp_path, True, seed, name)
        for seed, name in ((0, "a"), (0, "b"), (1, "c"))
    )
    assert (first["padded"] == again["padded"]).all()
    assert not np.allclose(first["padded"], other["padded"], atol=1e-3)
    assert not np.allclose(first["padded"][0], off["padded"][0], atol=1e-3)
    with borrow_model(models[0], device="cpu") as loaded:
        layers = [
            module for module in loaded.model.modules() if isinstance(module, torch.nn.Dropout)
        ]
        before = [layer.p for layer in layers]
        layers[0].p = 0.0
        with dropping(loaded.model):
            assert layers[0].p == RATE
            assert loaded.model.training
        assert layers[0].p == 0.0
        layers[0].p = before[0]
        assert not loaded.model.training
        assert [layer.p for layer in layers] == before


def made_rows(layers: int = 3, rows: int = 140, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=(layers, rows, d)).astype(np.float32) for _ in range(2))  # type: ignore[return-value]


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_training, "fast_bfloat16", lambda width: False)


@pytest.mark.parametrize("shared", [True, False])
def test_training_is_that_of_plain_modules(shared: bool, exact: None) -> None:
    """Batches in order, an incomplete one passed over, gradients added up over layers, a step for
    each layer."""
    x, y = made_rows()
    steps = 7
    found = train("linear", x, y, steps=steps, shared=shared, seed=3)
    assert found.seen == 5  # of 140 rows two batches are whole: every third batch is passed over
    ends = []
    for network in range(1 if shared else len(x)):
        module = torch.nn.Linear(6, 6)
        with torch.no_grad():
            module.weight.copy_(found.start["map/0/weight"][network].T)
            module.bias.copy_(found.start["map/0/bias"][network, 0])
        optimiser = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
        place = 0
        for step in range(steps):
            optimiser.param_groups[0]["lr"] = LEARNING_RATE * DECAY**step
            if place + 64 > x.shape[1]:
                place = 0
                continue
            optimiser.zero_grad()
            for layer in range(len(x)) if shared else [network]:
                some = slice(place, place + 64)
                loss = torch.nn.functional.mse_loss(
                    module(torch.from_numpy(x[layer, some])), torch.from_numpy(y[layer, some])
                )
                loss.backward()
                optimiser.step()
            place += 64
        ends.append(module.weight.detach().T)
    moved = found.end["map/0/weight"] - found.start["map/0/weight"]
    expected = torch.stack(ends) - found.start["map/0/weight"]
    assert float(moved.abs().max()) > 3 * LEARNING_RATE
    torch.testing.assert_close(moved, expected, atol=0.05 * LEARNING_RATE, rtol=0)


def test_one_network_maps_all_layers_and_one_a_layer_maps_its_own() -> None:
    x, _ = made_rows()
    given = torch.from_numpy(x)
    for kind in ("inn", "linear", "mlp"):
        one, several = (draw(kind, 6, count, torch.Generator().manual_seed(0)) for count in (1, 3))
        each = torch.cat([apply(kind, one, given[layer : layer + 1]) for layer in range(3)])
        torch.testing.assert_close(apply(kind, one, given), each)
        alone = [
            apply(
                kind,
                {name: weight[n : n + 1] for name, weight in several.items()},
                given[n : n + 1],
            )
            for n in range(3)
        ]
        torch.testing.assert_close(apply(kind, several, given), torch.cat(alone))


def test_the_invertible_layer_can_be_inverted() -> None:
    """The second half back first: what was held fixed says by what the rest was scaled and
    shifted."""
    weights = {
        k: w.double() for k, w in draw("inn", 6, 1, torch.Generator().manual_seed(0)).items()
    }
    rows = torch.from_numpy(made_rows()[0][:1]).double()
    mapped = apply("inn", weights, rows)
    mask = (torch.arange(6) % 2 == 0).double()
    back = mapped
    for held in (1 - mask, mask):
        fixed = held * back
        scale = published_training._through(weights, "scale", fixed, torch.nn.functional.selu)
        shift = published_training._through(weights, "shift", fixed, torch.nn.functional.selu)
        back = fixed + (1 - held) * (back - shift) / torch.exp(torch.tanh(scale))
    torch.testing.assert_close(back, rows)
    assert float((mapped - rows).abs().max()) > 0.1


class Stopped(Exception):
    pass


class Keeping:
    """A checkpoint that ends the process, as it were, when the state has been kept a second
    time."""

    def __init__(self, found=None) -> None:
        self.found, self.states, self.due = found, [], found is None

    def find(self):
        return self.found

    def keep(self, state) -> None:
        self.states.append({name: np.array(value) for name, value in state.items()})
        if len(self.states) == 5:
            raise Stopped


def test_training_that_was_killed_goes_on_to_the_same_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = made_rows()
    whole = train("inn", x, y, steps=9, shared=True, seed=0)
    first = Keeping()
    monkeypatch.setattr(published_training, "checkpoint", lambda form: first)
    with pytest.raises(Stopped):
        train("inn", x, y, steps=9, shared=True, seed=0)
    monkeypatch.setattr(published_training, "checkpoint", lambda form: Keeping(first.states[-1]))
    rest = train("inn", x, y, steps=9, shared=True, seed=0)
    assert rest.seen == whole.seen
    for name, weight in whole.end.items():
        assert torch.equal(rest.end[name], weight), name


def test_unrelated_partners_are_the_other_half() -> None:
    left, right = partners(np.arange(10, 17), True)
    assert left.tolist() == [10, 11, 12]
    assert right.tolist() == [13, 14, 15]
    assert partners(np.arange(4), False)[1].tolist() == [0, 1, 2, 3]


def test_their_cca_undoes_a_linear_map_between_what_it_keeps() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 60, 4))
    turned = x @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    np.testing.assert_allclose(published_cca(x, turned)(x), turned, atol=1e-8)


def errors(inn: float, linear: float, pooled: bool = False) -> Errors:
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.9, 1.1, (2, 40))
    return Errors({"inn": [inn * spread], "linear": [linear * spread], "mean": [spread]}, pooled)


def test_every_protocol_has_a_name_and_ours_has_the_same_maps() -> None:
    assert set(PROTOCOLS) == {*VARIANTS, OURS}
    assert set(OUR_METHODS.values()) <= set(OURS_OF["models"])


def test_a_finding_holds_is_reversed_or_open() -> None:
    assert verdict("linear", -2.0, -1.0) == verdict("tuned", 1.0, 2.0) == "holds"
    assert verdict("linear", 1.0, 2.0) == verdict("tuned", -2.0, -1.0) == "reversed"
    assert verdict("linear", -1.0, 1.0) == verdict("tuned", -1.0, 1.0) == "open"
    table = claim_rows(
        {"published": errors(2.0, 3.0), OURS: errors(0.6, 0.5)}, {"published": errors(4.0, 5.0)}
    )
    said = table.set_index(["claim", "protocol"])
    assert said.loc[("linear", "published"), "verdict"] == "holds"
    assert said.loc[("linear", OURS), "verdict"] == "reversed"
    assert said.loc[("mean", "published"), "verdict"] == "reversed"
    assert said.loc[("mean", OURS), "verdict"] == "holds"
    assert said.loc[("tuned", "published"), "difference"] == pytest.approx(2.0)
    assert ("tuned", OURS) not in said.index


def test_the_headline_states_both_errors_and_which_findings_hold() -> None:
    by_protocol = {"published": errors(2.0, 3.0), OURS: errors(0.6, 0.5)}
    table = error_rows(by_protocol, "models", 6)
    findings = finding_rows(claim_rows(by_protocol, {"published": errors(4.0, 5.0)}))
    facts = {fact.subject: fact for fact in statements_of(table, findings)}
    assert (facts["published"].verdict, facts[OURS].verdict) == (ABOVE, BELOW)
    assert facts["published"].estimate.value == pytest.approx(2.0)
    assert facts[OURS].estimate.value == pytest.approx(0.6)
    assert (facts["linear"].verdict, facts["mean"].verdict) == ("no", "only by ours")
    headline = make_headline(tuple(facts.values()))
    assert all(fact.named_in(headline) for fact in facts.values())
    assert all(CLAIMS[name].says in headline for name in ("linear", "mean"))
    assert "batches" not in headline
    assert "(350 of 3,000 batches)" in make_headline(tuple(facts.values()), 350)


def test_an_error_whose_interval_contains_the_mean_is_neither_better_nor_worse() -> None:
    by_protocol = {"published": errors(1.01, 3.0), OURS: errors(0.99, 0.5)}
    table = error_rows(by_protocol, "models", 6)
    table["low"], table["high"] = table["nmse"] - 0.1, table["nmse"] + 0.1
    facts = statements_of(table, finding_rows(claim_rows(by_protocol, {})))
    assert [fact.verdict for fact in facts[:2]] == [UNDECIDED, UNDECIDED]
    headline = make_headline(facts)
    assert "network is not detectably better or worse than the mean (error 1.0 [" in headline
    assert "; by ours, not detectably better or worse on unseen words (.99 [" in headline


def test_errors_in_one_unit_weigh_layers_as_plain_squared_errors_do() -> None:
    spread = np.array([np.full(30, 1.0), np.full(30, 9.0)])
    error = np.array([np.full(30, 4.0), np.full(30, 9.0)])
    found = {
        pooled: Errors({"inn": [error], "mean": [spread]}, pooled).replicates("inn")
        for pooled in (True, False)
    }
    assert found[True].point == pytest.approx([4 / 5, 9 / 5])
    assert float(found[True].mean().point[0]) == pytest.approx(13 / 10)
    assert found[False].point == pytest.approx([4.0, 1.0])


def test_the_study_lays_both_protocols_beside_each_other(models, tmp_path, monkeypatch) -> None:
    hurry(monkeypatch)
    rng = np.random.default_rng(0)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(rng.choice(WORDS, size=6)) for _ in range(320)))
    spec = ProtocolSpec(models, tuned=(), length=16, steps=4, corpus=str(text), sentences=320)
    ready = run_first_stage(published.STUDY.prepare(spec, None), store=Store(tmp_path / "a"))
    roles = [task.role for task in published.plan(spec, ready)]
    assert [role[1] for role in roles[: len(FITTED)]] == list(FITTED)
    theirs = [task for task in published.plan(spec, ready) if task.role[1] != OURS]
    outputs = run(theirs, store=Store(tmp_path / "a"))
    assert not outputs.failures
    result = published.STUDY.result(spec, ready, outputs)
    claims, table = result.tables["claims"], result.tables["errors"]
    assert set(claims["protocol"]) == {*PROTOCOLS} - {OURS}
    assert set(claims["claim"]) == {*CLAIMS} - {"tuned"}
    assert set(table["method"]) == {*METHODS, "mean"}
    assert table[table["method"] == "mean"]["nmse"].to_numpy() == pytest.approx(1.0, abs=2.0)
    assert set(result.tables["findings"]["survives"]) == {"not asked"}
    theirs = table.query(
        "pair == 'models' and layer == -1 and method == 'inn' and protocol == 'published'"
    )["nmse"]
    assert result.statements[0].subject == "published"
    assert result.statements[0].estimate.value == pytest.approx(float(theirs.iloc[0]))
    assert result.statements[0].named_in(result.headline)
    assert set(published.figures(result)) == {"protocol-errors", "protocol-findings"}
    assert set(VARIANTS) == {variant for variants in FITTED.values() for variant in variants}


def test_one_fine_tuned_model_is_no_pair() -> None:
    with pytest.raises(SpecError, match="two models, or none"):
        ProtocolSpec(tuned=("zoo:sentiment-0",))
