"""Records in a folder: written once, never edited, an id never used again.

`R-0001.json` and on, and `SHA256SUMS` beside them, which `sha256sum -c SHA256SUMS` checks too.
"""

import fcntl
import hashlib
import os
import re
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ..errors import InputError
from ..files import write_whole
from .record import Record

SUMS = "SHA256SUMS"
_ID = re.compile(r"R-([0-9]{4}|[1-9][0-9]{4,})")
_LINE = re.compile(rf"([0-9a-f]{{64}}) [ *]({_ID.pattern})\.json")


def add(record, folder):
    """Write a record to a new file, under the next id.

    Several processes may add at the same time.

    Parameters
    ----------
    record : Record
        Without an id.
    folder : str or path
        Made if it is not there.

    Returns
    -------
    Record
        The same with its id.

    Raises
    ------
    InputError
        The record has an id, or supersedes one that is not there; the folder or its `SHA256SUMS`
        cannot be used. Nothing was written.
    """
    folder = Path(folder)
    if record.id is not None:
        raise InputError(f"{record.id} has its id already: a correction is a new record")
    try:
        folder.mkdir(exist_ok=True)
        with _locked(folder):
            sums = _sums(folder)
            taken = {*sums, *_file_ids(folder)}
            if record.supersedes is not None and record.supersedes not in taken:
                raise InputError(
                    f"the record supersedes {record.supersedes}, which is not in {folder}:"
                    " name one that is"
                )
            number = 1 + max(map(_number, taken), default=0)
            stored = replace(record, id=f"R-{number:04d}")
            _write(folder, stored, sums)
    except OSError as error:
        raise InputError(
            f"cannot write a record to {folder}: {error.strerror}: name another folder"
        ) from error
    return stored


def load(id, folder):
    """Read a record, and check that it is as it was written.

    Parameters
    ----------
    id : str
        Such as `R-0001`.
    folder : str or path

    Returns
    -------
    Record

    Raises
    ------
    InputError
        There is no such record, it was edited, or it is not a record.
    """
    folder = Path(folder)
    if not _ID.fullmatch(id):
        raise InputError(f"{id} is not the id of a record: give one such as R-0001")
    return _load(id, folder, _sums(folder))


def ids(folder):
    """The ids that are or were used, by number.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        `SHA256SUMS` cannot be read.
    """
    folder = Path(folder)
    return sorted({*_sums(folder), *_file_ids(folder)}, key=_number)


def check(folder):
    """Find what is wrong with the records in a folder.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    list of str
        A line for each record that was edited, is missing, is not listed in `SHA256SUMS`, is not a
        record, has another id than its file, or supersedes one that is not there; empty where all
        is well.
    """
    folder = Path(folder)
    try:
        sums = _sums(folder)
    except InputError as error:
        return [str(error)]
    known = sorted({*sums, *_file_ids(folder)}, key=_number)
    found = [
        f"{path.name} is not named as a record is: remove it, or add it as a new record"
        for path in sorted(folder.glob("R-*"))
        if path.name not in {_file_name(id) for id in known}
    ]
    for place, id in enumerate(known):
        try:
            record = _load(id, folder, sums)
        except InputError as error:
            found.append(str(error))
            continue
        if record.supersedes is not None and record.supersedes not in known[:place]:
            found.append(f"{id} supersedes {record.supersedes}, which is no record before it")
    return found


def _load(id, folder, sums):
    name = _file_name(id)
    try:
        data = (folder / name).read_bytes()
    except FileNotFoundError:
        if id in sums:
            raise InputError(f"{name} is missing, and {SUMS} lists it: restore the file") from None
        raise InputError(f"there is no record {id} in {folder}: name one that is there") from None
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    if id not in sums:
        raise InputError(f"{name} is not listed in {SUMS}: remove it, or add it as a new record")
    if hashlib.sha256(data).hexdigest() != sums[id]:
        raise InputError(f"{name} was edited: restore the file; a correction is a new record")
    try:
        record = Record.from_json(data)
    except InputError as error:
        raise InputError(f"{name} is {error}") from error
    if record.id != id:
        raise InputError(f"{name} holds the id {record.id}: remove it, or add it as a new record")
    return record


def _write(folder, record, sums):
    """Write a new file, then the sums; the file goes again if those cannot be written."""
    data = (record.to_json() + "\n").encode()
    path = folder / _file_name(record.id)
    with tempfile.TemporaryDirectory(prefix=".adding-", dir=folder) as aside:
        whole = Path(aside, path.name)
        write_whole(whole, data)
        os.link(whole, path)  # fails where the file is there, unlike a rename
    try:
        sums = {**sums, record.id: hashlib.sha256(data).hexdigest()}
        lines = [f"{sums[id]}  {_file_name(id)}\n" for id in sorted(sums, key=_number)]
        write_whole(folder / SUMS, "".join(lines).encode())
    except BaseException:
        path.unlink()
        raise


def _sums(folder):
    """Id -> SHA-256, as listed."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {SUMS} in {folder}: restore the file") from error
    sums = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if not match or match[2] in sums:
            raise InputError(
                f"line {number} of {SUMS} in {folder} is not one sum of one record:"
                " restore the file"
            )
        sums[match[2]] = match[1]
    return sums


def _file_ids(folder):
    return [path.stem for path in folder.glob("R-*.json") if _ID.fullmatch(path.stem)]


def _file_name(id):
    return f"{id}.json"


def _number(id):
    return int(id.removeprefix("R-"))


@contextmanager
def _locked(folder):
    """Alone among those that add to a folder; the system lets go if the process dies."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
