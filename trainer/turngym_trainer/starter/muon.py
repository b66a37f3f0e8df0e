"""Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks") in float32.

PyTorch has the same optimizer, but orthogonalises in bfloat16, which a CPU without bfloat16 units emulates: measured on one
core, that took four times as long as the whole forward and backward pass of a starter. Only what a starter needs is here.
"""

from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the quintic iteration, from the source above
ITERATIONS = 5


def orthogonal(matrix: Tensor) -> Tensor:
    """Nearly the closest semi-orthogonal matrix, by five Newton-Schulz iterations: singular values come to about 1.

    :param matrix: (rows, columns), float32.
    """
    first, second, third = COEFFICIENTS
    wide = matrix if matrix.size(0) <= matrix.size(1) else matrix.T
    wide = wide / wide.norm().clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=second, alpha=third), wide, beta=first)
    return wide if matrix.size(0) <= matrix.size(1) else wide.T


class Muon(torch.optim.Optimizer):
    """Momentum whose every update is made orthogonal. For matrices only; embeddings and vectors want another optimizer."""

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update with Nesterov momentum; a tall matrix takes a longer step, by the root of rows over columns."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                average = state.setdefault("momentum", torch.zeros_like(parameter))
                average.lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonal(parameter.grad.lerp(average, group["momentum"]))
                rows, columns = parameter.shape
                parameter.add_(update, alpha=-group["lr"] * max(1.0, rows / columns) ** 0.5)
        return loss
