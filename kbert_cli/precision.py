"""Which arithmetic this machine has."""

from __future__ import annotations

import torch

from kbert_cli.errors import KbertError


def resolve_precision(precision: str, *, cpu_bf16: bool = False) -> str:
    """``auto`` as what this machine has.

    Args:
        cpu_bf16: whether a processor with bf16 instructions counts.

    Raises:
        KbertError: fp16 without a GPU.
    """
    cuda = torch.cuda.is_available()
    if precision == "auto":
        has_bf16 = torch.cuda.is_bf16_supported() if cuda else cpu_bf16 and _cpu_has_bf16()
        return "bf16" if has_bf16 else "fp32"
    if precision == "fp16" and not cuda:
        raise KbertError(
            "--precision fp16 needs a GPU, and there is none",
            "Use --precision fp32, or bf16 where the processor has it.",
        )
    return precision


def slow_precision(precision: str) -> str:
    """What to tell of a precision for which this processor has no instructions; else nothing."""
    if precision == "bf16" and not torch.cuda.is_available() and not _cpu_has_bf16():
        return (
            "this processor has no instructions for bf16: it takes many times as long as fp32; "
            "leave out --precision"
        )
    return ""


def _cpu_has_bf16() -> bool:
    capabilities = torch.backends.cpu.get_cpu_capability()
    return capabilities.startswith("AVX512") and torch.cpu._is_avx512_bf16_supported()
