"""The corpus: servers that are hostile, and some that are only large; each as a tool and an answer."""

from __future__ import annotations

from typing import Final

from benchmarks.hostile._case import Case, Group, Hazard
from benchmarks.hostile.compositions import COMPOSITIONS
from benchmarks.hostile.formats import FORMATS
from benchmarks.hostile.patterns import PATTERNS
from benchmarks.hostile.references import REFERENCES
from benchmarks.hostile.schemas import DEFINITIONS, ODD, SIZES
from benchmarks.hostile.texts import ENVELOPES, TEXTS
from benchmarks.hostile.through import THROUGH
from benchmarks.hostile.values import FAULTS, VALUES

__all__ = ["GROUPS", "HAZARDS", "Case", "Group", "Hazard"]

GROUPS: Final = [
    THROUGH,
    PATTERNS,
    FORMATS,
    REFERENCES,
    COMPOSITIONS,
    SIZES,
    ODD,
    DEFINITIONS,
    VALUES,
    FAULTS,
    TEXTS,
    ENVELOPES,
]
HAZARDS: Final[dict[str, Hazard]] = {hazard.name: hazard for group in GROUPS for hazard in group.hazards}
