"""The hub: listings in pages, ranges counted at the server, and every state that a model on it can
be in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.commands import main as cli
from core.errors import ModelError
from core.models import describe
from core.models.files import checkpoints
from core.models.files.layout import SAFETENSORS_INDEX as INDEX
from core.models.hub import client as hub
from core.models.hub.listing import choose_listed, list_fine_tunes, look_up
from core.models.hub.ranges import RangeFile
from core.models.sizes import names_adapter, size_of
from core.models.weights.merged import MERGED
from core.models.weights.sources import is_remote, open_adapter, open_model
from core.runs.runner import Outputs, run
from core.runs.store import Store, default_store
from core.studies.weights.clusters.notice_text import said
from core.studies.weights.clusters.planning import plan, prepare
from core.studies.weights.clusters.selection import find_models
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.tasks import measure_delta
from core.study import run_first_stage
from tests.core.contents import copied_as, read_as
from tests.core.small_zoo import CONFIG, base_tensors, tuned_tensors, write_model
from tests.core.tree_server import TreeServer, as_files

BASE = "org/base"
SPEC = WeightsSpec(base=f"hub:{BASE}", rank=3, permutations=100, label="data")
QUERY = 3 * 32 * 32 * 4  # bytes of one family of the small model


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TreeServer]:
    with TreeServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache", timeout=2.0)
        running.add(BASE, as_files(base_tensors(), CONFIG))
        yield running


def measured(spec: WeightsSpec) -> Outputs:
    """What the study's tasks brought, and the models that were left out before there were any."""
    ready = run_first_stage(prepare(spec))
    outputs = run(plan(spec, ready))
    return replace(outputs, failures={**ready.values["models"].failures, **outputs.sentences})


def add_tree(server: TreeServer) -> None:
    """Two data sets by three runs, and one of each way to be of no use."""
    for place, data in enumerate(("glue/mnli", "squad")):
        for number in range(3):
            files = as_files(tuned_tensors(base_tensors(), place, number), CONFIG)
            weights = {"parameters": {"F32": 56_000}, "total": 56_000}
            server.add_fine_tune(
                f"org/{data[-4:]}-{number}",
                BASE,
                files,
                (data,),
                downloads=100 - number - 10 * place,
                safetensors=weights,
            )
    files = as_files(tuned_tensors(base_tensors(), 0, 7), CONFIG)
    known = {"parameters": {"F32": 56_000}, "total": 56_000}
    server.add_fine_tune("org/no-data", BASE, files, downloads=50, safetensors=known)
    server.add_fine_tune(
        "org/gated", BASE, files, ("squad",), state="gated", gated="manual", safetensors=known
    )
    pickled = {"config.json": json.dumps(CONFIG).encode(), "pytorch_model.bin": b"x"}
    server.add_fine_tune("org/pickled", BASE, pickled, ("squad",), downloads=60)


def test_the_tree_is_listed_over_all_its_pages(server: TreeServer) -> None:
    add_tree(server)
    listed = list_fine_tunes(BASE)
    assert len(listed) == 9
    assert sum(path == "GET /api/models" for path in server.requests) == 5
    first = listed[0]
    assert (first.ref, first.data, first.label) == ("hub:org/mnli-0", ("glue/mnli",), "mnli")
    assert (first.downloads, first.parameters, first.bytes, first.gated) == (
        100,
        56_000,
        224_000,
        False,
    )
    by_name = {model.ref: model for model in listed}
    assert by_name["hub:org/no-data"].label == ""
    assert by_name["hub:org/gated"].gated
    assert by_name["hub:org/pickled"].bytes is None
    assert len(list_fine_tunes(BASE, most=3)) == 3


def test_licence_and_data_come_from_card_or_tags(server: TreeServer) -> None:
    server.add(
        "org/tagged",
        {},
        extra={"tags": [f"base_model:finetune:{BASE}", "license:mit", "dataset:imdb"]},
    )
    card = {"license": "apache-2.0", "datasets": "imdb"}
    server.add("org/carded", {}, extra={"tags": [f"base_model:finetune:{BASE}"], "cardData": card})
    server.add(
        "org/listed",
        {},
        extra={
            "tags": [f"base_model:finetune:{BASE}"],
            "cardData": {"datasets": ["a", "b"], "license": ["mit", "other"]},
        },
    )
    found = {model.ref: model for model in list_fine_tunes(BASE)}
    assert (found["hub:org/tagged"].licence, found["hub:org/tagged"].data) == ("mit", ("imdb",))
    assert (found["hub:org/carded"].licence, found["hub:org/carded"].data) == (
        "apache-2.0",
        ("imdb",),
    )
    assert (found["hub:org/listed"].label, found["hub:org/listed"].licence) == (
        "a + b",
        "mit + other",
    )


