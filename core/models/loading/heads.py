"""The arc head of our parser.

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
from core.models.files.checkpoints import HEAD_KEY, read_config
from core.models.files.opening import open_weights
from core.models.loading.reading import as_tensor

ARC_PREFIX = "arc_head."


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


def put_arc_head(body: nn.Module, folder: Path) -> ArcParser:
    """Put the arc head of a folder on its body: in evaluation mode, without gradients. Raises
    ModelError if it is of another kind or size, or lacks weights."""
    config = read_config(folder)
    head = config.get(HEAD_KEY)
    if (
        not isinstance(head, dict)
        or head.get("kind") != "arc"
        or not 1 <= head.get("size", 0) <= 65_536
    ):
        raise ModelError(
            f"{folder.name} has a head whose kind or size is not known here: arc, up to 65,536; "
            "choose another model."
        )
    parser = ArcParser(body, int(head["size"]))
    weights = {
        name.removeprefix(ARC_PREFIX): as_tensor(entry, torch.float32)
        for name, entry in open_weights(folder, config).items()
        if name.startswith(ARC_PREFIX)
    }
    if missing := sorted(set(parser.arc_head.state_dict()) - set(weights)):
        raise ModelError(
            f"{folder.name} lacks {len(missing)} weights ({', '.join(missing[:3])}); "
            "get the model again."
        )
    parser.arc_head.load_state_dict(weights)
    return parser.eval().requires_grad_(False)
