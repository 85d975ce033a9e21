"""What a tool says about its own failure, in the shapes that servers use; and what is not read."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any, Final

import pytest

from mcp_guard import Errored, ToolResult, check, read_failure
from mcp_guard._facts import FAILURE_KINDS, ToolFailure
from mcp_guard.policy import Limits
from support import MODERN
from support.calls import data, said

NOON: Final = datetime(2026, 10, 21, 12, tzinfo=timezone.utc)


def structured(payload: object, *texts: str) -> ToolFailure:
    """The failure in structured content."""
    return read_failure(ToolResult.of(data(payload, *texts, isError=True), protocol=MODERN))


def text(*texts: str, limits: Limits | None = None) -> ToolFailure:
    """The failure in text blocks."""
    return read_failure(ToolResult.of(said(*texts, isError=True), limits=limits))


TYPED: Final = "type.googleapis.com/google.rpc."
FULL = {
    "ok": False,
    "error": {
        "kind": "rate_limited",
        "message": "slow down",
        "retryable": True,
        "retry_after": 12.5,
        "request_id": "req-7",
    },
}


@pytest.mark.parametrize("failure", [structured(FULL), text(json.dumps(FULL))], ids=["structured", "text"])
def test_the_full_payload_is_read(failure: ToolFailure) -> None:
    assert failure.kind == "rate_limited"
    assert failure.retryable is True
    assert failure.retry_after == 12.5
    assert failure.request_id == "req-7"
    assert failure.payload == FULL


@pytest.mark.parametrize(
    "payload, kind",
    [
        # where the kind stands
        ({"ok": False, "error": "not_found"}, "not_found"),
        ({"error": {"code": "RATE_LIMITED"}}, "rate_limited"),
        ({"ERROR": {"KIND": "NOT_FOUND"}}, "not_found"),
        ({"error_code": "UNAVAILABLE"}, "unavailable"),
        ({"errorCode": "upstreamError"}, "upstream_error"),
        ({"code": "RATE_LIMITED", "retry_after": 30}, "rate_limited"),
        ({"kind": "invalid_arguments"}, "invalid_arguments"),
        ({"error": {"type": "TimeoutError", "message": "m"}}, "network_timeout"),
        ({"error": {"name": "ConflictError"}}, "resource_state_conflict"),
        ({"error": {"reason": "forbidden"}}, "authorization_denied"),
        ({"__type": "ThrottlingException"}, "rate_limited"),
        ({"errors": [{"message": "m", "extensions": {"code": "UNAUTHENTICATED"}}]}, "authentication_failed"),
        ({"error": {"code": -32000, "data": {"kind": "unavailable"}}}, "unavailable"),
        ({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, "rate_limited"),
        # spellings
        ({"code": "Unauthorized"}, "authentication_failed"),
        ({"code": "forbidden"}, "authorization_denied"),
        ({"code": "too-many-requests"}, "rate_limited"),
        ({"code": "TooManyRequests"}, "rate_limited"),
        ({"code": "Service Unavailable"}, "unavailable"),
        ({"code": "internal_error"}, "upstream_error"),
        ({"code": "InternalServerError"}, "upstream_error"),
        ({"code": "ERR_NOT_FOUND"}, "not_found"),
        ({"code": "ETIMEDOUT"}, "network_timeout"),
        ({"code": "DEADLINE_EXCEEDED"}, "network_timeout"),
        ({"code": "PERMISSION_DENIED"}, "authorization_denied"),
        ({"code": "VALIDATION_ERROR"}, "invalid_arguments"),
        ({"code": "ratelimited"}, "rate_limited"),
        # HTTP
        ({"status": 400}, "invalid_arguments"),
        ({"status": 401}, "authentication_failed"),
        ({"statusCode": 403}, "authorization_denied"),
        ({"status": "404"}, "not_found"),
        ({"code": 408}, "network_timeout"),
        ({"error": {"code": 409}}, "resource_state_conflict"),
        ({"http_status": 429.0}, "rate_limited"),
        ({"status": 500}, "upstream_error"),
        ({"status": 502}, "upstream_error"),
        ({"error": 503}, "unavailable"),
        ({"status": 599}, "upstream_error"),
        ({"statusCode": 404, "message": "Cannot GET /x", "error": "Not Found"}, "not_found"),
        # as sent
        ({"code": "SKU_DISCONTINUED"}, "SKU_DISCONTINUED"),
        ({"error": {"kind": "Odd Kind"}}, "Odd Kind"),
        ({"error": "channel_archived"}, "channel_archived"),
        ({"error": {"code": "order_locked", "status": 409}}, "order_locked"),
        ({"error": {"type": "KeyError", "message": "'a'"}}, "KeyError"),
        # the data of a tool tell nothing about its error
        ({"code": "not_found", "data": {"code": "A-1"}}, "not_found"),
        ({"error": {"category": "rate_limited", "message": "m"}}, "rate_limited"),
        ({"error_category": "not_found"}, "not_found"),
        # of an HTTP framework, and of Google's
        ({"detail": {"code": "NOT_FOUND", "retryable": False}}, "not_found"),
        (
            {"error": {"code": 13, "details": [{"@type": TYPED + "ErrorInfo", "reason": "FORBIDDEN"}]}},
            "authorization_denied",
        ),
        # a word that says more than one that says less
        ({"error": "failed", "code": "not_found"}, "not_found"),
        ({"error": "SomethingOdd", "code": "E42"}, "SomethingOdd"),
        ({"status": "error", "error": {"code": "conflict"}}, "resource_state_conflict"),
    ],
    ids=str,
)
def test_the_kind_is_found_and_normalised_where_it_is_a_usual_one(payload: object, kind: str) -> None:
    assert structured(payload).kind == kind


@pytest.mark.parametrize(
    "payload",
    [
        {"status": "error", "message": "Paper not found in storage"},
        {"message": "fetch failed", "tool": "reverse"},
        {"error": "the file was not found"},
        {"error": "Error"},
        {"ok": False, "error": True},
        {"error": {"code": -32602, "message": "not found"}},
        {"code": "-32001"},
        {"code": 1234},
        {"code": True},
        {"status": 200},
        {"status": 399},
        {"status": 600},
        {"status": float("nan")},
        {"status": float("inf")},
        {"status": 10**400},
        {"name": "report.pdf", "type": "file", "status": "open"},
        {"error": "x" * 101},
        {"code": "x" * 101},
        {"code": ""},
        {"code": " "},
        {"errors": [{"code": "conflict"}, {"code": "not_found"}]},
        {"ok": False, "trace": "line 12: unexpected ')'", "row": 12},
        {"oops": True},
        {"ok": False, "data": {"code": "A-1", "status": 404}},
        {"error": {"message": "m", "details": [{"code": "not_found", "path": "/a"}]}},
        {"detail": [{"type": "missing", "loc": ["a"]}]},
        {"detail": "not_found"},
        {"category": "tools", "message": "m"},
        {},
        [],
        ["not_found"],
        "not_found",
        404,
        None,
    ],
    ids=str,
)
def test_no_kind_is_guessed(payload: object) -> None:
    assert structured(payload).kind is None


@pytest.mark.parametrize("kind", sorted(FAILURE_KINDS))
def test_each_kind_is_known_by_its_own_name_in_every_spelling(kind: str) -> None:
    for spelt in (kind, kind.upper(), kind.title().replace("_", ""), kind.replace("_", "-"), kind.replace("_", " ")):
        assert structured({"error": {"kind": spelt}}).kind == kind


@pytest.mark.parametrize(
    "payload, seconds",
    [
        ({"retry_after": 30}, 30),
        ({"retryAfter": 0}, 0),
        ({"retry_after": "30"}, 30),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"RETRY_AFTER": 2}, 2),
        ({"error": {"retry_after": 1}, "retry_after": 2}, 1),
        ({"error": "rate_limited", "retryAfterSeconds": 5}, 5),
        ({"retry_after_ms": 1500}, 1.5),
        ({"error": {"code": 429, "details": {"retryAfterMs": "250"}}}, 0.25),
        ({"retry_after": -1}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": True}, None),
        ({"retry_after": float("nan")}, None),
        ({"retry_after": float("inf")}, None),
        ({"retry_after": 10**400}, None),
        ({"retry_after": 1_767_225_600}, None),
        ({"retry_after_ms": 1_767_225_600_000}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "1_0"}, None),
        ({"retry_after": "9" * 5000}, None),
        ({"retry_after": "PT30S"}, 30),
        ({"retryAfter": "P1DT2H3M4.5S"}, 86_400 + 2 * 3600 + 3 * 60 + 4.5),
        ({"retry_after": "PT0,5S"}, 0.5),
        ({"retry_after": "1.5s"}, 1.5),
        ({"retryAfterSecs": 7}, 7),
        ({"error": {"code": 429, "details": [{"@type": TYPED + "RetryInfo", "retryDelay": "58s"}]}}, 58),
        ({"error": {"details": [{"@type": "x", "retryDelay": "58s"}]}}, None),
        ({"error": {"details": [{"@type": TYPED + "RetryInfo", "retryDelay": 58}]}}, None),
        ({"retry_after": "P"}, None),
        ({"retry_after": "PT"}, None),
        ({"retry_after": "P1M"}, None),
        ({"retry_after": "P999999DT999999999H"}, None),
        ({"retry_after": "PT5"}, None),
        ({"retry_after": "60 seconds"}, None),
        ({"retry_after": "1m"}, None),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry_after": [3]}, None),
        ({"retry_after": None, "error": {"message": "m"}}, None),
        ({"retry_after": "soon", "retryAfter": 4}, 4),
    ],
    ids=lambda x: str(x)[:60],
)
def test_seconds_to_wait_are_a_number_that_makes_sense(payload: object, seconds: float | None) -> None:
    assert structured(payload).retry_after == seconds


@pytest.mark.parametrize(
    "sent, moment",
    [
        ("Wed, 21 Oct 2026 12:00:00 GMT", NOON),
        (" Wed, 21 Oct 2026 12:00:00 GMT ", NOON),
        ("Wednesday, 21-Oct-26 12:00:00 GMT", NOON),
        ("Wed Oct 21 12:00:00 2026", NOON),
        ("Sun Nov  1 12:00:00 2026", NOON + timedelta(days=11)),
        ("2026-10-21T12:00:00Z", NOON),
        ("2026-10-21T14:00:00+02:00", NOON),
        ("2026-10-21t12:00:00.5z", NOON + timedelta(seconds=0.5)),
        ("2026-10-21 12:00:00.1234567+00:00", NOON + timedelta(microseconds=123_457)),
        ("Wed, 30 Feb 2026 12:00:00 GMT", None),
        ("Wed, 21 Oct 2026 12:00:00", None),
        ("Wed, 21 Okt 2026 12:00:00 GMT", None),
        ("Wed, 21 Oct 2026 25:00:00 GMT", None),
        ("wed, 21 oct 2026 12:00:00 gmt", None),
        ("2026-10-21T12:00:00", None),
        ("2026-10-21", None),
        ("2026-13-21T12:00:00Z", None),
        ("9999-12-31T23:59:59.9999999Z", None),
        ("2026-10-21T12:00:00Z" + " " * 5000, None),
        (1_792_584_000, None),
        ("tomorrow", None),
    ],
)
@pytest.mark.parametrize("name", ["retry_after", "Retry-After", "retryAt"])
def test_a_date_to_come_back_stays_a_date(name: str, sent: object, moment: datetime | None) -> None:
    failure = structured({"error": {name: sent}})
    assert failure.retry_at == moment
    assert failure.retry_after is None


def test_what_is_told_first_counts_a_date_or_seconds() -> None:
    date = "Wed, 21 Oct 2026 12:00:00 GMT"
    inner, outer = structured({"error": {"retry_after": date}, "retry_after": 5}), structured({"retry_after": date})
    assert (inner.retry_at, inner.retry_after) == (outer.retry_at, None)
    both = structured({"error": {"retry_after": 5}, "retry_at": date})
    assert (both.retry_after, both.retry_at) == (5, None)


def test_a_recorded_result_is_read_alike_at_any_time() -> None:
    result = data({"error": {"kind": "unavailable", "retry_after": "Wed, 21 Oct 2026 12:00:00 GMT"}}, isError=True)
    verdicts = [check(result, None), check(result, None)]
    assert verdicts[0] == verdicts[1]
    assert isinstance(verdicts[0], Errored)
    assert (verdicts[0].failure.retry_at, verdicts[0].failure.retry_after) == (NOON, None)


@pytest.mark.parametrize("before, seconds", [(90, 90), (0, 0), (-5, 0)])
def test_a_date_becomes_what_is_left_of_the_time_until_then(before: float, seconds: float) -> None:
    failure = ToolFailure(retry_at=NOON)
    assert failure.at(NOON - timedelta(seconds=before)).retry_after == seconds
    assert failure.retry_after is None
    assert ToolFailure(retry_after=7, retry_at=NOON).at(NOON).retry_after == 7
    assert ToolFailure().at(NOON) == ToolFailure()


@pytest.mark.parametrize(
    "fields, error, says",
    [
        ({"text": None}, TypeError, "text is NoneType"),
        ({"kind": 5}, TypeError, "kind is int"),
        ({"retryable": 1}, TypeError, "retryable is int"),
        ({"retry_after": "30"}, TypeError, "retry_after is str"),
        ({"retry_after": True}, TypeError, "retry_after is bool"),
        ({"request_id": 17}, TypeError, "request_id is int"),
        ({"retry_at": "tomorrow"}, TypeError, "retry_at is str"),
        ({"retry_after": -1}, ValueError, "0 or more"),
        ({"retry_after": float("nan")}, ValueError, "0 or more"),
        ({"retry_after": float("inf")}, ValueError, "0 or more"),
        ({"retry_at": datetime(2026, 1, 1)}, ValueError, "time zone"),  # noqa: DTZ001  # that is the point
    ],
    ids=str,
)
def test_a_failure_that_could_not_be_worked_with_is_refused(fields: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        ToolFailure(**fields)


def test_a_failure_is_copied_pickled_and_compared_by_value() -> None:
    failure = structured({"error": {"kind": "odd", "retry_after": "2026-10-21T12:00:00Z"}})
    assert pickle.loads(pickle.dumps(failure)) == copy.copy(failure) == failure  # noqa: S301  # ours
    assert hash(failure) == hash(copy.deepcopy(failure))
    assert failure != structured({"error": {"kind": "odd"}})


@pytest.mark.parametrize(
    "payload, retryable",
    [
        ({"retryable": True}, True),
        ({"error": {"retryable": False}, "retryable": True}, False),
        ({"error": {"isRetryable": True}}, True),
        ({"retryable": "true"}, None),
        ({"retryable": 1}, None),
        ({"retryable": None}, None),
        ({"error": "rate_limited"}, None),
    ],
    ids=str,
)
def test_retryable_is_a_boolean_that_was_sent(payload: object, retryable: bool | None) -> None:
    assert structured(payload).retryable is retryable


@pytest.mark.parametrize(
    "payload, request_id",
    [
        ({"request_id": "r"}, "r"),
        ({"error": {"requestId": 17}}, "17"),
        ({"error": {"code": "x"}, "request_id": "top"}, "top"),
        ({"requestID": "r"}, "r"),
        ({"request_id": True}, None),
        ({"request_id": ""}, None),
        ({"request_id": ["r"]}, None),
        ({"request_id": 10**5000}, None),
    ],
    ids=lambda x: str(x)[:60] if not isinstance(x, dict) else None,
)
def test_a_request_id_is_a_string_or_a_small_integer(payload: object, request_id: str | None) -> None:
    assert structured(payload).request_id == request_id


def test_text_is_all_text_blocks_a_line_each() -> None:
    assert text("a", "b").text == "a\nb"
    assert text().text == ""


def test_the_message_is_the_text_where_there_is_no_other() -> None:
    assert structured({"error": {"code": "x", "message": "it broke"}}).text == "it broke"
    assert structured({"error": "it broke"}).text == "it broke"
    assert structured({"code": "x"}).text == ""
    assert structured({"message": "inner"}, "outer").text == "outer"


@pytest.mark.parametrize(
    "sent",
    [
        "429 too many requests, retry after 30",
        "Error: not_found",
        'Error executing tool x: {"error": "not_found"}',
        "{'error': 'not_found'}",
        '{"error": "not_found", "error": "timeout"}',
        '{"error": "not_found"',
        '{"retry_after": NaN}',
        "[" * 100_000,
        "",
    ],
    ids=lambda sent: sent[:40],
)
def test_prose_is_not_read(sent: str) -> None:
    assert text(sent) == ToolFailure(text=sent)


def test_several_text_blocks_are_no_payload() -> None:
    assert text('{"error": "not_found"}', "more").payload is None


def test_structured_content_is_read_instead_of_text_even_where_it_says_nothing() -> None:
    failure = structured({"oops": 1}, '{"error": "not_found"}')
    assert failure.payload == {"oops": 1}
    assert failure.kind is None


def test_text_over_the_limit_is_not_parsed() -> None:
    sent = json.dumps({"error": "not_found"})
    assert text(sent, limits=Limits(text_bytes=len(sent))).kind == "not_found"
    failure = text(sent, limits=Limits(text_bytes=len(sent) - 1))
    assert failure.kind is None
    assert failure.payload is None


def _deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(50_000):
        value = {"error": value, "data": value}
    return value


@pytest.mark.parametrize(
    "payload",
    [
        _deep(),
        {1: 2, None: 3, ("a",): 4, "error": {5: 6}},
        {"error": {key: [{}] for key in ("kind", "code", "type", "status", "data", "retry_after", "request_id")}},
        {"error": [[[]]], "errors": {"a": 1}, "code": {}, "message": [], "retryable": {}, "request_id": {}},
        {"error": {"code": "\ud800", "request_id": "\ud800", "message": "\ud800"}},
        {"code": object(), "status": b"404", "error": ()},
        dict.fromkeys(map(str, range(300_000)), "not_found"),
        {"code": "\x00" * 50, "error": "é" * 90},
        {"error": {"details": [{"@type": TYPED, "retryDelay": "9" * 5000}] * 300_000}, "detail": [[[]]]},
        {"retry_after": "P" * 100_000, "error": {"retry_after": " " * 100_000 + "x"}},
    ],
    ids=range(10),
)
def test_a_hostile_payload_is_no_trouble(payload: object) -> None:
    failure = structured(payload)
    assert failure.payload is payload
    assert failure.retry_after is None
