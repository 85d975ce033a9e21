"""Puts small questions to the engine, of one keyword or one part of some documents; or answers without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_guard import _engine
from mcp_guard._dialects import Dialect
from mcp_guard._exact import KEYWORDS, Test
from mcp_guard._panic import contain
from mcp_guard._patterns import PatternCost
from mcp_guard._plain import Priced, exact_test, plain_test
from mcp_guard._roles import NANOSECONDS


class Parts:
    """The engine, to be asked about parts of some documents.

    With as much backtracking as the whole was allowed, and numbers as `exact` as they were there.
    """

    def __init__(
        self,
        dialect: Dialect,
        documents: Mapping[str, dict[str, Any]],
        *,
        formats: bool,
        exact: bool = False,
        backtracking: int = _engine.BACKTRACKING,
    ) -> None:
        self._dialect: Dialect = dialect
        self._formats = formats
        self._exact = exact
        self._backtracking = backtracking
        self._documents = documents
        self._registry: Any = None
        self.installed = _engine.available()
        """Whether there is an engine."""
        self.made = 0
        """The tests that the engine made: each holds all of the schema that it can lead to."""

    def test(self, schema: dict[str, Any]) -> Test | None:
        """The engine's test of a schema that may point into the documents; `None` where it can't be asked."""
        self.made += 1
        try:
            if self._registry is None:
                self._registry = _engine.registry(self._documents, self._dialect)
            return self._decider(schema).fits
        except BaseException as error:  # noqa: BLE001  # whatever it is: a question that can't be put
            contain(error)
            return None

    def keyword(self, keyword: str, asked: Any) -> Priced:
        """The test of one keyword without subschemas. It raises `CannotDecide` where backtracking may have ended it."""
        if keyword in KEYWORDS:
            return exact_test(keyword, asked)
        if not self.installed:
            return plain_test(keyword, asked, self._dialect)
        self.made += 1
        decide = self._decider({keyword: asked})
        return Priced(lambda value: decide(value, asking=True))

    def backtracked(self, pattern: PatternCost, length: int) -> int:
        """Units of `_roles` that holding a text of that length against a pattern that has to backtrack may take."""
        first, again = (
            sum(int(each * (length + 1) ** power) for power, each in powers if power)
            for powers in (pattern.first, pattern.again)
        )
        return (first + self._backtracking * (_engine.PER_STEP + again)) // NANOSECONDS

    def _decider(self, schema: dict[str, Any]) -> _engine.Decider:
        return _engine.Decider(
            schema,
            self._dialect,
            formats=self._formats,
            known=self._registry,
            backtracking=self._backtracking,
            exact=self._exact,
        )
