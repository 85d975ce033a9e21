"""`into=`: turns data into the type that the caller asks for. The caller's own demand, made of pydantic's JSON mode."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast, final

import pydantic

from mcp_guard import _text, _words
from mcp_guard._facts import Violation, is_array, is_object, json_type
from mcp_guard._json import NotJson, Room, parse_json
from mcp_guard.policy import Limits

T = TypeVar("T")
_KEPT: Final = 20
_ANYTHING: Final[pydantic.TypeAdapter[Any]] = pydantic.TypeAdapter(Any)


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a value is not what the caller asked for."""

    violations: tuple[Violation, ...]
    cause: Exception


@final
class Into(Generic[T]):
    """A type or function of the caller's, ready to take values.

    Raises:
        TypeError: It is neither a type that pydantic knows nor a function.
    """

    def __init__(self, wanted: object) -> None:
        self._function: Callable[[Any], T] | None = None
        self._adapter: pydantic.TypeAdapter[T] | None = None
        if inspect.iscoroutinefunction(wanted):
            raise TypeError("into= takes a plain function of the value, not an async one")
        if inspect.isroutine(wanted) or isinstance(wanted, functools.partial):
            self._function = cast("Callable[[Any], T]", wanted)
            return
        try:
            self._adapter = pydantic.TypeAdapter(cast("Any", wanted))
            if not self._adapter.pydantic_complete:  # a name in it is not known yet
                self._adapter.rebuild()
        except Exception as exc:
            raise TypeError(
                f"into= takes a type that pydantic's TypeAdapter takes (a model, dataclass, TypedDict, union, "
                f"list[Model] ...) or a plain function of the value; it can't take {wanted!r}: "
                + str(exc).partition("\n")[0]
            ) from exc

    def take(self, value: Any, declared: frozenset[str]) -> tuple[T | None, Misfit | None]:
        """The value as `T`, or why it is none."""
        try:
            if self._adapter is None:
                return cast("Callable[[Any], T]", self._function)(value), None
            return self._adapter.validate_json(_ANYTHING.dump_json(value)), None
        except Exception as exc:  # noqa: BLE001  # whatever it does not like, the value does not fit it
            if self._adapter is not None and isinstance(exc, pydantic.ValidationError):
                return None, Misfit(_violations(exc, declared | _names(_json_schema(self._adapter))), exc)
            says = f"is refused by what was given as into= ({type(exc).__name__})"
            place = Violation("", "", "type", None, json_type(value), value, "", says)
            return None, Misfit((place,), exc)

    def read(self, texts: Sequence[str], limits: Limits) -> Any:
        """The one reading of the text blocks that `T` takes; the text itself where there is none."""
        text = "\n".join(texts)
        if self._adapter is None:
            try:
                return parse_json(text, limits)
            except NotJson:
                return text
        read = _text.read(texts, _Asked(self._adapter), "readings", formats=False, room=Room(limits))
        match read:
            case _text.Reading(value=value) | _text.Unfit(value=value):
                return value
            case _text.Unread():
                return text


def _violations(exc: pydantic.ValidationError, declared: frozenset[str]) -> tuple[Violation, ...]:
    return tuple(
        Violation(
            pointer=_words.pointer(error["loc"]),
            schema_pointer="",
            keyword=error["type"],
            expected=None,
            found=json_type(error["input"]),
            value=error["input"],
            shown=_words.shown_pointer(error["loc"], declared),
            says=f"is refused by the type ({_words.name(error['type'])}{_wrapping(error, declared)})",
        )
        for error in exc.errors(include_url=False, include_context=False)[:_KEPT]
    )


def _wrapping(error: Mapping[str, object], declared: frozenset[str]) -> str:
    """A hint where the data may be wrapped, as the SDK's servers do it without a word."""
    whole: object = error["input"]
    if error["loc"] or not is_object(whole) or len(whole) != 1:
        return ""
    (name,) = whole
    return f"; its one member is {_words.name(name) if name in declared else '*'}"


class _Asked:
    """A type, in the way the text readings ask a schema."""

    def __init__(self, adapter: pydantic.TypeAdapter[Any]) -> None:
        self._adapter = adapter
        self.schema: dict[str, Any] = _json_schema(adapter)

    def is_valid(self, value: Any, *, formats: bool = False) -> bool:  # noqa: ARG002  # pydantic has its own
        try:
            self._adapter.validate_json(_ANYTHING.dump_json(value))
        except Exception:  # noqa: BLE001  # a validator of the caller's may raise anything
            return False
        return True


def _json_schema(adapter: pydantic.TypeAdapter[Any]) -> dict[str, Any]:
    try:
        return adapter.json_schema()
    except pydantic.PydanticUserError:  # some types have none
        return {}


def _names(schema: Any) -> frozenset[str]:
    """All property names in the JSON Schema of the caller's own type."""
    names: set[str] = set()
    parts: list[Any] = [schema]
    while parts:
        part = parts.pop()
        if is_object(part):
            properties = part.get("properties")
            names.update(properties if is_object(properties) else ())
            parts += part.values()
        elif is_array(part):
            parts += part
    return frozenset(names)
