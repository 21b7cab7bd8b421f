"""The wheel in an environment that has the packages which its metadata names, and no others.

The packages are links to those of the environment that runs the tests, where pip has put them from
requirements/dev.lock. Without an index, pip judges whether they are all that the wheel needs.
"""

import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import Path as Inside

import httpx
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.acceptance.host import KEY, ROOT, SEED, free_port, wait_for
from tests.conftest import own_data_dir
from tests.needs import missing
from tests.suite import clusters


def quietly(*command: str | Path, **options: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=550, **options,
    )  # fmt: skip
    if done.returncode:
        missing(f"{command[:4]} failed: {(done.stdout + done.stderr).strip()[-600:]}")
    return done.stdout


def built(folder: Path) -> Path:
    """The wheel of this checkout."""
    quietly(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, ROOT)
    return next(folder.glob("agui_run_host-*.whl"))


def environment(place: Path, wheel: Path, *extras: str) -> Path:
    """The programs of a new environment with the wheel and its extras."""
    venv.create(place)
    (packages,) = place.glob("lib/python*/site-packages")
    for each in needed(wheel, extras):
        link(each, packages)
    # Without a setting of this machine, which could name a folder of wheels.
    pip(place / "bin", "--isolated", "--no-index", f"{wheel}[{','.join(extras)}]")
    return place / "bin"


def pip(programs: Path, *args: str | Path) -> None:
    """`pip install` in the environment of these programs."""
    command = (sys.executable, "-m", "pip", "--python", programs / "python", "install")
    quietly(*command, "-q", "--no-input", "--no-compile", *args)


def needed(wheel: Path, extras: Sequence[str]) -> list[Distribution]:
    """Installed distributions that the wheel requires with these extras, directly or by others."""
    (metadata,) = (each for each in Inside(wheel).iterdir() if each.name.endswith(".dist-info"))
    by_name: dict[str, Distribution] = {}
    asked: dict[str, set[str]] = {}
    open_: list[tuple[Distribution, Sequence[str]]] = [(PathDistribution(metadata), extras)]
    while open_:
        by, with_extras = open_.pop()
        for requirement in map(Requirement, by.requires or ()):
            marker, name = requirement.marker, canonicalize_name(requirement.name)
            if marker and not any(marker.evaluate({"extra": e}) for e in ("", *with_extras)):
                continue
            if name in by_name and requirement.extras <= asked[name]:
                continue
            try:
                by_name[name] = distribution(name)
            except PackageNotFoundError:
                missing(f"{name}, which {by.metadata['Name']} requires, is not in dev.lock")
            asked.setdefault(name, set()).update(requirement.extras)
            open_.append((by_name[name], sorted(asked[name])))
    return list(by_name.values())


def link(package: Distribution, folder: Path) -> None:
    """Have the files of an installed package in this folder; its programs are not needed."""
    for file in package.files or ():
        source, target = Path(str(file.locate())), folder / file
        if ".." in file.parts or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copy2(source, target)


class Installed(NamedTuple):
    """A host that runs from the installed package, and how to call its command line."""

    url: str
    program: Path
    env: dict[str, str]
    cwd: Path

    def call(self, *args: str) -> str:
        return quietly(self.program, *args, env=self.env, cwd=self.cwd)


@contextmanager
def running(
    programs: Path, folder: Path, *, migrated: bool = True, **more: str
) -> Iterator[Installed]:
    """`agui-host up` of these programs in ``folder``; if ``migrated``, on a kept database."""
    names = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {"AGUI_DEMO_API_KEY": KEY, **more}
    with own_data_dir() as data, (folder / "up.log").open("wb") as log:
        env["AGUI_DATA_DIR"] = str(data)
        if migrated:
            clusters.of_hosts(SEED).copy_to(data)
        port = free_port()
        program = programs / "agui-host"
        up = subprocess.Popen(
            [str(program), "up", "--port", str(port)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=folder,
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: _ready(url), f"agui-host up, which logs to {folder / 'up.log'}", 120)
            yield Installed(url, program, env, folder)
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(60)


def _ready(url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/ready", timeout=5).json()["status"] == "ready")
    except (httpx.HTTPError, ValueError):
        return False
