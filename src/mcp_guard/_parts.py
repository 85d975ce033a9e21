"""Puts small questions to the engine, of one keyword or one part of some documents; or answers without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_guard import _engine
from mcp_guard._dialects import Dialect
from mcp_guard._plain import Test, plain_test


class Parts:
    """The engine, to be asked about parts of some documents."""

    def __init__(self, dialect: Dialect, documents: Mapping[str, dict[str, Any]], *, formats: bool) -> None:
        self._dialect: Dialect = dialect
        self._formats = formats
        self._documents = documents
        self._installed = _engine.available()
        self._registry: Any = None
        self.made = 0
        """The tests that the engine made: each holds all of the schema that it can lead to."""

    def test(self, schema: dict[str, Any]) -> Test | None:
        """The test of a schema that may point into the documents; `None` where the engine can't be asked."""
        if not self._installed:
            return None
        try:
            return self._pointing(schema)
        except BaseException as error:  # noqa: BLE001  # whatever it is: a question that can't be put
            _engine.contain(error)
            return None

    def keyword(self, keyword: str, asked: Any) -> Test:
        """The test of one keyword without subschemas."""
        plain = plain_test(keyword, asked, self._dialect)
        if not self._installed:
            return plain
        self.made += 1
        try:
            decide = _engine.decider({keyword: asked}, self._dialect, formats=self._formats)
        except _engine.CannotCompile:  # a number of thousands of digits, for one
            return plain

        def test(value: Any) -> bool:
            try:
                return decide(value)
            except _engine.CannotDecide:  # the same, in the value
                return plain(value)

        return test

    def _pointing(self, schema: dict[str, Any]) -> Test:
        # past `_engine.decider`, which reads all documents anew for each schema, and guards each call
        import jsonschema_rs

        self.made += 1
        name = _engine._VALIDATORS[self._dialect]  # noqa: SLF001  # the other half of the engine
        if self._registry is None:
            draft = getattr(jsonschema_rs, name.removesuffix("Validator"))
            self._registry = jsonschema_rs.Registry(list(self._documents.items()), draft=draft)
        validator = getattr(jsonschema_rs, name)(
            schema,
            validate_formats=self._formats,
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_engine.BACKTRACKING),
            registry=self._registry,
        )
        test: Test = validator.is_valid
        return test
