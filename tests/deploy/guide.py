"""docs/deploy.md as its reader follows it: every block in a shell, in a root directory of its own.

What needs an engine, a cluster or another account is a stand-in that writes down how it was
called; everything else (cp, install, sed, openssl, loops, redirections) is real. A program that
is neither fails its block.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.backends.test_tls_engines import Authority
from tests.deploy.compose_files import ROOT

GUIDE = (ROOT / "docs" / "deploy.md").read_text()
FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
REAL = (
    "cat", "chmod", "cp", "install", "ln", "mkdir", "openssl", "rm", "sed", "tr",
)  # fmt: skip
STAND_IN = f"""#!{sys.executable} -ISE
import json, os, sys
name = os.path.basename(sys.argv[0])
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([name, *sys.argv[1:]]) + "\\n")
answers = json.loads(os.environ["ANSWERS"])
print(answers.get(" ".join([name, *sys.argv[1:]]), ""), end="")
"""
Calls = list[list[str]]


def blocks() -> dict[str, list[tuple[str, str]]]:
    """The blocks of each section: language and text."""
    sections = re.split(r"^## (.*)\n", GUIDE, flags=re.MULTILINE)
    assert not FENCE.findall(sections[0])
    blocks_by_name = {
        name: FENCE.findall(text) for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    return {name: each for name, each in blocks_by_name.items() if each}


class Reader:
    """Somebody who types in a section's blocks, in a clone of the repository."""

    def __init__(self, folder: Path, stand_ins: set[str]) -> None:
        self.root, self.clone = folder / "root", folder / "clone"
        programs = folder / "programs"
        for path in (self.root, self.clone / "deploy", programs):
            path.mkdir(parents=True)
        for path in (
            *(ROOT / "deploy").rglob("*"),
            ROOT / "Dockerfile",
            ROOT / "docker-compose.yml",
        ):
            if path.is_file():
                target = self.clone / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        for name in REAL:
            (programs / name).symlink_to(_real(name))
        (programs / "python3").symlink_to(sys.executable)
        for name in stand_ins:
            self.stand_in(programs / name)
        self.calls: Calls = []
        self._calls = folder / "calls"
        self._env = {"PATH": str(programs), "CALLS": str(self._calls), "HOME": str(folder)}

    def lay_certificate(self) -> None:
        """What Let's Encrypt has left on the server."""
        folder = self.root / "etc" / "letsencrypt" / "live" / "agents.example.com"
        folder.mkdir(parents=True)
        authority = Authority(self.root, "encrypt", "127.0.0.1")
        shutil.copy(authority.certificate, folder / "fullchain.pem")
        shutil.copy(authority.key, folder / "privkey.pem")

    def stand_in(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(STAND_IN)
        path.chmod(0o755)

    def follow(self, section: str, answers: Mapping[str, str] | None = None, **env: str) -> Calls:
        """Type in every block of a section; the calls of the stand-ins, in their order.

        ``answers`` is what calls print. Paths of the system lie below ``root``.
        """
        self._calls.write_text("")
        for language, text in blocks()[section]:
            assert language == "sh", f"nobody knows how to follow {language!r}"
            script = re.sub(r"(?<![\w.:/-])/(etc|opt|var/lib)(?=/)", rf"{self.root}/\1", text)
            # The last command may be in the background.
            done = subprocess.run(
                ["/bin/sh", "-eu", "-c", f"{script}\nwait"],
                cwd=self.clone, capture_output=True, text=True, timeout=60, check=False,
                env={**self._env, "ANSWERS": json.dumps(answers or {}), **env},
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), f"{text}\n{done.stderr}"
        self.calls = [json.loads(line) for line in self._calls.read_text().splitlines()]
        return self.calls


def env_file(path: Path) -> dict[str, str]:
    """An env file as compose and systemd read it: quotes around a value are not part of it."""
    pairs = (line.partition("=")[::2] for line in path.read_text().splitlines())
    return {name: value.strip('"') for name, value in pairs if name and not name.startswith("#")}


def _real(name: str) -> str:
    for folder in os.defpath.split(":"):
        if folder and os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    raise LookupError(name)
