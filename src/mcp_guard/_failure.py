"""Reads what a tool says about its own failure: machine-made payloads only. Prose is never guessed at. Never raises.

A payload is the structured content, or the JSON of the one text block. The error is looked for where people put it: in
`error` or `detail` (an object, or one word), in its `data`, `details` or `extensions`, and at the top. When to come
back is a number of seconds, a duration, or a date. There is no clock here, so a date stays one (`retry_at`).
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mcp_guard import _waiting
from mcp_guard._facts import ToolFailure, is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_guard._result import ToolResult


def read_failure(result: ToolResult) -> ToolFailure:
    """What a result says of a failure, whether or not it is one: the reading that stands where no reader is given.

    Of the machine-made payload it takes the kind, whether it is worth another try, when, and a request id; the text
    stays as it is, and where there is none, the payload's message stands in.
    """
    payload, texts = result.payload, result.texts
    places = _places(payload)
    text = "\n".join(texts)
    wait = next((time for place in places for time in _times(place) if time is not None), None)
    return ToolFailure(
        text=text if text.strip() else next(_strings(places, (*_MESSAGE, *_ERROR)), text),
        payload=payload,
        kind=_kind(payload, places),
        retryable=next((v for v in _values(places, _RETRYABLE) if isinstance(v, bool)), None),
        retry_after=None if isinstance(wait, datetime) else wait,
        retry_at=wait if isinstance(wait, datetime) else None,
        request_id=next(_ids(places), None),
    )


def failure_of(result: ToolResult) -> ToolFailure | None:
    """The failure that a result says to be, by `isError` alone."""
    return read_failure(result) if result.is_error else None


# --- where to look


def _spellings(*names: str) -> tuple[str, ...]:
    """Each name in snake_case, camelCase, PascalCase, kebab-case, Header-Case and upper case."""
    spelt: dict[str, None] = {}
    for name in names:
        words = name.split("_")
        pascal = "".join(word.capitalize() for word in words)
        header = "-".join(word.capitalize() for word in words)
        camel = pascal[0].lower() + pascal[1:]
        spelt |= dict.fromkeys((name, camel, pascal, "-".join(words), header, name.upper()))
    return tuple(spelt)


_ERROR: Final = _spellings("error")
_ERRORS: Final = _spellings("errors")
_DETAIL: Final = _spellings("detail")
_INNER: Final = _spellings("data", "details", "extensions")
_GOOGLE: Final = "type.googleapis.com/google.rpc."
_DETAILS: Final = 20  # the standard has ten kinds of them, each at most once
_MESSAGE: Final = (*_spellings("message", "error_message"), "msg", "detail")
_RETRYABLE: Final = _spellings("retryable", "is_retryable", "retriable", "can_retry")
_RETRY_AFTER: Final = _spellings(
    "retry_after", "retry_after_seconds", "retry_after_secs", "retry_after_sec", "retry_after_s", "retry_at"
)
_RETRY_AFTER_MS: Final = _spellings("retry_after_ms", "retry_after_millis", "retry_after_milliseconds")
_RETRY_DELAY: Final = _spellings("retry_delay")  # of google.rpc.RetryInfo
_REQUEST_ID: Final = (*_spellings("request_id", "x_request_id", "correlation_id", "trace_id"), "requestID", "traceID")
_KIND: Final = _spellings(
    "kind", "error_kind", "code", "error_code", "err_code", "error_type", "error_name", "error_category"
)
_TYPE: Final = (*_spellings("type", "name", "reason", "category", "status"), "__type")
_STATUS: Final = _spellings(
    "code", "status", "status_code", "http_status", "http_status_code", "http_code", "error_code", "error"
)


def _get(place: dict[str, Any], names: tuple[str, ...]) -> Iterator[Any]:
    return (place[name] for name in names if name in place)


def _places(payload: object) -> list[dict[str, Any]]:
    """The objects that may tell about the error: the error itself, what it holds, the payload."""
    if not is_object(payload):
        return []
    places: list[dict[str, Any]] = []
    several = next(_get(payload, _ERRORS), None)
    errors = [*_get(payload, _ERROR), *(several if is_array(several) and len(several) == 1 else ())]
    error = next((e for e in (*errors, *_get(payload, _DETAIL)) if is_object(e)), None)
    if error is not None:
        places.append(error)
        for inner in _get(error, _INNER):
            places += [inner] if is_object(inner) else _typed(inner)
    return [*places, payload]


def _typed(details: object) -> list[dict[str, Any]]:
    """Of a list of details those that say what they are in the standard way (AIP-193, Error model)."""
    if not is_array(details):
        return []
    named = ((each, each.get("@type")) for each in details[:_DETAILS] if is_object(each))
    return [each for each, name in named if isinstance(name, str) and name.startswith(_GOOGLE)]


def _values(places: list[dict[str, Any]], names: tuple[str, ...]) -> Iterator[Any]:
    return (value for place in places for value in _get(place, names))


def _strings(places: list[dict[str, Any]], names: tuple[str, ...]) -> Iterator[str]:
    return (value for value in _values(places, names) if isinstance(value, str) and value.strip())


# --- what went wrong

_SYNONYMS: Final[dict[str, str]] = {
    name: kind
    for kind, names in {
        "invalid_arguments": """
            invalid_argument invalid_input invalid_parameter invalid_parameters invalid_params
            invalid_request invalid_value bad_request bad_argument bad_arguments bad_input bad_parameter
            validation validation_failed validation_exception input_validation schema_validation
            missing_argument missing_parameter missing_required_parameter unprocessable
            unprocessable_entity unprocessable_content illegal_argument malformed_request out_of_range
        """,
        "authentication_failed": """
            authentication auth auth_failed auth_required unauthorized unauthorised unauthenticated
            not_authenticated not_authed authentication_required login_required not_logged_in
            invalid_auth invalid_token token_expired expired_token invalid_credentials bad_credentials
            invalid_api_key missing_api_key invalid_grant
        """,
        "authorization_denied": """
            authorization forbidden access_denied permission_denied not_authorized not_permitted
            not_allowed authorization_failed insufficient_permissions insufficient_permission
            insufficient_scope missing_scope no_permission unauthorized_access permission
        """,
        "not_found": """
            no_such_entity no_such_key no_such_file resource_not_found entity_not_found file_not_found
            object_not_found item_not_found record_not_found does_not_exist missing_resource gone
            resource_missing enoent
        """,
        "resource_state_conflict": """
            conflict state_conflict resource_conflict already_exists duplicate aborted locked
            resource_locked version_conflict concurrent_modification precondition_failed
            failed_precondition invalid_state illegal_state edit_conflict optimistic_lock_failed
        """,
        "network_timeout": """
            timeout time_out timed_out request_timeout request_timed_out connection_timeout
            connect_timeout read_timeout gateway_timeout upstream_timeout deadline_exceeded etimedout
            operation_timeout
        """,
        "rate_limited": """
            rate_limit ratelimited ratelimit rate_limit_exceeded rate_limit_reached rate_exceeded
            rate_limiting_error too_many_requests throttled throttling throttle request_throttled
            quota_exceeded resource_exhausted slow_down limit_exceeded
        """,
        "unavailable": """
            service_unavailable temporarily_unavailable temporary_unavailable server_unavailable
            backend_unavailable overloaded server_busy busy offline maintenance under_maintenance
            connection_refused econnrefused
        """,
        "upstream_error": """
            upstream upstream_failure upstream_failed bad_gateway internal internal_error
            internal_server_error internal_failure server_error backend_error dependency_failed
            dependency_error failed_dependency external_service_error network network_error
            connection_error connection_failed connection_reset econnreset
        """,
    }.items()
    for name in (kind, *names.split())
}
_SHORT: Final = {name.replace("_", ""): kind for name, kind in _SYNONYMS.items()}
_NO_KINDS: Final = frozenset(
    {"error", "err", "errors", "fail", "failed", "failure", "ok", "ko", "nok", "true", "false", "none", "null"}
)
_HTTP: Final = {
    400: "invalid_arguments",
    401: "authentication_failed",
    403: "authorization_denied",
    404: "not_found",
    408: "network_timeout",
    409: "resource_state_conflict",
    410: "not_found",
    412: "resource_state_conflict",
    422: "invalid_arguments",
    423: "resource_state_conflict",
    429: "rate_limited",
    503: "unavailable",
    504: "network_timeout",
}
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.:/-][A-Za-z0-9]+)*")
_LONGEST: Final = 100  # what is longer is no name of a kind


def _kind(payload: object, places: list[dict[str, Any]]) -> str | None:
    """The first of: a field that names the kind, a word in a field that often does, an HTTP status.

    A field that may as well hold something else (a type, a name, a reason, a state) counts at the top only where its
    word is a usual one, and in an error only where it is one word.
    """
    errors = [place for place in places if place is not payload]
    words = _get(payload, _ERROR) if is_object(payload) else iter(())
    return (
        _named(errors)
        or _first(_word(value) for value in words)
        or _named(places)
        or _first(_usual_word(value) for value in _values(places, _TYPE))
        or _first(_http(value) for value in _values(places, _STATUS))
        or _first(_word(value) for value in _values(errors, _TYPE))
    )


def _first(kinds: Iterator[str | None]) -> str | None:
    return next((kind for kind in kinds if kind is not None), None)


def _named(places: list[dict[str, Any]]) -> str | None:
    """What a field that is there to name the kind says: normalised, else as sent, whatever it looks like."""
    for value in _strings(places, _KIND):
        if len(value) > _LONGEST or value.strip().lower() in _NO_KINDS or _waiting.NUMBER.fullmatch(value.strip()):
            continue
        return _usual(value) or value
    return None


def _word(value: object) -> str | None:
    """A kind where `value` is one word, without white space: normalised, else as sent. Several words are prose."""
    if not isinstance(value, str) or len(value) > _LONGEST or not _WORD.fullmatch(value) or value.lower() in _NO_KINDS:
        return None
    return _usual(value) or value


def _usual_word(value: object) -> str | None:
    word = _word(value)
    return None if word is None else _usual(word)


def _usual(name: str) -> str | None:
    """The kind that is usually meant by `name`: ``RATE_LIMITED``, ``RateLimitError``, ``too-many-requests``."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    name = re.sub(r"[\W_]+", "_", name.lower()).strip("_")
    bare = re.sub(r"^(?:e|err|error)_|_(?:error|err|exception|failure|fault)$", "", name)
    return next((kinds[n] for n in (name, bare) for kinds in (_SYNONYMS, _SHORT) if n in kinds), None)


def _http(value: object) -> str | None:
    """The kind that an HTTP status stands for. Other numbers, as JSON-RPC's negative ones, are no kinds."""
    if isinstance(value, str) and re.fullmatch(r"[45][0-9]{2}", value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 400 <= value < 600:  # noqa: PLR2004  # RFC 9110, section 15
        return None
    return _HTTP.get(int(value)) or ("upstream_error" if value >= 500 else None)  # noqa: PLR2004  # RFC 9110, section 15.6


# --- when to come back, and ids


def _times(place: dict[str, Any]) -> Iterator[float | datetime | None]:
    """When to come back, as far as each of the fields can be read."""
    for value in _get(place, _RETRY_AFTER):
        yield from (_waiting.number(value), _waiting.duration(value), _waiting.date(value))
    yield from (_waiting.number(value, per_second=1000) for value in _get(place, _RETRY_AFTER_MS))
    yield from (_waiting.duration(value) for value in _get(place, _RETRY_DELAY))


def _ids(places: list[dict[str, Any]]) -> Iterator[str]:
    for value in _values(places, _REQUEST_ID):
        if isinstance(value, str) and value.strip():
            yield value
        elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= _LONGEST:
            yield str(value)
