"""The comparison with plain `jsonschema`, as a target: the fuzzer's bytes are hypothesis's choices."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import test_fuzz


@settings(database=None, deadline=None)
@given(case=test_fuzz.cases(), engine=st.sampled_from(test_fuzz.ENGINES))
def _judged_alike(case: test_fuzz.Case, engine: str) -> None:
    test_fuzz.test_what_fits_and_what_does_not_is_what_jsonschema_says.hypothesis.inner_test(case=case, engine=engine)


def agree(data: bytes) -> None:
    """What fits and what does not is what jsonschema says."""
    _judged_alike.hypothesis.fuzz_one_input(data)
