"""A bank of networks of one shape that train side by side, and the schedule that they train by.

References: Kingma & Ba 2015 (Adam), Loshchilov & Hutter 2019 (decoupled weight decay). Deviations:
none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from core.maths.arrays import Value
from core.maths.devices import processor_flags

IMPROVED = 1e-3  # relative decrease of the error below which a check counts as no improvement
WARM_UP = 20  # steps over which the rate rises to its first value
BETAS, EPSILON = (0.9, 0.999), 1e-8
WIDE = 384  # width from which products take most of a step


@dataclass(frozen=True)
class Schedule:
    """How a bank is trained.

    Attributes:
        steps: Largest number of steps; training ends earlier when every network has converged.
        batch: Rows per step.
        learning_rate: The first rate.
        weight_decay: Decoupled, in units of the rate.
        check_every: Steps between two evaluations on the validation rows.
        patience: Checks without improvement after which a network's rate falls.
        rates: How many rates, each a quarter of the previous one.
        noise: Standard deviation of the noise added to the training rows, in units of the target's
            spread; it falls with the rate. Without noise, fewer than 3,000 rows of 1,000 words are
            soon memorised.
        seed: Of the batches and the noise.
    """

    steps: int = 4000
    batch: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    check_every: int = 25
    patience: int = 4
    rates: int = 3
    noise: float = 0.0
    seed: int = 0


class Stackable(nn.Module, ABC):
    """A network that can compute many of its kind at once, in fewer passes than `torch.vmap`."""

    @abstractmethod
    def stacked(self, weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        """Map each network's rows, (network, row, d).

        Args:
            weights: Every parameter and buffer by name, stacked along a first axis.
            rows: Of each network.
        """


def linear(weights: dict[str, Tensor], name: str, rows: Tensor) -> Tensor:
    """Apply the linear layer of each network to its rows.

    Example:
        >>> weights = {"out.weight": torch.ones(2, 1, 3), "out.bias": torch.zeros(2, 1)}
        >>> linear(weights, "out", torch.ones(2, 4, 3)).shape
        torch.Size([2, 4, 1])
    """
    both = weights[f"{name}.weight"], weights[f"{name}.bias"]
    mapped: Tensor = _Linear.apply(rows, *both)  # type: ignore[no-untyped-call]
    return mapped


class _Linear(torch.autograd.Function):
    """A linear layer of each network, whose gradient lies in memory as its weights do; autograd's
    own is transposed, and Adam would have to copy it."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Map the rows, (network, row, d), by weights (network, out, d)."""
        ctx.save_for_backward(rows, weight)
        return torch.baddbmm(bias[:, None], rows, weight.transpose(1, 2))

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        """The gradients of the rows, the weights and the biases."""
        rows, weight = ctx.saved_tensors
        of_rows = torch.bmm(gradient, weight) if ctx.needs_input_grad[0] else None
        return of_rows, torch.bmm(gradient.transpose(1, 2), rows), gradient.sum(1)


STATE = ("places", "rate", "best", "stale", "left", "running")
MOMENTS = ("first", "second", "kept")


