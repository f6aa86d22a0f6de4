"""Models that predict tokens: masked or causal, and their predictions a block of the vocabulary at
a time.

The last matrix of a language model is as wide as its vocabulary. It is applied here to the
positions that are asked for and to a block of tokens, and not by the model to all of them; that
this gives the model's own logits is checked in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.errors import ModelError, not_finite
from core.models.describing import UNNAMED, describe
from core.models.loading.model import LoadedModel, load_model, load_with_head
from core.runs.tasks import Task, pure

if TYPE_CHECKING:
    from torch import Tensor, nn

    from core.models.sizes import Size

Kind = Literal["masked", "causal"]
MASKED = ("ForMaskedLM", "BertForPreTraining")
CAUSAL = ("ForCausalLM", "LMHeadModel")
HEAD = "head"  # in roles of tasks
ROUNDING = 1e-3  # of the largest logit: what another order of additions may change


def predicts(architecture: str) -> Kind | None:
    """Tell what a class of transformers predicts: masked or following tokens; None for neither."""
    if architecture.endswith(MASKED):
        return "masked"
    return "causal" if architecture.endswith(CAUSAL) else None


def head_of(ref: str) -> Kind | None:
    """Tell which language-model head a checkpoint kept; None without one."""
    return predicts(describe(ref).architecture)


def _expected(sizes: Mapping[str, Size], ref: str) -> Kind:
    return predicts(sizes[ref].architecture) or "masked"


@pure("models.prediction_kind", expect=_expected)
def prediction_kind(ref: str) -> Kind:
    """Tell from its configuration whether a model predicts masked or following tokens. Raises
    ModelError if it cannot be found, has no language-model head, or does not say."""
    info = describe(ref)
    kind = predicts(info.architecture)
    if kind is not None and info.family == {"masked": "encoder", "causal": "decoder"}[kind]:
        return kind
    if info.architecture == UNNAMED:
        raise ModelError(
            f"{ref} does not say whether it predicts words, as its config.json names no class: "
            'write "architectures": ["..."] into it, with the class that it was saved as, such as '
            "BertForMaskedLM."
        )
    raise ModelError(
        f"{ref} predicts no words, because it was saved without a masked or causal language-model "
        f"head ({info.architecture}): choose a model saved with one, such as a pretrained base."
    )


def head_tasks(refs: Iterable[str], find: Callable[[str], str] = prediction_kind) -> list[Task]:
    """Make a task for each model that tells what its head is for; its role is (HEAD, model)."""
    return [
        Task.of(f"head of {ref}", find, role=(HEAD, ref), fleeting=True, ref=ref)
        for ref in dict.fromkeys(refs)
    ]


@dataclass(frozen=True)
class Predictions:
    """A model's predictions at chosen positions of a batch.

    Attributes:
        hidden: What enters the last matrix, shape (position, width).
        rows: Rows of that matrix, from a token up to another.
        bias: Its bias.
        finish: What the model does to its logits afterwards.
    """

    hidden: Tensor
    rows: Callable[[int, int], Tensor]
    bias: Tensor | None
    finish: Callable[[Tensor], Tensor]

    def logits(self, start: int, stop: int) -> Tensor:
        """Compute logits (position, token) of the tokens from `start` up to `stop`."""
        import torch

        bias = None if self.bias is None else self.bias[start:stop]
        with torch.inference_mode():
            scores = torch.nn.functional.linear(self.hidden, self.rows(start, stop), bias)
            return self.finish(scores)


@dataclass(frozen=True)
class LanguageModel:
    """A model with its language-model head, ready to run.

    Attributes:
        ref: Its reference.
        kind: "masked" or "causal".
        loaded: The model and its tokenizer.
        head: Its last matrix, with its bias.
    """

    ref: str
    kind: Kind
    loaded: LoadedModel
    head: nn.Linear

    @property
    def vocabulary(self) -> int:
        """How many tokens it can predict."""
        return int(self.head.weight.shape[0])

    def predict(
        self, ids: Tensor, mask: Tensor, rows: Sequence[int], places: Sequence[int]
    ) -> Predictions:
        """Run the model over ids and mask (sentence, subword), and keep what its predictions at
        rows and places are computed from. Raises ModelError if one is not finite, or its logits are
        not those of its last matrix."""
        import torch

        from core.models.loading.layers import logits_of
        from core.models.loading.layerwise import blocks_of

        captured: list[Tensor] = []

        def shorten(module: nn.Module, given: tuple[Any, ...]) -> tuple[Tensor]:
            captured.append(given[0])
            return (given[0][:1, :1],)  # the model itself computes one position, for the check

        with torch.inference_mode(), self.head.register_forward_pre_hook(shorten):
            output = self.loaded.model(
                input_ids=ids.to(self.loaded.device),
                attention_mask=mask.to(self.loaded.device),
                return_dict=True,
            )
        if len(captured) != 1 or captured[0].shape[:2] != ids.shape:
            raise self._unlike()
        finish = _finishing(self.loaded.model.config)
        first = Predictions(captured[0][0, :1], self._rows, self.head.bias, finish)
        expected = logits_of(output).reshape(1, -1)
        hidden = captured[0][torch.as_tensor(rows), torch.as_tensor(places)]
        if not bool(expected.isfinite().all() and hidden.isfinite().all()):
            raise not_finite(f"The predictions of {self.ref}")
        given = torch.cat([first.logits(*block) for block in blocks_of(self.head)], 1)
        if given.shape != expected.shape or not torch.allclose(
            given, expected, rtol=0.0, atol=ROUNDING * float(expected.abs().max())
        ):
            raise self._unlike()
        return Predictions(hidden, self._rows, self.head.bias, finish)

    def _rows(self, start: int, stop: int) -> Tensor:
        weights = self.loaded.layerwise
        if weights is not None and weights.head is not None:
            return weights.head_rows(start, stop)
        return self.head.weight[start:stop]

    def _unlike(self) -> ModelError:
        return ModelError(
            f"The predictions of {self.ref} cannot be read block by block: its output layer does "
            f"more than Palimpsest knows of a {self.loaded.info.model_type}. Choose another model."
        )


def load_language_model(ref: str, device: str | None = None) -> LanguageModel:
    """Load a model with its language-model head; the layers of a large one stay on the disk. Raises
    ModelError as `prediction_kind`, or if its last matrix is not known."""
    from torch import nn

    kind = prediction_kind(ref)
    loaded = load_with_head(ref, device=device, layerwise=True)
    head: Any = loaded.model.get_output_embeddings()
    if not isinstance(head, nn.Linear):
        raise ModelError(
            f"{ref} has no last matrix that Palimpsest can read: choose another language model."
        )
    return LanguageModel(ref, kind, loaded, head)


def load_on_head(ref: str, base: str) -> LoadedModel:
    """Open a model with its head that predicts tokens, or, where it has none, on the base's. Raises
    ModelError if neither has such a head, or the base's does not fit."""
    from core.models.loading.layers import body_weights, put_body

    if head_of(ref):
        return load_with_head(ref, device="cpu")
    prediction_kind(base)
    loaded, body = load_with_head(base, device="cpu"), load_model(ref, device="cpu")
    if not put_body(loaded.model, body_weights(body.model)):
        raise ModelError(
            f"{ref} has no head that predicts tokens, and that of {base} does not fit it: "
            "name its base."
        )
    return loaded


def _finishing(config: Any) -> Callable[[Tensor], Tensor]:
    """What a model of this configuration does to its logits: soft caps, a scale, or nothing."""
    import torch

    cap = getattr(config, "final_logit_softcapping", None)
    scaling = getattr(config, "logits_scaling", None)

    def finish(scores: Tensor) -> Tensor:
        if scaling:
            scores = scores / scaling
        return torch.tanh(scores / cap) * cap if cap else scores

    return finish
