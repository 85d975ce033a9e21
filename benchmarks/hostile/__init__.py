"""The corpus: servers that are hostile, or only large, each as a tool and an answer."""

from __future__ import annotations

from typing import Final

from hostile._case import Case, Group, Hazard
from hostile.patterns import FORMATS, PATTERNS
from hostile.schemas import COMPOSITIONS, DEFINITIONS, ODD, REFERENCES, SIZES
from hostile.values import ENVELOPE, EXPLAIN, TEXTS, THROUGH, VALUES

__all__ = ["GROUPS", "HAZARDS", "Case", "Group", "Hazard"]

GROUPS: Final = [THROUGH, PATTERNS, FORMATS, REFERENCES, COMPOSITIONS, SIZES, ODD, DEFINITIONS, VALUES, EXPLAIN, TEXTS, ENVELOPE]
HAZARDS: Final[dict[str, Hazard]] = {hazard.name: hazard for group in GROUPS for hazard in group.hazards}
