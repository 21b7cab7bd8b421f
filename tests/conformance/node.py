"""Runs the stock AG-UI clients of ``js/`` in Node."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.needs import missing, need

JS = Path(os.environ.get("JUDGES_NEWEST") or Path(__file__).parent) / "js"
SECONDS = 180
BUNDLE = """
import { build } from "esbuild";
let contents = "";
for await (const piece of process.stdin) contents += piece;
const options = { bundle: true, write: false, jsx: "automatic", logLevel: "silent" };
const define = { "process.env.NODE_ENV": '"development"' };
const stdin = { contents, loader: "jsx", resolveDir: process.cwd() };
const { outputFiles } = await build({ ...options, define, stdin });
console.log(outputFiles[0].text);
"""


class Answers:
    """A script of ``js`` in a process that stays: one question, one answer, each a line of JSON.

    To start Node and load a client takes longer than most questions.
    """

    def __init__(self, process: "subprocess.Popen[str]", errors: IO[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self.questions, self.answers, self.errors = process.stdin, process.stdout, errors
        self.asked = 0

    def __call__(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        self.questions.write(json.dumps(question) + "\n")
        self.questions.flush()
        line = self.answers.readline()
        assert line, self.stderr
        answer: dict[str, Any] = json.loads(line)
        assert "broke" not in answer, answer["broke"]
        return answer

    @property
    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode()


@contextmanager
def answering(script: str) -> Iterator[Answers]:
    """Answers until the end, with which the script ends; one that hangs is killed."""
    command = [str(need("node")), str(ready_packages() / script)]
    with (
        TemporaryFile() as errors,
        subprocess.Popen(
            command, cwd=JS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            encoding="utf-8",
        ) as process,
    ):  # fmt: skip
        answers = Answers(process, errors)
        try:
            yield answers
            answers.questions.close()
            process.wait(20)
        finally:
            process.kill()


def run_node(
    args: list[str],
    stdin: str = "",
    *,
    node: str = "node",
    cwd: Path = JS,
    seconds: float = SECONDS,
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """Node with these arguments, to its end; ``node`` is its name in ``tests.needs``."""
    return subprocess.run(
        [need(node), *args],
        input=stdin, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=seconds,
    )  # fmt: skip


def bundled(source: str) -> str:
    """A React application as one script for a browser, with the packages that it imports."""
    args = ["--input-type=module", "--eval", BUNDLE]
    done = run_node(args, source, cwd=ready_packages())
    assert done.returncode == 0, done.stderr
    return done.stdout


def ready_packages(folder: Path = JS) -> Path:
    """The directory of the JavaScript, with the packages that its lock file pins installed."""
    node = need("node")
    stamp, lock = folder / "node_modules" / ".stamp", folder / "package-lock.json"
    # The Makefile's rule: what was installed after the lock file last changed is what it says.
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        done = subprocess.run(
            [*npm(node), "ci", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
        if done.returncode:
            missing(
                f"needs the npm packages of {folder.name}/package-lock.json, and `npm ci` failed "
                f"(is the package registry reachable?): {done.stderr.strip()[-400:]}"
            )
        stamp.touch()
    return folder


def npm(node: Path) -> list[str]:
    """npm beside Node on PATH, or the one that lies in Node's wheel."""
    if path := shutil.which("npm"):
        return [path]
    cli = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not cli.is_file():
        missing("needs npm, which is not installed here")
    return [str(node), str(cli)]
