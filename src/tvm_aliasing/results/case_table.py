"""A record of kind `cases` as a table: a line a case, a column an approach."""

from ..errors import InputError

#: The letter of a status; small where only some planners or fusion settings end like that.
LETTERS = {"right": ".", "wrong": "W", "raised": "R", "died": "D"}
#: What is shown where the rows of a cell differ: the worst.
_WORST = ("died", "raised", "wrong", "right")


def case_table(record, cases=None):
    """How each case ended under each approach.

    Parameters
    ----------
    record : Record
        Of kind `cases`.
    cases : list of str, optional
        Those to show; by default all.

    Returns
    -------
    pandas.DataFrame
        Column `case`, a column for each approach, and `why`: numbers of reasons that `case_legend`
        lists, `?` where a row is not right and no reason is known.

    Raises
    ------
    InputError
        The record is of another kind, or has no such case.
    """
    import pandas as pd  # takes a third of a second

    numbers = {reason: str(at) for at, reason in enumerate(_reasons(record), 1)}
    rows_of = {}
    for row in record.rows:
        rows_of.setdefault(row["case"], []).append(row)
    approaches = list(dict.fromkeys(row["approach"] for row in record.rows))
    lines = []
    for case in _shown(rows_of, cases):
        rows = rows_of[case]
        faults = [row["reason"] for row in rows if row["status"] != "right"]
        why = dict.fromkeys(numbers.get(reason, "?") for reason in faults)
        lines.append([case, *(_letter(rows, name) for name in approaches), " ".join(why)])
    return pd.DataFrame(lines, columns=["case", *approaches, "why"])


def case_legend(record):
    """What the letters and the numbers of `case_table` mean.

    Parameters
    ----------
    record : Record
        Of kind `cases`.

    Returns
    -------
    str
        Lines: the letters, then a line for each reason.
    """
    letters = ", ".join(f"{letter} {status}" for status, letter in LETTERS.items())
    return "\n".join(
        [
            f"{letters}; a small letter: under some planners or fusion settings only",
            *(f"{at}: {reason}" for at, reason in enumerate(_reasons(record), 1)),
        ]
    )


def _reasons(record):
    """The reasons in a record, in the order of their rows."""
    if record.kind != "cases":
        raise InputError(f"a record of kind {record.kind} has no cases: name one of kind cases")
    return list(dict.fromkeys(row["reason"] for row in record.rows if row["reason"]))


def _shown(known, cases):
    for case in cases or ():
        if case not in known:
            raise InputError(f"the record has no case {case!r}: use one of {', '.join(known)}")
    return known if cases is None else cases


def _letter(rows, approach):
    """The letter of a cell; a dash where nothing was run."""
    statuses = [row["status"] for row in rows if row["approach"] == approach]
    if not statuses:
        return "-"
    worst = min(statuses, key=_WORST.index)
    return LETTERS[worst] if len(set(statuses)) == 1 else LETTERS[worst].lower()
