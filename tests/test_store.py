"""The store of records, and the records of this repository."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tvm_aliasing.errors import InputError
from tvm_aliasing.results import Record, store

RESULTS = Path(__file__).resolve().parents[1] / "results"


def record(value=1, **fields):
    rows = [{"workload": "net", "memory": None, "latency": {"samples": {"a": [1e-05, value]}}}]
    return Record("compare", {"tvm": "0.27", "cpu": "Größe"}, rows, **fields)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def three(folder):
    """A store of three records."""
    for value in (1, 2, 3):
        store.add(record(value), folder)
    return folder


def list_sum(folder, name):
    """List a file as it is, as an editor would who covers it up."""
    kept = [line for line in (folder / store.SUMS).read_text().splitlines() if name not in line]
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / store.SUMS).write_text("\n".join([*kept, f"{digest}  {name}", ""]))


# The records of this repository


def test_records_of_this_repository_are_as_they_were_written():
    assert store.check(RESULTS) == []


def test_records_of_this_repository_are_small():
    sizes = {path.name: path.stat().st_size for path in RESULTS.iterdir()}
    assert not {name: size for name, size in sizes.items() if size >= 1_000_000}


# Adding and loading


def test_round_trip(tmp_path):
    folder = tmp_path / "results"  # made
    original = record(maps=["a map"])
    stored = store.add(original, folder)
    assert (stored.id, original.id, stored.maps) == ("R-0001", None, ["a map"])
    loaded = store.load("R-0001", folder)
    assert (loaded.id, loaded.maps) == ("R-0001", [])
    assert (loaded.kind, loaded.provenance, loaded.rows, loaded.supersedes) == (
        *(original.kind, original.provenance, original.rows),
        None,
    )
    assert names(folder) == ["R-0001.json", store.SUMS]
    assert store.check(folder) == []


def test_ids_follow_one_another(tmp_path):
    three(tmp_path)
    assert store.ids(tmp_path) == ["R-0001", "R-0002", "R-0003"]
    assert [store.load(id, tmp_path).rows for id in store.ids(tmp_path)] == [
        record(value).rows for value in (1, 2, 3)
    ]


def test_more_than_four_digits(tmp_path):
    (tmp_path / store.SUMS).write_text(f"{'0' * 64}  R-9999.json\n{'0' * 64}  R-0002.json\n")
    assert [store.add(record(), tmp_path).id for _ in range(2)] == ["R-10000", "R-10001"]
    assert store.ids(tmp_path) == ["R-0002", "R-9999", "R-10000", "R-10001"]
    assert store.load("R-10000", tmp_path).id == "R-10000"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_sha256sum_checks_it(tmp_path):
    three(tmp_path)
    command = ["sha256sum", "--strict", "-c", store.SUMS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "R-0001.json: OK\nR-0002.json: OK\nR-0003.json: OK\n"
    with (tmp_path / "R-0002.json").open("a") as file:
        file.write(" ")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "R-0002.json: FAILED" in done.stdout


def test_files_can_be_read_by_all(tmp_path):
    three(tmp_path)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def test_many_samples_stay_under_a_megabyte(tmp_path):
    samples = [round(0.012345678 + number * 1e-9, 9) for number in range(300)]
    rows = [{"latency": {"samples": {"a": samples, "b": samples}}} for _ in range(100)]
    store.add(Record("latency", {}, rows), tmp_path)
    assert (tmp_path / "R-0001.json").stat().st_size < 1_000_000
    assert store.load("R-0001", tmp_path).rows == rows


def test_correction_names_the_old_record(tmp_path):
    three(tmp_path)
    store.add(record(4, supersedes="R-0002"), tmp_path)
    assert store.load("R-0004", tmp_path).supersedes == "R-0002"
    assert store.check(tmp_path) == []
    with pytest.raises(InputError, match="supersedes R-0009, which is not in"):
        store.add(record(5, supersedes="R-0009"), tmp_path)
    assert store.ids(tmp_path)[-1] == "R-0004"


def test_record_with_an_id_is_not_added_again(tmp_path):
    stored = store.add(record(), tmp_path)
    with pytest.raises(InputError, match="R-0001 has its id already"):
        store.add(stored, tmp_path)
    assert store.ids(tmp_path) == ["R-0001"]


# Ids are never used again


@pytest.mark.parametrize("gone", ["R-0003", "R-0001"])
def test_id_of_a_deleted_record_is_not_used_again(tmp_path, gone):
    (three(tmp_path) / f"{gone}.json").unlink()
    assert store.add(record(), tmp_path).id == "R-0004"
    assert store.check(tmp_path) == [
        f"{gone}.json is missing, and SHA256SUMS lists it: restore the file"
    ]


def test_id_of_an_unlisted_file_is_not_used_again(tmp_path):
    (three(tmp_path) / store.SUMS).unlink()
    assert store.add(record(), tmp_path).id == "R-0004"
    assert len(store.check(tmp_path)) == 3  # adding does not vouch for what it did not write


def test_nothing_is_overwritten(tmp_path, monkeypatch):
    """Even if another writer, which does not lock, takes the id in between."""
    three(tmp_path)
    monkeypatch.setattr(store, "_file_ids", lambda folder: [])
    (tmp_path / "R-0004.json").write_text("theirs")
    before = (tmp_path / store.SUMS).read_bytes()
    with pytest.raises(InputError, match="File exists"):
        store.add(record(), tmp_path)
    assert (tmp_path / "R-0004.json").read_text() == "theirs"
    assert (tmp_path / store.SUMS).read_bytes() == before
    assert len(names(tmp_path)) == 5


def test_several_processes_add_at_once(tmp_path):
    code = """
