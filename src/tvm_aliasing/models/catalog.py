"""Real models that packages on PyPI bring along, fetched by pip and kept out of the repository."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import AliasingError, InputError
from ..files import cache_folder, write_whole
from .load import load_model


@dataclass(frozen=True)
class KnownModel:
    """A model file inside a wheel on PyPI, pinned.

    Attributes
    ----------
    name : str
    package, version : str
        The distribution on PyPI.
    wheel_sha256 : str
    platform : str
        The wheel's platform tag. The model file is the same in the wheels of all platforms.
    member : str
        The model file inside the wheel.
    model_sha256 : str
    licence : str
        SPDX identifier.
    licence_members : tuple of str
        The files inside the wheel that state the licence.
    dims : dict of str to int
        The size that each dynamic dimension is fixed to.
    description : str
    """

    name: str
    package: str
    version: str
    wheel_sha256: str
    platform: str
    member: str
    model_sha256: str
    licence: str
    licence_members: tuple
    dims: dict
    description: str

    @property
    def path(self):
        """Where the model file lies once fetched."""
        folder = cache_folder() / "models" / f"{self.name}-{self.version}"
        return folder / Path(self.member).name

    @property
    def fetched(self):
        """Whether the model file is there and is the right one."""
        return self.path.is_file() and _sha256(self.path.read_bytes()) == self.model_sha256


_KNOWN = (
    KnownModel(
        name="basic-pitch",
        package="basic-pitch",
        version="0.4.0",
        wheel_sha256="738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0",
        platform="any",
        member="basic_pitch/saved_models/icassp_2022/nmp.onnx",
        model_sha256="2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        licence="Apache-2.0",
        licence_members=(
            "basic_pitch-0.4.0.dist-info/LICENSE",
            "basic_pitch-0.4.0.dist-info/NOTICE",
        ),
        dims={"unk__749": 1},
        description="notes from two seconds of audio; convolutions, many reshapes and concats",
    ),
    KnownModel(
        name="magika",
        package="magika",
        version="1.0.3",
        wheel_sha256="3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
        platform="manylinux_2_28_x86_64",
        member="magika/models/standard_v3_3/model.onnx",
        model_sha256="fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        licence="Apache-2.0",
        # The wheel has no licence file; its metadata states the licence.
        licence_members=("magika-1.0.3.dist-info/METADATA",),
        dims={"unk__214": 1},
        description="the type of a file from its first and last bytes; elementwise and one conv",
    ),
)


def models():
    """Return the known models.

    Returns
    -------
    list of KnownModel
    """
    return list(_KNOWN)


def fetch(name):
    """Download a known model, unless it is there already.

    Files go to the folder of `cache_folder`. A model that is there is checked by its hash, without
    a network.

    Parameters
    ----------
    name : str
        A name from `models`.

    Returns
    -------
    pathlib.Path
        The model file, with its licence beside it.

    Raises
    ------
    InputError
        No such model.
    AliasingError
        The download failed, or is not the pinned file.
    """
    known = _find(name)
    if known.fetched:
        return known.path
    try:
        with tempfile.TemporaryDirectory() as scratch:
            wheel = _download(known, Path(scratch))
            # The model last: if it is there, all of it is.
            files = _extract(known, wheel)
            known.path.parent.mkdir(parents=True, exist_ok=True)
            for filename, data in files.items():
                write_whole(known.path.parent / filename, data)
    except OSError as err:
        raise AliasingError(f"cannot store {name} in {known.path.parent}: {err}") from err
    return known.path


def model(name):
    """Load a known model that has been fetched.

    Parameters
    ----------
    name : str
        A name from `models`.

    Returns
    -------
    Model
        Of fixed shapes, those in `KnownModel.dims`.
    """
    known = _find(name)
    if not known.fetched:
        raise InputError(
            f"the model {name} is not here yet: run `python -m tvm_aliasing models fetch {name}`"
        )
    return replace(load_model(known.path, known.dims), name=name)


def _find(name):
    for known in models():
        if known.name == name:
            return known
    names = ", ".join(known.name for known in models())
    raise InputError(f"no known model {name!r}; there are: {names}")


def _download(known, folder):
    """Let pip download the wheel, which checks its hash, and return its path."""
    requirements = folder / "requirements.txt"
    requirements.write_text(
        f"{known.package}=={known.version} --hash=sha256:{known.wheel_sha256}\n"
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--platform", known.platform]
    command += ["--disable-pip-version-check", "--retries", "2"]
    command += ["--dest", str(folder), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        wanted = f"{known.package} {known.version}"
        if "DO NOT MATCH THE HASHES" in done.stderr:
            raise AliasingError(
                f"what pip found as {wanted} is not the pinned file: its hash differs"
            )
        errors = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        # Without a network, pip's first error says that it found no version; the rest repeats it.
        reason = next((line for line in errors if line.startswith("ERROR:")), errors[-1])
        raise AliasingError(
            f"cannot download {wanted} (is there a network?); pip: {reason.removeprefix('ERROR: ')}"
        )
    return next(folder.glob("*.whl"))


def _extract(known, wheel):
    members = (*known.licence_members, known.member)
    with zipfile.ZipFile(wheel) as archive:
        files = {Path(member).name: archive.read(member) for member in members}
    if _sha256(files[known.path.name]) != known.model_sha256:
        raise AliasingError(f"{known.member} in {wheel.name} is not the pinned file")
    return files


def _sha256(data):
    return hashlib.sha256(data).hexdigest()
