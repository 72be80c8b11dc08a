"""PyTorch: linear maps whose derivative is their adjoint. Imported when a tensor asks for a derivative."""
from __future__ import annotations

from typing import Any, Callable

import torch


class _Linear(torch.autograd.Function):  # type: ignore[misc]
    """y = A x. PyTorch's gradient of complex numbers is that of the conjugate, so it is A^H of the result's."""

    @staticmethod
    def forward(ctx: Any, apply: Callable[[Any, Any, int], Any], which: int, x: Any) -> Any:
        ctx.linear_map, ctx.which, ctx.was_complex, ctx.dtype = apply, which, x.is_complex(), x.dtype
        return apply(x.detach().contiguous(), None, which)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        back = {0: 1, 1: 0, 2: 2}[ctx.which]
        grad = _Linear.apply(ctx.linear_map, back, grads[0])
        return None, None, (grad if ctx.was_complex else grad.real).to(ctx.dtype)


def apply_linear(apply: Callable[[Any, Any, int], Any], x: Any, out: Any, which: int) -> Any:
    """`apply(x, None, which)` with a derivative; which: 0 forward, 1 adjoint, 2 normal."""
    if out is not None:
        raise ValueError("out cannot be given with a tensor that asks for a derivative")
    return _Linear.apply(apply, which, x)
