"""Reads how long somebody asks to wait: a number, a duration or a date, in the forms that standards give them.

A date stays one: there is no clock here. Whatever is in no such form is `None`; "60 seconds" is prose.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Final

NUMBER: Final = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?")
_YEAR: Final = 366 * 86_400  # more is a mistake or a point in time
_LONGEST: Final = 64  # what is longer is neither a date nor a duration

_DURATIONS: Final = (
    # ISO 8601, the part of it that has a fixed length: a month has none
    re.compile(
        r"P(?=[0-9T])(?:(?P<days>[0-9]{1,6})D)?"
        r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
        r"(?:(?P<seconds>[0-9]{1,9}(?:[.,][0-9]{1,9})?)S)?)?"
    ),
    # JSON of google.protobuf.Duration
    re.compile(r"(?P<seconds>[0-9]{1,9}(?:\.[0-9]{1,9})?)s"),
)

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH: Final = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME: Final = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_HTTP: Final = tuple(
    re.compile(form)
    for form in (  # RFC 9110, section 5.6.7: a recipient takes all three
        rf"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",
        rf"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
        rf"{_DAY} {_MONTH} (?P<day>[0-9 ][0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
)
_RFC_3339: Final = re.compile(
    r"(?P<local>[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?P<fraction>\.[0-9]{1,20})?(?P<zone>[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def number(value: object, *, per_second: int = 1) -> float | None:
    """Seconds of a number, or of one written as a string; not below 0, not over a year."""
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        value = float(value)
    # compared before anything is divided: an integer may be beyond a float, and NaN fails here too
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _YEAR * per_second:
        return value / per_second
    return None


def duration(value: object) -> float | None:
    """Seconds of a duration (ISO 8601, or protobuf's ``"1.5s"``), not over a year."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    for form in _DURATIONS:
        if found := form.fullmatch(value.strip()):
            parts = {unit: float(n.replace(",", ".")) for unit, n in found.groupdict().items() if n is not None}
            return number(timedelta(**parts).total_seconds())
    return None


def date(value: object) -> datetime | None:
    """A point in time: an HTTP date (RFC 9110, section 5.6.7), or one of RFC 3339. Without a zone it would be none."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    value = value.strip()
    try:
        if internet := _RFC_3339.fullmatch(value):
            local, fraction, zone = internet.group("local", "fraction", "zone")
            moment = datetime.fromisoformat(local.upper() + ("+00:00" if zone in "Zz" else zone))
            return moment + timedelta(seconds=float(fraction or 0))
        for form in _HTTP:
            if found := form.fullmatch(value):
                return _http(found)
    except (ValueError, OverflowError):  # there is no such day, or it is beyond the calendar
        pass
    return None


def _http(found: re.Match[str]) -> datetime:
    day, year, hour, minute, second = (int(found[part]) for part in ("day", "year", "hour", "minute", "second"))
    if len(found["year"]) == 2:  # noqa: PLR2004  # the form that is obsolete since 1995
        year += 2000
    month = _MONTHS.index(found["month"]) + 1
    return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)  # 60: a leap second
