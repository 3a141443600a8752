"""Muon for the matrices between layers, AdamW for everything else, as one optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim import AdamW, Muon, Optimizer

BETAS = (0.9, 0.98)
"""AdamW's; a shorter memory than usual suits small batches."""


class MatrixOptimizer(Optimizer):
    """Muon (Jordan et al. 2024) on the encoder's weight matrices, AdamW on the rest.

    Embeddings, biases, norms and output layers stay with AdamW, as Muon's authors advise.
    """

    def __init__(self, model: Any, *, matrix_rate: float, rate: float, weight_decay: float) -> None:
        """Split the weights of a Hugging Face model with heads.

        Args:
            matrix_rate: Muon's rate; the spectral norm of a step is about this.
            rate: AdamW's.
        """
        matrices = [weight for weight in model.base_model.encoder.parameters() if weight.ndim == 2]
        taken = {id(weight) for weight in matrices}
        others = [weight for weight in model.parameters() if id(weight) not in taken]
        groups: list[dict[str, Any]] = [
            {"params": [weight for weight in others if weight.ndim > 1]},
            {"params": [weight for weight in others if weight.ndim == 1], "weight_decay": 0.0},
        ]
        self._parts = (
            Muon(matrices, lr=matrix_rate, weight_decay=weight_decay),
            AdamW(groups, lr=rate, betas=BETAS, weight_decay=weight_decay, fused=True),
        )
        super().__init__(self._groups(), {})
        self._share()

    def _groups(self) -> list[dict[str, Any]]:
        return [group for part in self._parts for group in part.param_groups]

    def _share(self) -> None:
        # A scheduler writes rates into these groups, and the parts read them there.
        self.param_groups = self._groups()

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step of both."""
        assert closure is None
        for part in self._parts:
            part.step()  # type: ignore[no-untyped-call]

    def state_dict(self) -> dict[str, Any]:
        """Both parts' states."""
        return {"parts": [part.state_dict() for part in self._parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The inverse of ``state_dict``."""
        for part, state in zip(self._parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self._share()