def test_the_listing_is_filtered(server: TreeServer) -> None:
    add_tree(server)
    listed = list_fine_tunes(BASE)
    names = lambda **filters: [  # noqa: E731
        model.ref.removeprefix("hub:org/") for model in choose_listed(listed, **filters)
    ]
    assert sorted(names(first=9)) == [
        "mnli-0",
        "mnli-1",
        "mnli-2",
        "no-data",
        "quad-0",
        "quad-1",
        "quad-2",
    ]
    assert len(names(first=2)) == 2
    assert "no-data" not in names(first=9, labelled=True)
    assert names(first=9, text="MNLI") == ["mnli-0", "mnli-1", "mnli-2"]
    assert names(first=9, a_label=1, labelled=True) == ["mnli-0", "quad-0"]
    assert names(first=9, licence="mit") == []


@pytest.mark.parametrize("most", [0, 2501])
def test_a_listing_has_a_size(server: TreeServer, most: int) -> None:
    with pytest.raises(ModelError, match="1 to 2,500"):
        list_fine_tunes(BASE, most)


def test_one_family_costs_hardly_more_than_its_bytes(server: TreeServer) -> None:
    """Files of a realistic proportion between header and tensors, counted where they are sent."""
    wide = {name: np.tile(value, (4, 4)) for name, value in base_tensors().items()}
    tuned = {
        name: value + np.float32(0.01) * np.sin(np.arange(value.size).reshape(value.shape))
        for name, value in wide.items()
    }
    server.add("org/wide", as_files(wide, CONFIG))
    server.add_fine_tune(
        "org/wide-tuned",
        "org/wide",
        as_files({k: v.astype(np.float32) for k, v in tuned.items()}, CONFIG),
    )
    base, model = "hub:org/wide", "hub:org/wide-tuned"
    measure_delta(base, model, read_as(base), read_as(model), ("query",), 8, 0)
    family = 3 * 128 * 128 * 4
    for name in ("wide", "wide-tuned"):
        sent = sum(
            count
            for path, count in server.files_sent.items()
            if path.startswith(f"/org/{name}/") and "safetensors" in path
        )
        assert family <= sent < 1.2 * family


def test_a_copy_under_another_name_is_no_further_model(server: TreeServer) -> None:
    add_tree(server)
    again = as_files(
        tuned_tensors(base_tensors(), 0, 0), {**CONFIG, "architectures": ["BertModel"]}
    )
    server.add("org/again", again)
    refs = ("hub:org/mnli-0", "hub:org/again", "hub:org/mnli-1")
    selection = find_models(SPEC.base, refs, own_bases=False, tree=0)
    assert [member.ref for member in selection.members] == ["hub:org/mnli-0", "hub:org/mnli-1"]
    assert "hub:org/again has the same weights as hub:org/mnli-0" in selection.notices[-1]


@pytest.mark.slow
def test_a_study_over_the_tree_keeps_what_works(server: TreeServer) -> None:
    add_tree(server)
    refs = tuple(model.ref for model in list_fine_tunes(BASE))
    result = STUDY.run(replace(SPEC, models=refs))
    assert len(result.table) == 7
    assert set(result.failures) == {"hub:org/gated", "hub:org/pickled"}
    assert "gated: accept its terms" in result.failures["hub:org/gated"]
    assert "pickled weights only" in result.failures["hub:org/pickled"]
    assert result.tables["neighbours"].set_index("k")["share"][2] == pytest.approx(1)
    assert set(result.table["label"]) == {"mnli", "squad", ""}
    assert "commit" not in result.provenance["fingerprints"]["hub:org/base"]
    assert result.provenance["fingerprints"]["hub:org/base"].startswith("org/base ")


@pytest.mark.slow
def test_a_truncated_file_and_a_missing_shard_are_named(server: TreeServer) -> None:
    files = as_files(tuned_tensors(base_tensors(), 0, 0), CONFIG)
    server.add("org/cut", {**files, "model.safetensors": files["model.safetensors"][:-5000]})
    server.add("org/no-header", {**files, "model.safetensors": files["model.safetensors"][:30]})
    server.add("org/empty", {**files, "model.safetensors": b""})
    index = json.dumps({"weight_map": {"w": "model-1.safetensors"}}).encode()
    server.add("org/shardless", {"config.json": files["config.json"], INDEX: index})
    server.add("org/no-config", {"model.safetensors": files["model.safetensors"]})
    server.add("org/bad-config", {**files, "config.json": b"{"})
    names = ("cut", "no-header", "empty", "shardless", "no-config", "bad-config", "unknown")
    result = measured(replace(SPEC, models=tuple(f"hub:org/{name}" for name in names)))
    assert not result.values
    reasons = [result.failures[f"hub:org/{name}"] for name in names]
    wanted = (
        "truncated",
        "ends within its header",
        "ends before its header",
        "model-1.safetensors is missing",
    )
    wanted += ("has no config.json", "config.json is damaged", "no model org/unknown")
    for reason, part in zip(reasons, wanted, strict=True):
        assert part in reason


