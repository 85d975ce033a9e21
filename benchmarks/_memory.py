"""How much memory this process has, by the operating system's own figure."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_COUNTER: Final = Path("/proc/self/clear_refs")


def resident() -> int:
    """The most memory that this process had, in bytes, since `forget`; 0 where the system does not tell."""
    lines = _STATUS.read_text("ascii").splitlines() if _STATUS.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def forget() -> None:
    """Begin to count anew."""
    gc.collect()
    if _COUNTER.exists():
        _COUNTER.write_text("5")
