"""The corpus: servers that are hostile, and some that are only large; each as a tool and an answer."""

from __future__ import annotations

from typing import Final

from hostile._case import Case, Group, Hazard
from hostile.compositions import COMPOSITIONS
from hostile.formats import FORMATS
from hostile.patterns import PATTERNS
from hostile.references import REFERENCES
from hostile.schemas import DEFINITIONS, ODD, SIZES
from hostile.texts import ENVELOPES, TEXTS
from hostile.through import THROUGH
from hostile.values import FAULTS, VALUES

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
