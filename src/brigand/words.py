"""Words for sentences."""


def counted(number: int, thing: str) -> str:
    """Return ``"1 step"``, ``"2 steps"``.

    Examples
    --------
    >>> counted(1, "step"), counted(2500, "step")
    ('1 step', '2,500 steps')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in the unit in which it is a small number.

    Examples
    --------
    >>> duration(5), duration(7200), duration(1e9)
    ('5 seconds', '2 hours', '32 years')
    """
    for unit, length in (("year", 31_557_600), ("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(round(seconds / length), unit)
    return counted(round(seconds), "second")
