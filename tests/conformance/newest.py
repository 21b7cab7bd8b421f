"""``python -m tests.conformance.newest``: the judges in the versions that registries have today.

The files that pin them are copied to ``.venv/newest`` and raised there. A package that cannot be
raised keeps its pinned version, and is named.
"""

import json
import os
import shutil
import subprocess
import sys

from tests.conformance import node
from tests.conformance.judges import JUDGES, PEERS, SUITE
from tests.house.repository import ROOT

PLACE = ROOT / ".venv" / "newest"
UV = os.environ.get("UV", "uv")
COMPILE = [
    UV,
    "pip",
    "compile",
    "--quiet",
    "--universal",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
]


def done(*command: object, **options: object) -> bool:
    """Whether a command succeeded; what it complained of is printed."""
    ran = subprocess.run([str(each) for each in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if ran.returncode:
        print(ran.stderr.strip()[-400:], flush=True)
    return ran.returncode == 0


def raise_npm() -> list[str]:
    """The packages of npm; those that are old on purpose are left alone."""
    folder = PLACE / "js"
    shutil.copytree(ROOT / SUITE / "js", folder, ignore=shutil.ignore_patterns("node_modules"))
    pinned = json.loads((folder / "package.json").read_text())["dependencies"]
    npm = [*node.npm(node.need("node")), "--prefix", folder, "--no-audit", "--no-fund"]

    def failures(names: list[str]) -> list[str]:
        """All at once, else by halves, to the packages that cannot be raised."""
        newest = [f"{name}@latest" for name in names]
        if done(*npm, "install", "--package-lock-only", "--save-exact", *newest):
            return []
        half = len(names) // 2
        return [*failures(names[:half]), *failures(names[half:])] if half else names

    local = ("npm:", "file:")
    return failures([name for name, version in pinned.items() if not version.startswith(local)])


def raise_peers() -> list[str]:
    """The products that have an environment of their own."""
    folder = PLACE / "products" / "peers"
    folder.mkdir(parents=True)
    pinned = []
    for source in sorted(PEERS.glob("*.in")):
        lock, override = folder / f"{source.stem}.lock", source.with_suffix(".override")
        overrides = ["--override", override] if override.exists() else []
        if not done(*COMPILE, "--python-version", "3.11", *overrides, "-o", lock, source):
            shutil.copy(source.with_suffix(".lock"), lock)
            pinned.append(source.stem)
    return pinned


def raise_own() -> list[str]:
    """The judges of the tests' own environment, of which there is then another."""
    lock, python = PLACE / "dev.lock", PLACE / "python" / "bin" / "python"
    shutil.copy(ROOT / "requirements" / "dev.lock", lock)
    own = [each.package for each in JUDGES if each.package.startswith("pypi:") and not each.peer]
    names = [name.removeprefix("pypi:") for name in own]
    raised = [argument for name in names for argument in ("--upgrade-package", name)]
    is_newer = done(*COMPILE, "--all-extras", *raised, "-o", lock, ROOT / "pyproject.toml")
    if not done(sys.executable, "-m", "venv", "--clear", python.parents[1]):
        sys.exit("there is no environment for the tests")
    pip = [python, "-m", "pip", "install", "-q", "--no-input", "--no-compile", "--no-deps"]
    if not done(*pip, "--require-hashes", "-r", lock):
        sys.exit("what the tests need cannot be installed")
    return [] if is_newer else names


def main(arguments: list[str]) -> int:
    """Raise what can be raised, then run the judges."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    pinned = [*raise_npm(), *raise_peers(), *raise_own()]
    command = [PLACE / "python" / "bin" / "python", "-m", "tests.conformance.judges", *arguments]
    env = {**os.environ, "JUDGES_NEWEST": str(PLACE)}
    code = subprocess.run(command, env=env, cwd=ROOT, check=False).returncode
    print("Kept as pinned, since the newest does not install:", ", ".join(pinned) or "none")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
