"""What can be made of a JSON-RPC frame that the SDK can't parse. No I/O; of a hostile frame nothing is raised."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Final, final

import pydantic

from mcp_guard._facts import is_array, is_object
from mcp_guard._sdk import Answer, PeerError, Unparsable

_DIGITS: Final = 4300  # as many as Python itself converts unless told otherwise: more take quadratic time
_RECURSION: Final = 10_000  # a C stack holds some more levels of Python's parser
# a string that never ends is one token to the end of the text: else each quote in it would be tried as a beginning
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_ID: Final = re.compile(r'\s*:\s*("[^"\\]*"|[0-9]+)')
_COLON: Final = re.compile(r"\s*:")


@final
@dataclass(frozen=True, slots=True)
class Unread:
    """A frame that can't be read at all: its id, where it has one, and why it can't."""

    id: int | None
    why: str
    text: str = field(repr=False)


class _TooLongError(Exception):
    """An integer has more digits than are converted."""


def request_id(value: object) -> int | None:
    """An id as the SDK tells requests apart: its own are numbers, and may come back as text."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def frames_in(exc: Exception) -> list[Any]:
    """The frame that cost this exception of the SDK's parser, or those of a batch; none where it does not tell."""
    if not isinstance(exc, pydantic.ValidationError):
        return []
    for error in exc.errors(include_url=False, include_context=False):
        given: Any = error["input"]
        if error["type"] == "json_invalid":
            given = _read(given)
        elif is_object(given) and error["type"] == "missing":
            _, *inside = error["loc"]  # of the union's members, the one that was tried
            if len(inside) != 1:
                continue  # a part of the frame
        elif not is_array(given):
            continue
        return given if is_array(given) else [given]
    return []


def _read(text: str | bytes) -> Any:
    """The frame in a text that is not strict JSON, or more than the SDK's parser takes."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        # Python stops its parser at its recursion limit; where the program has raised that, nothing else does
        if sys.getrecursionlimit() > _RECURSION and text.count("[") + text.count("{") > _RECURSION:
            return Unread(_id_in(text), "too_deep", text)
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        return Unread(_id_in(text), "too_deep", text)  # type: ignore[arg-type]  # decoded by then
    except _TooLongError:
        return Unread(_id_in(text), "unparsable", text)  # type: ignore[arg-type]  # the same
    except ValueError:
        return None


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise _TooLongError
    return int(digits)


def _id_in(text: str) -> int | None:
    """The id of the answer in this text; `None` where it has none, or is no answer."""
    level, found = 0, None
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                level += 1
            case "}" | "]":
                level -= 1
            case '"method"' if level == 1 and _COLON.match(text, token.end()):
                return None
            case '"id"' if level == 1 and (value := _ID.match(text, token.end())):
                found = request_id(json.loads(value[1], parse_int=str))
            case _:
                pass
    return found


def with_both(frame: Any, line: str) -> dict[str, Any] | None:
    """The frame as it was sent, where it has both a result and an error: the SDK takes one of them at random.

    On 1.x the SDK's model keeps the other one; on 2.x only the line has it.
    """
    result, error = getattr(frame, "result", None), getattr(frame, "error", None)
    if result is not None and error is not None:
        error = error.model_dump() if isinstance(error, pydantic.BaseModel) else error
        return {"jsonrpc": "2.0", "id": frame.id, "result": result, "error": error}
    if '"result"' not in line or '"error"' not in line:
        return None
    sent = _read(line)
    if not is_object(sent) or request_id(sent.get("id")) != request_id(frame.id):
        return None
    return sent if sent.get("result") is not None and sent.get("error") is not None else None


def understood(frame: dict[str, Any] | Unread, cause: Exception | None) -> Answer | PeerError | Unparsable:
    """What an answer amounts to that the SDK could not parse."""
    if isinstance(frame, Unread):
        return Unparsable((frame.why,), frame.text, cause)
    result, error = frame.get("result"), _peer_error(frame.get("error"))
    answer = Answer(result, result) if "result" in frame else error
    one_of_both = ("result" in frame) is (frame.get("error") is None)
    has_words = not isinstance(answer, PeerError) or isinstance(frame["error"].get("message"), str)
    if answer is not None and frame.get("jsonrpc") == "2.0" and one_of_both and has_words:
        return answer
    return Unparsable(("not_jsonrpc",), result if "result" in frame else frame, cause, answer)


def _peer_error(error: Any) -> PeerError | None:
    if not is_object(error) or not isinstance(error.get("code"), int) or isinstance(error["code"], bool):
        return None
    message = error.get("message")
    return PeerError(error["code"], message if isinstance(message, str) else "", error.get("data"))
