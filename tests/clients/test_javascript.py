"""`npm pack` of clients/js, installed in an empty project: strict types, and its README runs."""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acceptance.host import ROOT, Host
from tests.conformance.node import npm, ready_packages, run_node
from tests.needs import need

PACKAGE = ROOT / "clients" / "js"
SERVED = ("host-agent.mjs", "host-frames.mjs", "citations.mjs")
EXAMPLES = re.findall(r"^```ts\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.M | re.S)
PRINTED = [
    r"(?s).*RUN_FINISHED\n.*succeeded\n.*",
    r"(?s)Approve: Pay 5 euros to Bob succeeded\n.*interrupt.answered\ncancelled\nnot_found\n",
    r"(?s).*journal.* no citations\n",
]
STRICT = {
    "strict": True, "noUncheckedIndexedAccess": True, "exactOptionalPropertyTypes": True,
    "module": "NodeNext", "target": "ES2022", "types": ["node"],
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, built, with its archive."""
    folder = copy(tmp_path_factory.mktemp("package") / "js")
    call_npm("pack", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def project(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the archive, the stock AG-UI client, and the types of Node."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"name": "empty", "private": true, "type": "module"}')
    (archive,) = built.glob("*.tgz")
    call_npm("install", "--offline", "--no-audit", "--no-fund", str(archive), cwd=folder)
    modules = folder / "node_modules"
    assert [each.name for each in modules.iterdir() if each.name[0] != "."] == ["agui-host-client"]
    for other in (PACKAGE / "node_modules").iterdir():
        if other.name[0] != ".":
            (modules / other.name).symlink_to(other)
    for number, example in enumerate(EXAMPLES):
        (folder / f"example{number}.mts").write_text(example)
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT}))
    return folder


def copy(folder: Path) -> Path:
    """A copy of the package, with the compiler of its lock file."""
    modules = ready_packages(PACKAGE) / "node_modules"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(modules)
    return folder


def call_npm(*args: str, cwd: Path) -> None:
    done = subprocess.run(
        [*npm(need("node")), "--loglevel=error", *args],
        cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_host_serves_is_what_the_package_has(built: Path) -> None:
    """After a change: `make client`."""
    for name in SERVED:
        assert (ROOT / "static" / "js" / name).read_text() == (built / "dist" / name).read_text()


def test_the_examples_compile_strictly_and_run(
    project: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = run_node(["node_modules/typescript/bin/tsc", "-p", "."], cwd=project)
    assert compiled.returncode == 0, compiled.stdout
    assert len(EXAMPLES) == len(PRINTED)
    monkeypatch.setenv("AGUI_URL", host.url)
    monkeypatch.setenv("AGUI_KEY", host.key)
    names = [f"example{number}.mjs" for number in range(len(EXAMPLES))]
    with ThreadPoolExecutor(len(names)) as pool:
        runs = list(pool.map(lambda name: run_node([name], cwd=project), names))
    for done, printed in zip(runs, PRINTED, strict=True):
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(printed, done.stdout), done.stdout + done.stderr


def test_without_the_stock_client_its_types_still_stand(project: Path, tmp_path: Path) -> None:
    """HostClient needs neither the types of Node nor those of a browser."""
    (tmp_path / "node_modules").mkdir()
    package = project / "node_modules" / "agui-host-client"
    shutil.copytree(package, tmp_path / "node_modules" / "agui-host-client")
    (tmp_path / "main.mts").write_text(
        'import { HostClient, type Run } from "agui-host-client";\n'
        'export const run: Promise<Run> = new HostClient({ url: "https://x" }).start();\n'
        "// @ts-expect-error a number is no run\n"
        'void new HostClient({ url: "https://x" }).cancel(5);\n'
    )
    bare = {**STRICT, "types": [], "lib": ["ES2023"], "noEmit": True}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": bare}))
    tsc = project / "node_modules" / "typescript" / "bin" / "tsc"
    compiled = run_node([str(tsc), "-p", "."], cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stdout


def test_the_package_is_as_the_issue_of_a_release_needs_it(built: Path) -> None:
    package = json.loads((built / "package.json").read_text())
    assert "dependencies" not in package
    assert package["peerDependenciesMeta"] == {"@ag-ui/client": {"optional": True}}
    assert '"resolved"' not in (PACKAGE / "package-lock.json").read_text()
    assert os.path.getsize(next(built.glob("*.tgz"))) < 100_000
