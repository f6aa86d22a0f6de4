"""Task models with their heads: the arc head of our parser, and a loader for any head.

The arc head scores, for every word, every other word and the root as its head, with a biaffine form
over two small projections of the word vectors. A word is its first subword; the root is the first
token ([CLS]).

Reference: Dozat & Manning 2017, ICLR, "Deep biaffine attention for neural dependency parsing".
Deviations: arcs only, no labels; each word picks its head by itself, with no tree constraint; the
projections are one layer with a leaky ReLU of 64 units on top of a Transformer instead of an LSTM.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from core.errors import ModelError
from core.models.architectures import class_in
from core.models.files.checkpoints import HEAD_KEY, read_config
from core.models.files.opening import open_weights
from core.models.loading.construction import MAKING_A_MODEL, import_transformers, open_config
from core.models.loading.reading import as_tensor, read_model
from core.models.trial import making

ARC_PREFIX = "arc_head."
AUTO_CLASSES = {
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
}


class ArcHead(nn.Module):
    """Biaffine scores of every (word, head) pair of a sentence."""

    def __init__(self, d_model: int, size: int) -> None:
        super().__init__()
        self.word = nn.Linear(d_model, size)
        self.head = nn.Linear(d_model, size)
        self.pair = nn.Parameter(torch.zeros(size + 1, size))
        nn.init.xavier_uniform_(self.pair)

    def forward(
        self, vectors: Float[Tensor, "sentence node d_model"]
    ) -> Float[Tensor, "sentence word node"]:
        """Calculate logits that node h is the head of word w; word w is node w + 1, the root 0.

        A word's own node gets the lowest finite number: no word heads itself.
        """
        words = nn.functional.leaky_relu(self.word(vectors[:, 1:]), 0.1)
        heads = nn.functional.leaky_relu(self.head(vectors), 0.1)
        words = torch.cat(
            [words, torch.ones_like(words[..., :1])], dim=-1
        )  # the last row scores the head alone
        scores = words @ self.pair @ heads.transpose(1, 2)
        place = torch.arange(words.shape[1], device=scores.device)
        itself = torch.zeros(scores.shape[1:], dtype=torch.bool, device=scores.device)
        itself[place, place + 1] = True
        return scores.masked_fill(itself, torch.finfo(scores.dtype).min)


class ArcParser(nn.Module):
    """A Transformer body with an arc head; the body keeps its parameter names."""

    def __init__(self, body: nn.Module, size: int) -> None:
        super().__init__()
        config: Any = body.config
        self.config = config
        self.body_name = str(body.base_model_prefix)
        self.add_module(self.body_name, body)
        self.arc_head = ArcHead(config.hidden_size, size)

    @property
    def body(self) -> nn.Module:
        """The Transformer under the head."""
        return self.get_submodule(self.body_name)

    def forward(
        self,
        input_ids: Int[Tensor, "sentence subword"],
        attention_mask: Int[Tensor, "sentence subword"],
        word_starts: Int[Tensor, "sentence word"],
    ) -> Float[Tensor, "sentence word node"]:
        """Calculate arc logits; `word_starts` has each first subword's place, -1 for padding."""
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask)[0]
        return self.arc_scores(hidden, word_starts)

    def arc_scores(
        self,
        hidden: Float[Tensor, "sentence subword d_model"],
        word_starts: Int[Tensor, "sentence word"],
    ) -> Float[Tensor, "sentence word node"]:
        """Apply the head to top-layer vectors; padded nodes get the lowest number."""
        padded = word_starts < 0
        root = torch.zeros_like(word_starts[:, :1])  # the first token
        places = torch.cat([root, word_starts.clamp(min=0)], dim=1)
        nodes = hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))
        scores = self.arc_head(nodes)
        nowhere = torch.cat([torch.zeros_like(padded[:, :1]), padded], dim=1)
        return cast(
            "Tensor", scores.masked_fill(nowhere[:, None, :], torch.finfo(scores.dtype).min)
        )


def load_task_model(folder: Path) -> nn.Module:
    """Load the model in `folder` with its head: eval mode, float32, no gradients. Raises ModelError
    if the policy refuses the config, it names no head that is known here or makes no model, or
    weights are missing."""
    config = read_config(folder)
    architecture = class_in(config) or "none"
    with making(folder.name, config):
        if config.get(HEAD_KEY) is not None:
            return _load_arc_parser(folder, config[HEAD_KEY])
        return _load_classifier(folder, architecture)


def _load_classifier(folder: Path, architecture: str) -> nn.Module:
    ending = next((ending for ending in AUTO_CLASSES if architecture.endswith(ending)), None)
    if ending is None:
        raise ModelError(
            f"{folder.name} was saved as {architecture}, "
            f"without a head that is known here ({', '.join(AUTO_CLASSES)}); choose another model."
        )
    model = _read(folder, getattr(import_transformers(), AUTO_CLASSES[ending]))
    return cast("nn.Module", model.eval().requires_grad_(False))


def _load_arc_parser(folder: Path, head: Any) -> ArcParser:
    if (
        not isinstance(head, dict)
        or head.get("kind") != "arc"
        or not 1 <= head.get("size", 0) <= 65_536
    ):
        raise ModelError(
            f"{folder.name} has a head whose kind or size is not known here: arc, up to 65,536; "
            "choose another model."
        )
    body = _read(folder, import_transformers().AutoModel)
    parser = ArcParser(body, int(head["size"]))
    weights = {
        name.removeprefix(ARC_PREFIX): as_tensor(entry, torch.float32)
        for name, entry in open_weights(folder, read_config(folder)).items()
        if name.startswith(ARC_PREFIX)
    }
    _refuse_missing(folder, set(parser.arc_head.state_dict()) - set(weights))
    parser.arc_head.load_state_dict(weights)
    return parser.eval().requires_grad_(False)


def _read(folder: Path, factory: Any) -> Any:
    """Read a model whole, with the weights of its head, in float32."""
    with MAKING_A_MODEL:
        model, report = read_model(factory, folder, open_config(folder), {"dtype": torch.float32})
    _refuse_missing(folder, report["missing_keys"])
    return model


def _refuse_missing(folder: Path, missing: set[str] | list[str]) -> None:
    if missing:
        some = ", ".join(sorted(missing)[:3])
        raise ModelError(
            f"{folder.name} lacks {len(missing)} weights ({some}); get the model again."
        )
