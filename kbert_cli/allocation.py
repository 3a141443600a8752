"""Memory of the C library: keep big blocks instead of asking the system anew at each step."""

from __future__ import annotations

import ctypes
import sys

# Their numbers in glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_MIB = 1 << 20


def keep_freed_memory() -> None:
    """Let glibc keep what training frees (a step asks for the same again); elsewhere do nothing.

    Without this each activation of more than 128 KiB is a fresh mapping whose pages the system
    fills with zeros first.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    adjust(_MMAP_THRESHOLD, 32 * _MIB)
    adjust(_TRIM_THRESHOLD, 1024 * _MIB)
    adjust(_TOP_PAD, 64 * _MIB)
