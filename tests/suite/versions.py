"""The versions of what is released: they are one, and the changelog has a section for it.

``python3 -m tests.suite.versions v1.2.3`` also wants them to be the tag's. Without other packages.
"""

import ast
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

IMAGE = r"agui-run-host:([\w.]+)"
NAMED = {
    "deploy/helm/agui/Chart.yaml": r"^(?:version|appVersion): (\S+)$",
    "deploy/your-agents/Dockerfile": IMAGE,
    "docs/howto-image.md": IMAGE,
    "docs/deploy.md": r"^ln -sfnT /opt/agui-(\S+) .*\n(?!systemctl)",
}
"""Files that name the image of this version; the plain manifests are made of the chart."""


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version of each package and of the image, by the file that states it."""
    host = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    javascript = json.loads((root / "clients/js/package.json").read_text())["version"]
    by_file = {"pyproject.toml": host, "clients/js/package.json": javascript}
    for statement in ast.parse((root / "agui_client/__init__.py").read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__version__":
            by_file["agui_client/__init__.py"] = ast.literal_eval(statement.value)
    for file, pattern in NAMED.items():
        named = re.findall(pattern, (root / file).read_text(), re.MULTILINE)
        by_file[file] = " and ".join(sorted(set(named)))
    return by_file


def faults(tag: str | None, root: Path = ROOT) -> list[str]:
    """The reasons why this commit cannot be released under a tag, a line each."""
    by_file = versions(root)
    release = tag.removeprefix("v") if tag else by_file["pyproject.toml"]
    lines = [
        f"{file} has version {version}, not {release}"
        for file, version in by_file.items()
        if version != release
    ]
    heading = next(
        (line for line in (root / "CHANGELOG.md").read_text().splitlines() if line[:3] == "## "), ""
    )
    if not heading.startswith(f"## {release} "):
        lines.append(f"CHANGELOG.md begins with {heading or 'no section'}")
    elif tag and heading.endswith("unreleased"):
        lines.append("CHANGELOG.md has no date for it yet")
    return lines


if __name__ == "__main__":
    by_file = faults(sys.argv[1] if len(sys.argv) > 1 else None)
    print("\n".join(by_file) or "one version everywhere")
    sys.exit(bool(by_file))