import sys, time
from pathlib import Path
from tvm_aliasing.results import Record, store

folder, name = Path(sys.argv[1]), sys.argv[2]
(folder / f"ready-{name}").touch()
while not (folder / "go").exists():
    time.sleep(0.001)
for number in range(10):
    store.add(Record("compare", {}, [{"by": name, "number": number}]), folder / "results")
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    adding = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    try:
        while len(list(tmp_path.glob("ready-*"))) < 4:
            assert all(process.poll() is None for process in adding)
            time.sleep(0.01)
        (tmp_path / "go").touch()
        assert [process.wait(60) for process in adding] == [0] * 4
    finally:
        for process in adding:
            process.kill()
            process.wait()
    folder = tmp_path / "results"
    assert store.check(folder) == []
    assert store.ids(folder) == [f"R-{number:04d}" for number in range(1, 41)]
    rows = [store.load(id, folder).rows[0] for id in store.ids(folder)]
    assert {(row["by"], row["number"]) for row in rows} == {
        (str(name), number) for name in range(4) for number in range(10)
    }
    assert len(names(folder)) == 41


# Nothing half-written stays


def failing_at(call, monkeypatch):
    """Let the n-th whole file fail as on a full disk."""
    calls = []
    write_whole = store.write_whole

    def write(path, data):
        calls.append(path)
        if len(calls) == call:
            raise OSError(28, "No space left on device")
        write_whole(path, data)

    monkeypatch.setattr(store, "write_whole", write)


