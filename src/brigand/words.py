"""Words for sentences."""


def counted(number: int, thing: str) -> str:
    """Return ``"1 step"``, ``"2 steps"``.

    Examples
    --------
    >>> counted(1, "step"), counted(2500, "step")
    ('1 step', '2,500 steps')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
