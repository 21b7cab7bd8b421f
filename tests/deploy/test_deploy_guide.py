"""docs/deploy.md followed literally, where no deployment need run; the rest: test_deployed."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from agui_host.backends.postgres import roles
from agui_project import cli
from tests.acceptance.host import free_port
from tests.deploy.compose_files import ROOT, compose, environment_of
from tests.deploy.guide import Reader, blocks, env_file
from tests.deploy.test_deployment_files import LONGEST_DRAIN, manifest
from tests.needs import need, need_root

DOCKER = {"docker"}
DEBIAN = {
    "apt-get", "useradd", "python3", "runuser", "systemctl", "systemd-run", "nginx", "caddy",
}  # fmt: skip


def test_every_block_is_followed() -> None:
    """A new section with blocks needs a test here, a new program a stand-in with a meaning."""
    assert set(blocks()) == {
        "Compose", "Images by digest", "The first person", "Rolling out a new version", "systemd",
        "Kubernetes",
    }  # fmt: skip


def check(env: Mapping[str, str]) -> None:
    """Start with these settings, as far as that goes without a database."""
    paths = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy"],
        cwd=ROOT, env=paths | dict(env), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_compose(tmp_path: Path) -> None:
    need_root()
    reader = Reader(tmp_path, DOCKER)
    reader.lay_certificate()
    calls = reader.follow("Compose")
    assert calls == [
        ["docker", "compose", "up", "-d", "--build", "--wait"],
        ["docker", "compose", "exec", "web", "python", "manage.py", "check", "--deploy",
         "--database", "default"],
        ["docker", "compose", "exec", "web", "python", "manage.py", "doctor"],
        ["docker", "compose", "exec", "web", "python", "manage.py", "sendtestemail",
         "you@example.com"],
    ]  # fmt: skip
    assert (reader.clone / ".env").stat().st_mode & 0o777 == 0o600
    env = env_file(reader.clone / ".env")
    for service in ("web", "worker"):
        check(environment_of(service, env) | {"AGUI_DATA_DIR": str(tmp_path)})
    key = reader.clone / "deploy" / "tls" / "privkey.pem"
    image = compose(env)["services"]["proxy"]["image"]
    assert "unprivileged" in image, "it runs as 101"
    assert (key.stat().st_uid, key.stat().st_mode & 0o777) == (101, 0o400)
    mounted = {volume.split(":")[0] for volume in compose(env)["services"]["proxy"]["volumes"]}
    assert all((reader.clone / path).exists() for path in mounted)


def test_images_by_digest(tmp_path: Path) -> None:
    """The registry's answers are written down, again when they change; without one, nothing is."""
    named = {"python:3.13-slim", "postgres:18", "valkey/valkey:9"}
    files = [Path("docker-compose.yml"), Path("Dockerfile")]
    reader = Reader(tmp_path, DOCKER)

    def images() -> set[str]:
        text = "\n".join((reader.clone / path).read_text() for path in files)
        return set(re.findall(r"^(?:FROM| +image:) (.*)$", text, re.MULTILINE))

    before = images()
    others = {image for image in before if not image.startswith("agui-run-host:")}
    assert named < others
    for digit in "ab":
        digest = f"sha256:{digit * 64}"
        ask = "docker buildx imagetools inspect {} --format {{{{.Manifest.Digest}}}}"
        calls = reader.follow(
            "Images by digest", {ask.format(image): f"{digest}\n" for image in others}
        )
        assert sorted(call[4] for call in calls) == sorted(others), "by tag, each once"
        assert images() == before - others | {f"{image}@{digest}" for image in others}
    pinned = images()
    with pytest.raises(AssertionError, match="no digest"):
        reader.follow("Images by digest")
    assert images() == pinned


def test_the_first_person(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {*DOCKER, "curl"})
    *commands, request = reader.follow("The first person", AGUI_KEY="agui_key")
    assert [call[:6] for call in commands] == [
        ["docker", "compose", "exec", "web", "python", "manage.py"]
    ] * 2
    assert request[:3] == ["curl", "-N", "https://agents.example.com/agui"]


