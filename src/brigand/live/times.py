"""Times that people give: in seconds since 1970, or as dates."""

from __future__ import annotations

from datetime import UTC, datetime

from brigand import checks
from brigand.errors import InvalidValueError

EARLIEST, LATEST = -62_135_510_400.0, 253_402_214_400.0
"""What is a time, in seconds since 1970: the years 1 to 9999, but for a day at each end, for time zones."""


def date_in(number: float) -> datetime | None:
    """Return the date that a number such as 20260101 spells; None if it is none between 1900 and 2200.

    As seconds since 1970 all of these are in August and September 1970.

    Examples
    --------
    >>> date_in(20260101)
    datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    >>> date_in(20261301), date_in(1767225600)
    (None, None)
    """
    if not (19_000_101 <= number <= 22_001_231 and number == int(number)):
        return None
    days, day = divmod(int(number), 100)
    year, month = divmod(days, 100)
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def seconds(name: str, value: object) -> float:
    """Return a time in seconds since 1970; a `datetime` without a zone is UTC.

    Raises
    ------
    InvalidValueError
        It is neither a number nor a `datetime`, or a number that spells a date.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    found = checks.number(name, value, EARLIEST, LATEST)
    date = date_in(found)
    if date is not None:
        raise InvalidValueError(
            f"{name} is in seconds since 1970, and {value} looks like a date: "
            f"give datetime({date.year}, {date.month}, {date.day})."
        )
    return found