def test_shards_are_read_from_their_files(server: TreeServer) -> None:
    tensors = tuned_tensors(base_tensors(), 0, 0)
    names = sorted(tensors)
    halves = {
        f"model-{n}.safetensors": {name: tensors[name] for name in names[n::2]} for n in range(2)
    }
    index = {"weight_map": {name: shard for shard, half in halves.items() for name in half}}
    files = {shard: as_files(half, CONFIG)["model.safetensors"] for shard, half in halves.items()}
    server.add(
        "org/shards",
        {"config.json": json.dumps(CONFIG).encode(), INDEX: json.dumps(index).encode(), **files},
    )
    checkpoint = open_model("hub:org/shards", read_as("hub:org/shards"))
    for name in names:
        np.testing.assert_array_equal(checkpoint.read(name), tensors[name])


def test_a_busy_hub_is_waited_for(server: TreeServer) -> None:
    add_tree(server)
    server.busy = {"org/mnli-0/model.safetensors": 3}
    assert not measured(replace(SPEC, models=("hub:org/mnli-0",))).failures


def test_a_hub_that_stays_busy_fails_and_the_next_run_goes_on(server: TreeServer) -> None:
    add_tree(server)
    spec = replace(SPEC, models=("hub:org/mnli-0",))
    checkpoint = open_model("hub:org/mnli-0", read_as("hub:org/mnli-0"))
    size = sum(
        entry.stop - entry.start for name, entry in checkpoint.entries.items() if "encoder" in name
    )
    original = RangeFile._request
    left = [20]

    def failing(self: RangeFile, start: int, stop: int):
        left[0] -= 1
        if left[0] <= 0:
            server.busy = {"org/mnli-0/model.safetensors": 99}
        return original(self, start, stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RangeFile, "_request", failing)
        first = measured(spec)
    assert "rate limit" in first.failures["hub:org/mnli-0"]
    server.busy = {}
    server.files_sent.clear()
    assert not measured(spec).failures
    again = sum(count for path, count in server.files_sent.items() if "mnli-0" in path)
    assert again < 0.75 * size  # what had been read was not read again


def test_a_hub_that_asks_for_too_long_a_wait_is_not_waited_for(server: TreeServer) -> None:
    add_tree(server)
    server.busy, server.retry_after = {"": 99}, "240"
    outputs = measured(replace(SPEC, models=("hub:org/mnli-0",)))
    assert "rate limit" in outputs.failures["hub:org/mnli-0"]
    assert server.busy[""] in (97, 98)  # base and fine-tune once each at most


def test_a_server_that_ignores_ranges_is_asked_once(server: TreeServer) -> None:
    add_tree(server)
    server.ignores_ranges = True
    outputs = measured(replace(SPEC, models=("hub:org/mnli-0",)))
    assert not outputs.failures
    whole = len(server.repositories["models/org/mnli-0"].files["model.safetensors"])
    sent = sum(
        count
        for path, count in server.files_sent.items()
        if "mnli-0" in path and "safetensors" in path
    )
    assert sent <= 2 * whole + 100_000


def test_remote_and_local_numbers_are_the_same(server: TreeServer, tmp_path: Path) -> None:
    add_tree(server)
    write_model(tmp_path / "base", base_tensors())
    write_model(tmp_path / "mnli-0", tuned_tensors(base_tensors(), 0, 0))
    here, there = f"path:{tmp_path}/base", f"path:{tmp_path}/mnli-0"
    local = measure_delta(here, there, read_as(here), read_as(there), (), 8, 0)
    base, model = SPEC.base, "hub:org/mnli-0"
    remote = measure_delta(base, model, read_as(base), read_as(model), (), 8, 0)
    assert is_remote(model, read_as(model))
    assert not is_remote(there, read_as(there))
    for name in ("values", "left", "right", "sketch", "delta_norms"):
        np.testing.assert_array_equal(local[name], remote[name])


