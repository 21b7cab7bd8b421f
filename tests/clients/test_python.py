"""`python -m build` of agui_client, installed in an empty environment: typed; its README runs."""

import os
import re
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import agui_client
from tests.acceptance.host import ROOT, Host
from tests.needs import missing
from tests.suite import locked

PLACE = ROOT / ".venv" / "peers" / "agui-client"
LOCK = ROOT / "requirements" / "dev.lock"
README = (ROOT / "agui_client" / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
PRINTED = [
    r"(?s).*[Jj]ournal.*",
    r"(?s).*RUN_FINISHED\n.*succeeded\n.*",
    r"Approve: Pay 5 euros to Bob\nsucceeded\n",
]


def finished(*command: str | Path, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel, which was built from the source archive beside it."""
    folder = tmp_path_factory.mktemp("archives")
    build = ("-m", "build", "--no-isolation", "-o", folder, ROOT / "agui_client")
    done = finished(sys.executable, *build)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def python(archives: Path) -> Path:
    """The Python of an environment with nothing but the wheel and what it needs.

    It was empty when it was made; only another lock makes it again.
    """
    (wheel,) = archives.glob("*.whl")
    stamp, program = PLACE / ".stamp", PLACE / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", program, "install", "-q", "--no-input")
    if not locked.is_installed(stamp, LOCK):
        venv.create(PLACE, clear=True)
        pins = re.findall(r"^[\w.-]+==[^\s;\\]+", LOCK.read_text(), re.MULTILINE)
        (archives / "pins").write_text("\n".join(pins))
        done = finished(*pip, "-c", archives / "pins", wheel)
        if done.returncode:
            missing(f"the client's requirements cannot be installed: {done.stderr[-400:]}")
        locked.note(stamp, LOCK)
    done = finished(*pip, "--force-reinstall", "--no-deps", wheel)
    assert done.returncode == 0, done.stderr
    return program


def test_the_package_says_what_it_is(python: Path) -> None:
    code = (
        "import importlib.metadata as m; print(m.distribution('agui-client').read_text('METADATA'))"
    )
    metadata = finished(python, "-c", code, cwd=PLACE).stdout
    assert f"Version: {agui_client.__version__}\n" in metadata
    for field in ("Author:", "Classifier: Typing :: Typed", "Keywords:", "License-Expression:"):
        assert field in metadata
    assert "no event is lost" in metadata


def test_the_examples_are_strictly_typed_and_run(python: Path, host: Host, tmp_path: Path) -> None:
    names = [f"example{number}.py" for number in range(len(EXAMPLES))]
    for name, text in zip(names, EXAMPLES, strict=True):
        (tmp_path / name).write_text(text)
    mypy = ("-m", "mypy", "--strict", "--python-executable", python, "--scripts-are-modules")
    typed = finished(sys.executable, *mypy, *names, cwd=tmp_path)
    assert typed.returncode == 0, typed.stdout + typed.stderr
    env = {**os.environ, "AGUI_URL": host.url, "AGUI_KEY": host.key}
    with ThreadPoolExecutor(len(names)) as pool:
        runs = list(pool.map(lambda name: finished(python, name, cwd=tmp_path, env=env), names))
    for done, printed in zip(runs, PRINTED, strict=True):
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(printed, done.stdout), done.stdout
    again = finished(python, names[1], cwd=tmp_path, env=env)
    assert again.returncode == 0, again.stderr
    assert again.stdout == "succeeded\n" * 3, "the program continues behind what it was done with"
