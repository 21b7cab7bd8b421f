"""Runs the stock AG-UI clients of ``js/`` in Node."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

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


def run_scenario(scenario: dict[str, Any]) -> dict[str, Any]:
    """Play a scenario (see ``js/run.mjs``) with a stock client; what the client made of it."""
    done = run_node([str(ready_packages() / "run.mjs")], json.dumps(scenario))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


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