@pytest.mark.parametrize("call", [1, 2])  # the record, the sums
def test_failure_leaves_nothing(tmp_path, monkeypatch, call):
    three(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patched:
        failing_at(call, patched)
        with pytest.raises(InputError, match="No space left on device: name another folder"):
            store.add(record(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert store.add(record(), tmp_path).id == "R-0004"


def test_record_that_is_not_json_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        store.add(Record("compare", {}, [{"a": {1, 2}}]), tmp_path)
    assert names(tmp_path) == []


def test_folder_that_cannot_be_made(tmp_path):
    with pytest.raises(InputError, match="No such file or directory: name another folder"):
        store.add(record(), tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="File exists: name another folder"):
        store.add(record(), tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="Permission denied: name another folder"):
        store.add(record(), tmp_path)


# What is wrong is said, by load as by check


def fails(folder, id, said):
    """Both say the same, in one line, and `check` nothing else."""
    with pytest.raises(InputError, match=said) as raised:
        store.load(id, folder)
    assert "\n" not in str(raised.value)
    assert store.check(folder) == [str(raised.value)]


def edit(path, **changed):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def test_edited_record(tmp_path):
    edit(three(tmp_path) / "R-0002.json", rows=[])
    fails(tmp_path, "R-0002", r"^R-0002\.json was edited: restore")
    assert store.load("R-0003", tmp_path).id == "R-0003"
    store.add(record(), tmp_path)
    fails(tmp_path, "R-0002", "was edited")  # adding does not vouch for it


def test_missing_record(tmp_path):
    (three(tmp_path) / "R-0002.json").unlink()
    fails(tmp_path, "R-0002", r"^R-0002\.json is missing, and SHA256SUMS lists it")


def test_unlisted_record(tmp_path):
    three(tmp_path)
    shutil.copy(tmp_path / "R-0003.json", tmp_path / "R-0004.json")
    fails(tmp_path, "R-0004", r"^R-0004\.json is not listed in SHA256SUMS")


def test_record_with_the_id_of_another(tmp_path):
    three(tmp_path)
    shutil.copy(tmp_path / "R-0003.json", tmp_path / "R-0004.json")
    list_sum(tmp_path, "R-0004.json")
    fails(tmp_path, "R-0004", r"^R-0004\.json holds the id R-0003")


@pytest.mark.parametrize("text", ["{", "{}", '{\n "id": 1\n}'])
def test_malformed_record(tmp_path, text):
    (three(tmp_path) / "R-0002.json").write_text(text)
    list_sum(tmp_path, "R-0002.json")
    fails(tmp_path, "R-0002", r"^R-0002\.json is not a record: ")


def test_folder_in_place_of_a_record(tmp_path):
    (three(tmp_path) / "R-0004.json").mkdir()
    fails(tmp_path, "R-0004", r"^cannot read R-0004\.json: ")


@pytest.mark.parametrize("superseded", ["R-0009", "R-0002", "R-0003", "nonsense"])
def test_superseded_record_that_is_not_before(tmp_path, superseded):
    edit(three(tmp_path) / "R-0002.json", supersedes=superseded)
    list_sum(tmp_path, "R-0002.json")
    assert store.check(tmp_path) == [
        f"R-0002 supersedes {superseded}, which is no record before it"
    ]


@pytest.mark.parametrize("name", ["R-1.json", "R-00004.json", "R-0004.JSON", "R-0004.json.orig"])
def test_file_that_is_not_named_as_a_record(tmp_path, name):
    (three(tmp_path) / name).touch()
    (found,) = store.check(tmp_path)
    assert found.startswith(f"{name} is not named as a record is")


def test_all_that_is_wrong_is_said(tmp_path):
    (three(tmp_path) / "R-0001.json").unlink()
    edit(tmp_path / "R-0002.json", rows=[])
    (tmp_path / "R-0004.json").touch()
    assert [line.split()[0] for line in store.check(tmp_path)] == [
        "R-0001.json",
        "R-0002.json",
        "R-0004.json",
    ]


@pytest.mark.parametrize(
    "line", ["", "nonsense", f"{'0' * 63}  R-0001.json", f"{'0' * 64}  ../R-0001.json", "again"]
)
def test_malformed_sums(tmp_path, line):
    sums = three(tmp_path) / store.SUMS
    listed = sums.read_text()
    sums.write_text(listed + (listed.splitlines()[0] if line == "again" else line) + "\n")
    fails(tmp_path, "R-0001", r"^line 4 of SHA256SUMS in .* restore the file$")
    with pytest.raises(InputError, match="line 4 of SHA256SUMS"):
        store.add(record(), tmp_path)
    assert len(names(tmp_path)) == 4


def test_sums_that_are_not_text(tmp_path):
    (three(tmp_path) / store.SUMS).write_bytes(b"\xff")
    fails(tmp_path, "R-0001", "cannot read SHA256SUMS")


def test_record_that_never_was(tmp_path):
    with pytest.raises(InputError, match="there is no record R-0004 in "):
        store.load("R-0004", three(tmp_path))
    with pytest.raises(InputError, match="there is no record R-0001 in "):
        store.load("R-0001", tmp_path / "nowhere")


@pytest.mark.parametrize("id", ["", "1", "R-1", "r-0001", "R-0001.json", "../R-0001", "R-0001\n"])
def test_id_that_is_none(tmp_path, id):
    with pytest.raises(InputError, match="is not the id of a record: give one such as R-0001"):
        store.load(id, three(tmp_path))


def test_empty_folder(tmp_path):
    assert store.check(tmp_path) == store.ids(tmp_path) == []
