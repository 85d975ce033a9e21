"""Decides whether a value fits a schema, by jsonschema-rs. The only module that knows it; compiles, and no more."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_guard._dialects import URIS, Dialect

Decider = Callable[[Any], bool]

BACKTRACKING: Final = 10_000
"""Steps that a pattern with look-around or back references may take on one string, about 20 ns each on a short one.
jsonschema-rs takes a string on which they do not suffice for one that does not match, and the value as not fitting,
also under `not`: what conforms has been shown to."""

_NAMELESS: Final = "json-schema:///"
"""What jsonschema-rs calls a schema that has no name."""

_VALIDATORS: Final[dict[Dialect, str]] = {
    "draft4": "Draft4Validator",
    "draft6": "Draft6Validator",
    "draft7": "Draft7Validator",
    "draft2019-09": "Draft201909Validator",
    "draft2020-12": "Draft202012Validator",
}


class CannotCompile(Exception):  # noqa: N818  # becomes a fact
    """The engine does not take the schema; `path` is where in the schema, as far as it says."""

    def __init__(self, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(path)
        self.path = path


class CannotDecide(Exception):  # noqa: N818  # becomes a fact
    """The engine gave no answer."""


def available() -> bool:
    """Whether jsonschema-rs is installed."""
    return importlib.util.find_spec("jsonschema_rs") is not None


def decider(
    schema: dict[str, Any],
    dialect: Dialect,
    *,
    formats: bool,
    resources: Mapping[str, dict[str, Any]] | None = None,
    backtracking: int = BACKTRACKING,
    asking: bool = True,
) -> Decider:
    """A function that tells whether a JSON value fits. It nests no deeper than `Limits.depth`, and is plain JSON.

    With less `backtracking` than usual it raises `CannotDecide` where that did not suffice; without `asking`, where it
    may not have. Asking takes the engine minutes where `propertyNames` has such a pattern.

    Raises:
        CannotCompile: The engine does not take the schema.
    """
    import jsonschema_rs  # the heavy import waits

    registry: Any = None
    try:
        if resources:  # a document may refer back to the schema, by whatever that or a part of it calls itself
            known = [*resources.items(), (_NAMELESS, {"$schema": URIS[dialect], **schema})]
            registry = jsonschema_rs.Registry(known)
        validator = getattr(jsonschema_rs, _VALIDATORS[dialect])(
            schema,
            validate_formats=formats,
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=backtracking),
            registry=registry,
        )
    except jsonschema_rs.ValidationError as error:
        # found by the metaschema, whose instance is the schema
        raise CannotCompile(tuple(error.instance_path)) from None
    except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
        contain(error)
        raise CannotCompile from None

    def decide(value: Any) -> bool:
        unsure = False
        try:
            fits: bool = validator.is_valid(value)
            unsure = not fits and backtracking < BACKTRACKING
            if unsure and asking:
                validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded):
                raise CannotDecide from None
            return False
        except BaseException as error:  # noqa: BLE001  # a Rust panic is one; `contain` lets the rest go on
            contain(error)
            raise CannotDecide from None
        if unsure and not asking:
            raise CannotDecide
        return fits

    return decide


def contain(error: BaseException) -> None:
    """Let through what stops a program; a Rust panic is a `BaseException` too, and is a mere failure.

    Raises:
        BaseException: `error` itself, where it is no `Exception` and no panic.
    """
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