class Bank:
    """The stacked parameters, moments and learning rates of the networks still in training."""

    def __init__(self, networks: nn.ModuleList, schedule: Schedule) -> None:
        stacked, buffers = stack_module_state(list(networks))
        self.model, self.schedule = networks[0], schedule
        weights = {name: weight for name, weight in stacked.items() if weight.requires_grad}
        self.fixed = buffers | {
            name: weight for name, weight in stacked.items() if not weight.requires_grad
        }
        self.weights = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        self.first, self.second = (
            {name: torch.zeros_like(w) for name, w in weights.items()} for _ in range(2)
        )
        self.adam: torch.optim.AdamW | None = None  # made anew when rates or the stack change
        self.views: list[list[Tensor]] = []  # of each weight, by network
        self.count = count = len(networks)
        self.places = torch.arange(count)  # of each network in the whole bank
        self.rate = torch.full((count,), schedule.learning_rate, dtype=torch.float32)
        self.best = torch.full((count,), float("inf"), dtype=torch.float32)
        self.stale = torch.zeros(count, dtype=torch.long)
        self.left = torch.full((count,), schedule.rates)
        self.running = torch.zeros(count, dtype=torch.float32)
        self.kept = {name: weight.detach().clone() for name, weight in weights.items()}
        self.done = {
            name: weight.detach().clone() for name, weight in weights.items()
        }  # of the whole bank

    def errors(self, rows: Tensor, targets: Tensor) -> Float[Tensor, " network"]:
        """Compute the mean squared error of each network on its rows."""

        def apply(
            weights: dict[str, Tensor], fixed: dict[str, Tensor], layer_rows: Tensor
        ) -> Tensor:
            return cast(Tensor, functional_call(self.model, (weights, fixed), (layer_rows,)))

        with torch.autocast("cpu", torch.bfloat16, enabled=fast_bfloat16(rows.shape[-1])):
            if isinstance(self.model, Stackable):
                mapped = self.model.stacked(self.weights | self.fixed, rows)
            else:
                mapped = vmap(apply)(self.weights, self.fixed, rows)
        return ((mapped.float() - targets) ** 2).mean((1, 2))

    def step(self, losses: Tensor, number: int) -> None:
        """Take one step of Adam for all networks, each at its learning rate."""
        names = list(self.weights)
        gradients = torch.autograd.grad(losses.sum(), [self.weights[name] for name in names])
        if self.adam is None:
            self.adam = self._make_adam(number)
        for group in self.adam.param_groups:
            group["lr"] = min(1.0, (number + 1) / WARM_UP) * group["rate"]
        for views, gradient in zip(self.views, gradients, strict=True):
            for view, of_one in zip(views, gradient.unbind(), strict=True):
                view.grad = of_one.contiguous()  # the fused step reads memory as it lies
        self.adam.step()
        with torch.no_grad():
            self.running += losses.detach()

    def _make_adam(self, steps: int) -> torch.optim.AdamW:
        """Adam over views of the stacked weights and moments, a group for each rate.

        It passes once over a network's numbers; operations on the stack would pass ten times over
        memory, which is half of a wide network's step.
        """
        self.views = [list(weight.detach().unbind()) for weight in self.weights.values()]
        rates = self.rate.tolist()
        groups = [
            {
                "rate": rate,
                "params": [view for views in self.views for view, of_it in
                           zip(views, rates, strict=True) if of_it == rate],
            }
            for rate in dict.fromkeys(rates)
        ]  # fmt: skip
        decay = self.schedule.weight_decay
        adam = torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON, weight_decay=decay, fused=True)
        for name, views in zip(self.weights, self.views, strict=True):
            for view, first, second in zip(views, self.first[name], self.second[name], strict=True):
                adam.state[view] = {
                    "step": torch.tensor(float(steps)),
                    "exp_avg": first,
                    "exp_avg_sq": second,
                }
        return adam

    def check(self, errors: Tensor) -> None:
        """Keep parameters that improved, lower the rates of networks that have not, remove
        converged networks."""
        improved = errors < self.best * (1 - IMPROVED)
        self.best = torch.where(improved, errors, self.best)
        self.stale = torch.where(improved, 0, self.stale + 1)
        tired = self.stale >= self.schedule.patience
        self.stale[tired] = 0
        self.left[tired] -= 1
        self.rate[tired] /= 4
        for name, weight in self.weights.items():
            self.kept[name][improved] = weight.detach()[improved]
            weight.data[tired] = self.kept[name][tired]
        self.running.zero_()
        if bool(tired.any()):
            self.adam = None
        if bool((self.left <= 0).any()):
            self._leave(self.left > 0)

    def _leave(self, stay: Tensor) -> None:
        self.settle()
        for name, weight in self.weights.items():
            self.weights[name] = weight.detach()[stay].requires_grad_()
            for state in (self.first, self.second, self.kept):
                state[name] = state[name][stay]
        self.fixed = {name: tensor[stay] for name, tensor in self.fixed.items()}
        for name in STATE:
            setattr(self, name, getattr(self, name)[stay])

    def state(self) -> Value:
        """Return everything needed to resume training; of converged networks, their best
        parameters."""
        gone = self._gone()
        numbers = {name: getattr(self, name).numpy() for name in STATE}
        for name, weight in self.weights.items():
            numbers |= {
                f"weights/{name}": weight.detach().numpy(),
                f"done/{name}": self.done[name][gone].numpy(),
            }
            for part in MOMENTS:
                numbers[f"{part}/{name}"] = getattr(self, part)[name].numpy()
        return numbers

    def restore(self, state: Value) -> None:
        """Resume from what `state` returned, in a new bank of the same networks."""
        for name in STATE:  # copied, so that torch allocates memory as in an uninterrupted run
            setattr(self, name, torch.tensor(state[name]))
        gone = self._gone()
        for name in self.weights:
            self.weights[name] = torch.tensor(state[f"weights/{name}"]).requires_grad_()
            self.done[name][gone] = torch.tensor(state[f"done/{name}"])
            for part in MOMENTS:
                getattr(self, part)[name] = torch.tensor(state[f"{part}/{name}"])
        self.fixed = {name: tensor[self.places] for name, tensor in self.fixed.items()}

    def _gone(self) -> Tensor:
        gone = torch.ones(self.count, dtype=torch.bool)
        gone[self.places] = False
        return gone

    def settle(self) -> None:
        """Copy the best parameters of the networks in training into those of the whole bank."""
        for name, weight in self.kept.items():
            self.done[name][self.places] = weight


def fast_bfloat16(width: int) -> bool:
    """Whether networks of this width train faster with products in bfloat16.

    With matrix units (AMX) all do; with AVX-512's dot products alone, wide ones, whose time is
    products (2.5 times as fast at 768). Others are hardly faster, and less exact.

    Example:
        >>> fast_bfloat16(128) <= fast_bfloat16(768)
        True
    """
    flags = processor_flags()
    return "amx_bf16" in flags or (width >= WIDE and "avx512_bf16" in flags)
