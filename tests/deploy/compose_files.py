"""The shipped deployment as Docker and compose would read it: its files, without an engine."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r'^([A-Z_]+)=(?:"(.*)"|(.*))$')
VARIABLE = re.compile(r"\$\{(\w+)(?::(?P<how>[-?])(?P<text>[^}]*))?\}")
MUST = {
    "SECRET_KEY": "k3J9/vQ2+xZ7bN5mT8rW1yU4pL6sD0fG/hA+cE3iO9qX2uV5tB7nM1jK8wR4zY6=",
    "AGUI_SECRETS_KEYS": "w8Rt2Kq/5ZcY+0nLpX7vGd4JmB9sHf3Ue6TiVoA1yQzCkMxN",
    "POSTGRES_PASSWORD": "a/b@c:d?e#f%g+h=",
    "AGUI_DATABASE_APP_PASSWORD": "i/j@k:l?m#n%o+p=",
}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ARGUMENTS = dict(re.findall(r"^ARG (\w+)=(.*)$", DOCKERFILE, re.MULTILINE))
"""Of a build without ``--build-arg``."""
IMAGE_ENV = dict(
    re.sub(r"\$(\w+)", lambda name: ARGUMENTS[name[1]], pair).split("=", 1)
    for line in re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)
    for pair in line.split()
)


def example(path: Path = ROOT / "deploy" / "host.env.example") -> dict[str, str]:
    """The values of an env file, with those filled in that people must fill in."""
    values: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            match = LINE.match(line)
            assert match, line
            values[match[1]] = match[2] if match[2] is not None else match[3]
    empty = {name for name, value in values.items() if not value}
    assert empty == set(MUST), "these you must set, and no others"
    return values | MUST


def compose(env: Mapping[str, str]) -> dict[str, Any]:
    """docker-compose.yml with the variables of ``.env`` put in."""

    def value(match: re.Match[str]) -> str:
        if text := env.get(match[1]):
            return text
        assert match["how"] != "?", f"{match[1]}: {match['text']}"
        return match["text"] or ""

    def filled(node: Any) -> Any:
        match node:
            case str():
                return VARIABLE.sub(value, node)
            case list():
                return [filled(each) for each in node]
            case dict():
                return {key: filled(each) for key, each in node.items()}
        return node

    parsed: dict[str, Any] = filled(yaml.safe_load((ROOT / "docker-compose.yml").read_text()))
    return parsed


def environment_of(service: str, env: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a container: the image's, the env file's, the service's."""
    described = compose(env)["services"][service]
    assert described["env_file"] == ".env"
    return IMAGE_ENV | dict(env) | described["environment"]
