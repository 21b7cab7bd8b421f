"""The Helm chart rendered by Helm itself, and the plain manifests made of it: `make manifest`.

Helm runs in its own process, since its library brings Go's runtime with its signal handlers.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.house.repository import ROOT

CHART = ROOT / "deploy" / "helm" / "agui"
PLAIN = ROOT / "deploy" / "kubernetes"
HEADER = "# Made of deploy/helm/agui by `make manifest`: change that, or values.yaml.\n"
INGRESS = "templates/route.yaml"
RENDER = """
import json, sys
import helm_python
path, name = sys.argv[1:]
answers = []
for values in json.load(sys.stdin):
    with helm_python.Chart.load(path) as chart:
        try:
            answers.append(chart.render(values, name=name, namespace="agui"))
        except helm_python.HelmError as error:
            answers.append(str(error))
json.dump(answers, sys.stdout)
"""
Values = Mapping[str, Any]


def render(variants: Sequence[Values], name: str = "agui") -> list[dict[str, str] | str]:
    """For each values the text of each template, or the message with which Helm refuses them."""
    done = subprocess.run(
        [sys.executable, "-c", RENDER, str(CHART), name],
        input=json.dumps(list(variants)), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    texts: list[dict[str, str] | str] = json.loads(done.stdout)
    return texts


def documents(rendered: Mapping[str, str]) -> list[dict[str, Any]]:
    """The manifests of a rendering."""
    text = "\n---\n".join(part for name, part in rendered.items() if not name.endswith(".txt"))
    return [document for document in yaml.safe_load_all(text) if document]


def plain() -> dict[Path, str]:
    """The plain manifests, as the chart makes them."""
    values = yaml.safe_load((PLAIN / "values.yaml").read_text())
    gateway, ingress = render([values, values | {"route": {"kind": "ingress"}}])
    assert isinstance(gateway, dict), gateway
    assert isinstance(ingress, dict), ingress
    parts = [text for name, text in sorted(gateway.items(), key=_order) if name.endswith(".yaml")]
    (route,) = [text for name, text in ingress.items() if name.endswith(INGRESS)]
    return {
        PLAIN / "agui.yaml": HEADER + "---\n".join(_tidy(part) for part in parts if part.strip()),
        PLAIN / "ingress.yaml": HEADER + _tidy(route),
    }


def _order(part: tuple[str, str]) -> tuple[bool, str]:
    """Settings first, which the others name."""
    return not part[0].endswith("settings.yaml"), part[0]


def _tidy(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[lines[0] == "---" :]) + "\n"


if __name__ == "__main__":
    for path, text in plain().items():
        path.write_text(text)
