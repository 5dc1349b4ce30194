"""Words and numbers for sentences and tables."""

import math

FEW = 0.05
"""A mean of which the worst 1 % of the runs carry more than this hangs on few runs, and is marked."""
INTERVAL = (
    "95 %: interval of the mean; its upper end counts unseen, what runs could add that are too rare (below 3 "
    "in n) to have been seen. worst 1 %: the share of the total that the worst 1 % of the runs carry; marked "
    "where that is more than 5 %, and more than twice what their number explains: such a mean hangs on few "
    "runs."
)


def visible(text: str) -> str:
    r"""Return a text on one line: control characters, and what else does not print, as Python escapes.

    Examples
    --------
    >>> visible("a" + chr(10) + chr(27) + "b")
    'a\\n\\x1bb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, thing: str) -> str:
    """Return ``"1 step"``, ``"2 steps"``.

    Examples
    --------
    >>> counted(1, "step"), counted(2500, "step")
    ('1 step', '2,500 steps')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def number(value: float) -> str:
    """Return a number as short as a reader needs it."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "infinite"
    size = abs(value)
    if size >= 1e7 or 0 < size < 0.01:
        return f"{value:.3g}"
    return f"{value:,.{0 if size >= 1000 else 1 if size >= 10 else 2}f}"


def share(top: float, runs: int) -> str:
    """Return the share of the worst 1 % of the runs, marked where a mean hangs on it."""
    return f"{top:.0%}" + (" !" if hangs_on_few(top, runs) else "")


def hangs_on_few(top: float, runs: int) -> bool:
    """Return whether the worst 1 % of the runs, one at least, carry more than their number explains."""
    return top > max(FEW, 2.0 * max(1, runs // 100) / runs)


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
