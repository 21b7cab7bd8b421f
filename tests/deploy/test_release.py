"""A release is built in a clean clone, up to the point of publishing."""

import json
import os
import re
import runpy
import shutil
import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from agui_host import folders
from tests.deploy.guide import env_file
from tests.house.repository import ROOT
from tests.needs import missing, need
from tests.suite import versions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PINS = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^ \\;]+)", re.MULTILINE)
LINK = re.compile(r"""(?:href|src)="(?![a-z]+:|//)([^"?]+)""")
ID = re.compile(r"""\b(?:id|name)="([^"]+)""")
MOST_SOURCE = 3_000_000
"""Bytes of a source distribution."""
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
BUILD = [step["run"] for step in WORKFLOW["jobs"]["build"]["steps"] if "run" in step]
OF_A_TAG = {'python3 -m tests.suite.versions "$TAG"', "make audit"}
"""Steps that need the day of the release: the changelog's date, and the index's known holes."""
URL = "https://github.com/Acme/agui"
ANSWERS = """
case "$*" in
  */health) echo '{"commit":"0123456789ab"}';;
  */agui*) echo 'data: {"type":"RUN_FINISHED"}';;
esac
"""
LOCK = "requirements/release.lock"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean clone in which the steps of the workflow's job ``build`` have run."""
    assert set(BUILD) > OF_A_TAG
    clone = tmp_path_factory.mktemp("release") / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True, timeout=60)
    # What pip has installed for the other tests; the lock's time tells make that it is installed.
    (clone / ".venv").symlink_to(ROOT / ".venv")
    if (clone / LOCK).read_bytes() == (ROOT / LOCK).read_bytes():
        shutil.copystat(ROOT / LOCK, clone / LOCK)
    path = f"{need('node').parent}{os.pathsep}{os.environ['PATH']}"
    for step in BUILD:
        if step in OF_A_TAG:
            continue
        done = subprocess.run(
            ["bash", "-ec", step], cwd=clone, env={**os.environ, "PATH": path, "URL": URL},
            timeout=400, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            missing(f"{step}: {(done.stdout + done.stderr)[-1500:]}")
    return clone


def about(wheel: Path, name: str) -> bytes:
    """A file about the wheel's package."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/{name}")


def test_every_package_is_built_with_its_metadata(clone: Path) -> None:
    version = versions.versions()["pyproject.toml"]
    dist = clone / "dist"
    licence = (ROOT / "LICENSE").read_bytes()
    for name in ("agui_run_host", "agui_client"):
        wheel = dist / f"{name}-{version}-py3-none-any.whl"
        fields = dict(message_from_bytes(about(wheel, "METADATA")).items())
        assert about(wheel, "licenses/LICENSE") == licence
        assert fields["Project-URL"] == f"Repository, {URL}"
        assert fields["License-Expression"] == "Apache-2.0"
        assert fields["Description-Content-Type"] == "text/markdown"
        assert fields["Requires-Python"] == ">=3.11"
        source = dist / f"{name}-{version}.tar.gz"
        assert source.stat().st_size < MOST_SOURCE
        with tarfile.open(source) as archive:
            folders = {each.split("/")[1] for each in archive.getnames()}
        assert not folders & {"tests", "benchmarks", "clients", ".github"}
    with tarfile.open(dist / f"agui-host-client-{version}.tgz") as archive:
        files = set(archive.getnames())
        package = json.load(archive.extractfile("package/package.json") or pytest.fail("no file"))
        assert (archive.extractfile("package/LICENSE") or pytest.fail("no file")).read() == licence
    assert package["license"] == "Apache-2.0"
    assert package["repository"] == {"type": "git", "url": f"git+{URL}.git"}
    assert "package/dist/index.mjs" in files
    for line in (dist / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert sha256((dist / name).read_bytes()).hexdigest() == digest


def test_a_released_host_names_its_commit(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "ROOT", tmp_path)
    with zipfile.ZipFile(next((clone / "dist").glob("agui_run_host-*.whl"))) as wheel:
        module, _ = (
            wheel.extract(f"agui_project/{name}", tmp_path) for name in ("release.py", "COMMIT")
        )
    installed = runpy.run_path(module)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True, check=True
    ).stdout
    assert installed["commit"]() == head[:12]
    assert not (clone / "agui_project/COMMIT").exists()


def test_the_bill_of_materials_has_every_pin(clone: Path) -> None:
    bill = json.loads((clone / "dist/agui-run-host.cdx.json").read_text())
    components = {(each["name"].lower(), each["version"]) for each in bill["components"]}
    pins = PINS.findall((clone / "requirements/run.lock").read_text())
    assert {(name.lower(), version) for name, version in pins} <= components
    javascript = json.loads((clone / "dist/agui-host-client.cdx.json").read_text())
    component = javascript["metadata"]["component"]
    assert component["purl"].startswith("pkg:npm/agui-host-client@")
    assert component["name"] == "agui-host-client"


def test_the_site_has_every_page_and_its_search(clone: Path) -> None:
    pages = (clone / "docs").rglob("*.md")
    expected_pages = {
        each.relative_to(clone / "docs")
        .with_name("index.html" if each.stem == "README" else f"{each.stem}.html")
        .as_posix()
        for each in pages
    }
    built = {
        each.relative_to(clone / "site").as_posix() for each in (clone / "site").rglob("*.html")
    }
    assert expected_pages <= built
    assert "index.html" in built
    index = json.loads((clone / "site/search/search_index.json").read_text())
    assert any("webhook" in each["text"] for each in index["docs"])


def test_the_site_has_no_dead_link(clone: Path) -> None:
    """As a browser follows them; ``--strict`` ends the build for those of Markdown."""
    site = clone / "site"
    texts = {page: page.read_text() for page in site.rglob("*.html")}
    ids = {page: set(ID.findall(text)) for page, text in texts.items()}
    links, dead = 0, set()
    for page, text in texts.items():
        for link in set(LINK.findall(text)):
            links += 1
            path, _, anchor = unquote(link).partition("#")
            folder = site if path.startswith("/") else page.parent  # 404.html is anywhere
            target = (folder / path.lstrip("/")).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and anchor not in ids.get(target, {anchor})):
                dead.add(f"{page.relative_to(site)}: {link}")
    assert links > 1_000
    assert dead == set()


def test_one_version_everywhere_and_a_tag_must_be_it() -> None:
    assert versions.faults(None) == []
    assert len(versions.versions()) == 7
    assert len(versions.faults("v99.0.0")) == 8


def test_only_a_tag_publishes_and_only_what_was_tested() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}
    jobs = WORKFLOW["jobs"]
    assert {"make release", "make site", "make audit"} <= set(BUILD)
    (publishes,) = [step["run"] for step in jobs["npm"]["steps"] if "run" in step]
    assert publishes.endswith(" ./dist/*.tgz"), "npm takes dist/… for a repository of GitHub's"
    for name in ("pypi", "npm"):
        assert set(jobs[name]["needs"]) == {"test", "build", "image"}
        assert jobs[name]["permissions"]["id-token"] == "write"
    assert set(jobs["release"]["needs"]) == {"pypi", "npm", "image-name"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_an_image_has_a_name_only_after_it_was_tried_and_scanned() -> None:
    """On each platform; the name is for the very images, by their digests."""
    jobs = WORKFLOW["jobs"]
    image = jobs["image"]
    assert set(image["needs"]) == {"test", "build"}
    platforms = {
        each["platform"]: each["runner"] for each in image["strategy"]["matrix"]["include"]
    }
    assert platforms.keys() == {"amd64", "arm64"}
    assert platforms["arm64"].endswith("-arm"), "tried on its own processors"
    steps = image["steps"]
    kinds = [step.get("uses", step.get("run", "")).partition("@")[0] for step in steps]
    built, tried, scanned, passed_on = (
        next(number for number, kind in enumerate(kinds) if kind.startswith(part))
        for part in (
            "docker/build-push-action", ".ci/try-image", "anchore/scan-action",
            "actions/upload-artifact",
        )
    )  # fmt: skip
    assert built < tried < scanned < passed_on
    digest = "@${{ steps.push.outputs.digest }}"
    assert "push-by-digest=true" in steps[built]["with"]["outputs"]
    assert "tags" not in steps[built]["with"]
    assert steps[tried]["env"]["IMAGE"].endswith(digest)
    scan = steps[scanned]["with"]
    assert scan["image"].endswith(digest)
    assert (scan["fail-build"], scan["severity-cutoff"]) == (True, "high")
    assert not any(step.get("continue-on-error") for step in steps)
    name = jobs["image-name"]
    assert name["needs"] == "image"
    assert not any("build-push" in step.get("uses", "") for step in name["steps"])
    assert any("imagetools create" in step.get("run", "") for step in name["steps"])


def test_the_audit_looks_at_all_that_is_released() -> None:
    """The packages of Python, the client's of JavaScript, and the modules that pages load."""
    _, _, recipe = (ROOT / "Makefile").read_text().partition("\naudit: ")
    commands = recipe.partition("\n\n")[0]
    assert "pip-audit --strict" in commands
    for folder in ("$(CLIENT)", "requirements/vendor"):
        assert re.search(rf"npm --prefix {re.escape(folder)} audit .*--audit-level", commands)


@pytest.mark.parametrize(
    ("commit", "code"), [("0123456789abcdef", 0), ("fedcba9876543210", 1)], ids=["ours", "another"]
)
def test_an_image_is_tried_as_the_pages_deploy_it(tmp_path: Path, commit: str, code: int) -> None:
    """With stand-ins for Docker and curl, which answer as an image of the first commit does."""
    clone, programs, calls = tmp_path / "clone", tmp_path / "programs", tmp_path / "calls"
    for path in (clone / ".ci", clone / "deploy", programs):
        path.mkdir(parents=True)
    script = Path(shutil.copy(ROOT / ".ci" / "try-image", clone / ".ci"))
    shutil.copy(ROOT / "deploy" / "host.env.example", clone / "deploy")
    for name in ("docker", "curl"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} $* >> {calls}\n{ANSWERS}")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [script, "registry/agui@sha256:1", commit], env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    lines = calls.read_text().splitlines()
    assert lines[:3] == [
        "docker pull --quiet registry/agui@sha256:1",
        "docker tag registry/agui@sha256:1 agui-run-host:candidate",
        "docker compose up -d --no-build --wait",
    ]
    assert "docker compose exec -T -e AGUI_PUBLIC_URL= web python manage.py doctor" in lines
    assert lines[-1] == "docker compose down --volumes"
    assert ("docker compose logs --tail 100" in lines) is bool(code)
    settings = env_file(clone / ".env")
    assert all(settings[name] for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "AGUI_PUBLIC_URL"))
    certificate = clone / "deploy" / "tls" / "fullchain.pem"
    assert certificate.read_text().startswith("-----BEGIN CERTIFICATE-----")
