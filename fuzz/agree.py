"""The comparison with plain `jsonschema`, as a target: the fuzzer's bytes are hypothesis's choices."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

import test_fuzz

_CHOSEN: Final = given(case=test_fuzz.cases(), engine=st.sampled_from(test_fuzz.ENGINES))
_judged_alike: Any = settings(database=None, deadline=None)(_CHOSEN(test_fuzz.judge_alike))


def agree(data: bytes) -> None:
    """What fits and what does not is what jsonschema says."""
    _judged_alike.hypothesis.fuzz_one_input(data)