def test_a_downloaded_model_is_read_from_the_disk(server: TreeServer, tmp_path: Path) -> None:
    from tests.core.tiny_models import save_tiny

    server.add("org/tiny", save_tiny(tmp_path / "tiny"))
    hub.download("org/tiny")
    assert not is_remote("hub:org/tiny", read_as("hub:org/tiny"))
    server.files_sent.clear()
    checkpoint = open_model("hub:org/tiny", read_as("hub:org/tiny"))
    checkpoint.read(next(iter(checkpoint.entries)))
    assert not server.files_sent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        hub._resolved.begin()
        assert read_as("hub:org/tiny").startswith("org/tiny ")
        assert open_model("hub:org/tiny", read_as("hub:org/tiny")).model_type == "bert"
        local = copied_as(f"path:{tmp_path / 'tiny'}")
        original = checkpoints.content_hash

        def refuse(path: Path) -> str:
            assert path.name != "model.safetensors", "the cache's name of the file is its hash"
            return original(path)

        patch.setattr(checkpoints, "content_hash", refuse)
        assert copied_as("hub:org/tiny") == local


def test_offline_is_said_to_be_so(server: TreeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="offline mode"):
        list_fine_tunes(BASE)
    with pytest.raises(ModelError, match="offline mode"):
        look_up(BASE)
    with pytest.raises(ModelError, match="offline mode"):
        read_as("hub:org/base")