def test_rolling_out(tmp_path: Path) -> None:
    reader = Reader(tmp_path, DOCKER)
    old = "docker compose ps -q web worker"
    calls = reader.follow("Rolling out a new version", {old: "web1 web2 worker1 worker2\n"})
    plain = [" ".join(call) for call in calls]
    assert plain[:3] == ["docker compose build", "docker compose run --rm migrate", old]
    assert plain[3].startswith("docker compose up -d --no-deps --no-recreate --wait --scale web=4")
    (stop,) = [call for call in calls if call[1] == "stop"]
    assert stop[:3] == ["docker", "stop", "-t"]
    assert int(stop[3]) > LONGEST_DRAIN
    assert stop[4:] == ["web1", "web2", "worker1", "worker2"]
    assert plain.index(" ".join(stop)) < plain.index("docker rm web1 web2 worker1 worker2")
    assert plain[-1] == "docker compose exec proxy nginx -s reload" or plain[-1].startswith(
        "docker rm"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """A Debian on which the systemd section was followed to its end."""
    reader = Reader(tmp_path_factory.mktemp("server"), DEBIAN)
    reader.lay_certificate()
    for folder in ("etc/systemd/system", "etc/nginx/conf.d", "etc/caddy"):
        (reader.root / folder).mkdir(parents=True)
    for version in ("agui-0.1.0", "agui-0.2.0"):
        for program in ("pip", "agui-host"):
            reader.stand_in(reader.root / "opt" / version / "bin" / program)
    reader.follow("systemd")
    return reader


def test_systemd(server: Reader) -> None:
    system, root = server.root / "etc" / "systemd" / "system", str(server.root)
    calls = [[word.replace(root, "") for word in call] for call in server.calls]
    units = {path.name: path.read_text() for path in system.iterdir()}
    assert set(units) == {"agui-migrate.service", "agui-web@.service", "agui-worker@.service"}
    owner, application = [call[-1] for call in calls if call[0] == "useradd"]
    assert ["runuser", "-u", "postgres", "--", "createuser", owner] in calls
    assert ["runuser", "-u", "postgres", "--", "createdb", "--owner", owner, "agui"] in calls
    statements = " ".join(call[-1] for call in calls if "psql" in call)
    assert f"create role {application} login noinherit" in statements
    writer = roles.name("agui", roles.WRITER)
    assert f"grant {application}, {writer} to {owner} with admin option" in statements
    assert ["python3", "-m", "venv", "/opt/agui-0.1.0"] in calls
    assert (server.root / "opt" / "agui").readlink().name == "agui-0.2.0", "the last one deployed"
    for unit, text in units.items():
        account = owner if "migrate" in unit else application
        assert re.search(rf"^User={account}$", text, re.MULTILINE)
        (program, command) = re.findall(r"^ExecStart=(\S+) (\w+)", text, re.MULTILINE)[0]
        assert program == "/opt/agui/bin/agui-host"
        assert command in (*cli.LONG_LIVED, *cli.COMMANDS)
    (path,) = set(re.findall(r"^EnvironmentFile=(.*)$", "".join(units.values()), re.MULTILINE))
    file = Path(root + path)
    assert file.stat().st_mode & 0o777 == 0o600
    check(env_file(file) | {"AGUI_DATA_DIR": str(server.root)})
    doctor, operator = [call for call in calls if call[0] == "systemd-run"]
    assert doctor[doctor.index("--uid") + 1] == application
    assert "Environment=AGUI_DATA_DIR=/var/lib/agui" in doctor
    assert "Environment=AGUI_DATA_DIR=/var/lib/agui" in units["agui-web@.service"]
    assert f"EnvironmentFile={path}" in operator
    assert operator[operator.index("--uid") + 1] == owner
    assert operator[operator.index("/opt/agui/bin/agui-host") + 1] in cli.COMMANDS


def test_a_restart_takes_nothing_else_along(server: Reader) -> None:
    """A unit that requires, or is part of, one that is restarted is restarted with it."""
    system = server.root / "etc" / "systemd" / "system"
    restarted = [call[2] for call in server.calls if call[:2] == ["systemctl", "restart"]]
    ours = [name for name in restarted if name.startswith("agui-")]
    assert ours == [
        "agui-migrate", "agui-web@8001", "agui-web@8002", "agui-worker@1", "agui-worker@2",
    ]  # fmt: skip
    for path in system.iterdir():
        bound = re.findall(r"^(?:Requires|Requisite|BindsTo|PartOf)=(.*)$", path.read_text(), re.M)
        assert not [unit for unit in ours if any(unit in line for line in bound)], path.name
    for name in ("agui-web@", "agui-worker@"):
        text = (system / f"{name}.service").read_text()
        assert "Type=notify" in text, "the next restart must wait for this one"


def test_nginx(server: Reader) -> None:
    nginx = need("nginx")
    assert ["nginx", "-t"] in server.calls
    assert ["systemctl", "reload", "nginx"] in server.calls
    folder = server.root / "etc" / "nginx"
    (folder / "nginx.conf").write_text(
        "pid nginx.pid; error_log stderr; events {}\n"
        "http { access_log off; include conf.d/*.conf; include sites-enabled/*; }\n"
    )
    text = "".join(path.read_text() for path in (folder / "conf.d").iterdir())
    assert re.findall(r"listen (\d+)", text) == ["80", "443"]
    assert "listen 443 ssl http2;" in text
    for path in (folder / "conf.d").iterdir():
        # To test a file is to bind its ports, and these may be taken here.
        path.write_text(re.sub(r"listen \d+", lambda _: f"listen {free_port()}", path.read_text()))
    done = subprocess.run(
        [nginx, "-t", "-q", "-p", folder, "-c", "nginx.conf"],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    ports = re.findall(r"server 127\.0\.0\.1:(\d+)", text)
    started = [call for call in server.calls if call[:3] == ["systemctl", "enable", "--now"]]
    assert all(f"agui-web@{port}" in started[0] for port in ports)


def test_caddy(server: Reader) -> None:
    caddy = need("caddy")
    (call,) = [call for call in server.calls if call[0] == "caddy"]
    done = subprocess.run(
        [caddy, *call[1:]],
        env={"HOME": str(server.root)}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (server.root / "etc" / "caddy" / "Caddyfile").read_text()
    (upstreams,) = re.findall(r"reverse_proxy (.*) \{", text)
    nginx = (ROOT / "deploy" / "nginx" / "upstream-systemd.conf").read_text()
    assert upstreams.split() == re.findall(r"server (\S+) ", nginx)


def test_kubernetes(tmp_path: Path) -> None:
    reader = Reader(tmp_path, {"kubectl"})
    calls = reader.follow("Kubernetes")
    assert all(call[:3] == ["kubectl", "-n", "agui"] for call in calls[1:])
    generic, owner, apply, *_ = [call[3:] for call in calls[1:]]
    env = dict(manifest("ConfigMap", "agui")["data"])
    for secret in (generic, owner):
        literals = [word for word in secret if word.startswith("--from-literal=")]
        env |= dict(word.partition("=")[2].split("=", 1) for word in literals)
        check(env | {"AGUI_DATA_DIR": str(tmp_path)})
    names = {generic[3], owner[3]}
    path = reader.clone / apply[apply.index("-f") + 1]
    for each in yaml.safe_load_all(path.read_text()):
        secrets = re.findall(r"'secret(?:Ref|Name)': (?:\{'name': )?'([\w-]+)'", str(each))
        assert set(secrets) <= names, each["kind"]
    operated = {call[-1] for call in calls if "rollout" in call}
    operated |= {word for call in calls if "exec" in call for word in call if "deploy/" in word}
    assert operated == {"deploy/agui-web"}
    assert manifest("Deployment", "agui-web")