def test_a_model_too_large_for_a_shared_instance_is_refused(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("org/huge", as_files(base_tensors(), CONFIG), sizes={"model.safetensors": 10**10})
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(ModelError, match="too large"):
        look_up("org/huge")


@pytest.mark.parametrize("state", ["portal", "broken", "rate-limited", "private"])
def test_every_state_of_the_hub_has_its_sentence(server: TreeServer, state: str) -> None:
    server.add("org/state", as_files(base_tensors(), CONFIG), state=state)
    with pytest.raises(ModelError):
        look_up("org/state")


def test_a_page_that_is_no_list_is_said_to_be_so(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = server._server.RequestHandlerClass
    monkeypatch.setattr(
        handler,
        "_list",
        lambda self, wanted: self._write(200, b"<html>", "text/html", {}, body=True),
    )
    with pytest.raises(ModelError, match="did not send a list"):
        list_fine_tunes(BASE)
    monkeypatch.setattr(handler, "_list", lambda self, wanted: self._send(200, {"error": "x"}))
    with pytest.raises(ModelError, match="did not send a list"):
        list_fine_tunes(BASE)


def test_a_random_control_has_no_delta(server: TreeServer) -> None:
    with pytest.raises(ModelError, match="random weights"):
        open_model("random:hub:org/base", read_as("random:hub:org/base"))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_command_line_takes_the_tree(
    server: TreeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_tree(server)
    command = ["weights", "--base", "hub:org/base", "--tree", "6", "--label", "data", "--rank", "3"]
    assert cli.main([*command, "--permutations", "100", "--out", str(tmp_path / "out")]) == 0
    assert "share a data set" in capsys.readouterr().out


@pytest.mark.slow
def test_collect_needs_no_hub_again(server: TreeServer) -> None:
    add_tree(server)
    spec = replace(SPEC, models=("hub:org/mnli-0", "hub:org/mnli-1", "hub:org/quad-0"))
    ready = run_first_stage(prepare(spec))
    outputs = STUDY.perform(spec, plan(spec, ready))
    server.requests.clear()
    assert len(STUDY.result(spec, ready, outputs).table) == 3
    assert server.requests == []


@pytest.mark.slow
def test_a_private_store_takes_the_matrices_too(server: TreeServer, tmp_path: Path) -> None:
    """What comes over the network is kept matrix by matrix, where the run was told to keep
    things."""
    add_tree(server)
    before, mine = default_store().info().entries, Store(tmp_path / "mine")
    spec = replace(SPEC, models=("hub:org/mnli-0", "hub:org/mnli-1", "hub:org/quad-0"))
    STUDY.run(spec, store=mine)
    assert (
        mine.info().entries == 3 * (2 + 18) + 1
    )  # each delta whole and without vectors; the distances
    assert default_store().info().entries == before


@pytest.mark.slow
def test_an_adapter_of_the_hub_is_a_fine_tune_and_is_merged_only_where_it_is_run(
    server: TreeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    add_tree(server)
    server.add(BASE, {**as_files(base_tensors(), CONFIG), "vocab.txt": b"a"})
    name = "base_model.model.bert.encoder.layer.1.output.dense"
    rng = np.random.default_rng(0)
    factors = {
        f"{name}.lora_A.weight": rng.normal(size=(2, 64)),
        f"{name}.lora_B.weight": rng.normal(size=(32, 2)),
    }
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "base_model_name_or_path": BASE}
    files = {
        "adapter_config.json": json.dumps(config).encode(),
        "adapter_model.safetensors": as_files(
            {k: v.astype(np.float32) for k, v in factors.items()}, {}
        )["model.safetensors"],
    }
    server.add_fine_tune("org/lora", BASE, files, ("squad",))
    server.add_fine_tune(
        "org/dora",
        BASE,
        {**files, "adapter_config.json": json.dumps(config | {"use_dora": True}).encode()},
    )
    result = STUDY.run(replace(SPEC, models=("hub:org/mnli-0", "hub:org/lora", "hub:org/dora")))
    assert list(result.table["model"]) == ["hub:org/mnli-0", "hub:org/lora"]
    assert "hub:org/dora is DoRA" in result.failures["hub:org/dora"]
    ranks = result.tables["ranks"].query("model == 'hub:org/lora' and threshold == .99")
    assert ranks.loc[ranks["rank"] > 0, ["family", "layer", "rank"]].to_numpy().tolist() == [
        ["ff2", 2, 2]
    ]
    assert any("hub:org/lora is a LoRA adapter of rank 2" in text for text in result.notices)
    assert not (tmp_path / "store" / MERGED).exists()

    ref, place = "hub:org/lora", "encoder.layer.1.output.dense.weight"
    opened = open_model(ref, read_as(ref))
    lower, upper = (part.astype(np.float32) for part in factors.values())
    np.testing.assert_allclose(
        opened.read(f"bert.{place}"), base_tensors()[f"bert.{place}"] + upper @ lower, atol=1e-6
    )
    assert names_adapter(ref)
    assert describe(ref).layers == size_of(ref).layers == 3
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert describe(ref).model_type == "bert"
    assert open_adapter(ref, read_as(ref)) is not None


@pytest.mark.slow
def test_a_silent_card_leaves_the_name_and_it_is_said_which(server: TreeServer) -> None:
    add_tree(server)
    files = as_files(tuned_tensors(base_tensors(), 1, 5), CONFIG)
    known = {"parameters": {"F32": 56_000}, "total": 56_000}
    server.add_fine_tune("org/tiny-imdb", BASE, files, downloads=70, safetensors=known)
    by_name = {model.ref: model for model in list_fine_tunes(BASE)}
    assert (by_name["hub:org/tiny-imdb"].label, by_name["hub:org/tiny-imdb"].label_from) == (
        "imdb",
        "name",
    )
    assert by_name["hub:org/mnli-0"].label_from == "card"
    chosen = choose_listed(list(by_name.values()), first=9, labelled=True)
    assert "hub:org/tiny-imdb" in [model.ref for model in chosen]
    result = STUDY.run(replace(SPEC, models=("hub:org/mnli-0", "hub:org/tiny-imdb")))
    assert result.table["data_from"].tolist() == ["card", "name"]
    assert said("named_data", models="hub:org/tiny-imdb (imdb)") in result.notices


def test_a_long_tree_is_listed_to_its_end(server: TreeServer) -> None:
    server.page = 100
    for number in range(730):
        server.add_fine_tune(f"org/many-{number}", BASE, {}, downloads=number)
    listed = list_fine_tunes(BASE, most=2_500)
    assert len(listed) == 730
    assert [model.downloads for model in listed[:2]] == [729, 728]
    assert sum(path == "GET /api/models" for path in server.requests) == 8
    assert len(list_fine_tunes(BASE, most=650)) == 650


def test_adapters_are_listed_by_themselves_and_chosen_by_their_factors(server: TreeServer) -> None:
    add_tree(server)
    lora = {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"}
    server.add_fine_tune("org/lora", BASE, lora, ("squad",), relation="adapter", downloads=30)
    server.add_fine_tune(
        "org/pickled-lora", BASE, {**lora, "adapter_model.bin": b"x"}, relation="adapter"
    )
    del server.repositories["models/org/pickled-lora"].files["adapter_model.safetensors"]
    server.add_fine_tune("org/gated-lora", BASE, lora, relation="adapter", gated="manual")
    listed = list_fine_tunes(BASE, adapters=True)
    assert [model.ref for model in listed] == [
        "hub:org/lora",
        "hub:org/pickled-lora",
        "hub:org/gated-lora",
    ]
    assert all(model.adapter and model.bytes is None for model in listed)
    assert [model.safe for model in listed] == [True, False, True]
    assert [model.ref for model in choose_listed(listed, first=9)] == ["hub:org/lora"]
    assert "hub:org/lora" not in [model.ref for model in list_fine_tunes(BASE)]
    assert not any(model.adapter for model in list_fine_tunes(BASE))
