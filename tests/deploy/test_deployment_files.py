"""What `deploy/` and docker-compose.yml say, read as those who run it read it."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from agui_host.backends.postgres import roles
from tests.deploy.compose_files import IMAGE_ENV, MUST, compose, environment_of, example
from tests.house.repository import ROOT
from tests.needs import need

DEPLOY = ROOT / "deploy"
HOST_SERVICES = ("migrate", "web", "worker")
LONGEST_DRAIN = 3600 + 5 + 5
SETTING = re.compile(r"^\| `([A-Z][A-Z_]+)` \|", re.MULTILINE)
# What compose itself decides: the engines are services, and the port is the proxy's.
NOT_IN_FILE = {"DATABASE_URL", "REDIS_URL", "AGUI_DATA_DIR"}


@pytest.mark.parametrize("service", HOST_SERVICES)
def test_every_setting_reaches_every_process(service: str) -> None:
    names = set(SETTING.findall((ROOT / "docs" / "settings.md").read_text())) - NOT_IN_FILE
    assert len(names) > 60
    env_file = {**example(), **dict.fromkeys(names, "7")}
    reached = environment_of(service, env_file)
    assert {name for name in names if reached.get(name) != env_file[name]} == set()


def test_a_password_may_hold_any_character() -> None:
    owners, apps = "p/w@:d?#%&", "q/x@:e?#%&"
    env_file = {**example(), "POSTGRES_PASSWORD": owners, "AGUI_DATABASE_APP_PASSWORD": apps}
    for service in HOST_SERVICES:
        reached = environment_of(service, env_file)
        assert "p/w" not in reached["DATABASE_URL"]
        assert reached["PGPASSWORD"] == (owners if service == "migrate" else apps)


def test_web_and_worker_do_not_know_the_owner_of_the_database() -> None:
    """They log in as a role that owns nothing and have no way back, in all three deployments."""
    application = roles.name("agui", roles.APPLICATION)
    for service in HOST_SERVICES[1:]:
        reached = environment_of(service, example())
        assert reached["PGUSER"] == application
        assert MUST["POSTGRES_PASSWORD"] not in reached.values()
    assert environment_of("migrate", example())["PGUSER"] == "agui"
    owners = [each["kind"] for each in manifests() if "agui-owner" in str(each)]
    assert owners == ["Job"]
    accounts = {
        path.name: re.findall(r"^User=(.*)$", path.read_text(), re.MULTILINE)
        for path in (DEPLOY / "systemd").glob("*.service")
    }
    assert accounts == {
        "agui-migrate.service": ["agui"],
        "agui-web@.service": [application],
        "agui-worker@.service": [application],
    }


def test_only_the_proxy_is_published_and_only_on_loopback() -> None:
    services = compose(example())["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert all(port.startswith("127.0.0.1:") for port in services["proxy"]["ports"])


def test_the_proxy_bounds_what_an_address_opens() -> None:
    """A web process died of 17,400 connections that said nothing."""
    text = (ROOT / "deploy/nginx/agui.conf").read_text()
    values = dict(re.findall(r"^ +(\w+) +([^#\n]+);", text, re.MULTILINE))
    assert values["limit_conn"] == "agui_connections 512"
    assert values["limit_req"].startswith("zone=agui_requests ")
    assert int(values["client_header_timeout"].removesuffix("s")) <= 30
    assert int(values["keepalive_timeout"].removesuffix("s")) <= 60


def test_the_image_has_what_the_wheel_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    parts = [line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"]
    assert set(wheel["packages"]) <= set(parts)
    assert [part for part in parts if not (ROOT / part).exists()] == []


def test_every_container_is_locked_in() -> None:
    for name, service in compose(example())["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert "healthcheck" in service or name == "migrate", name
        assert "user" not in service
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE) == ["10001:10001"]


def test_two_of_each_and_migrate_once() -> None:
    services = compose(example())["services"]
    assert [services[name].get("scale", 1) for name in HOST_SERVICES] == [1, 2, 2]
    done = {"condition": "service_completed_successfully"}
    assert all(services[name]["depends_on"]["migrate"] == done for name in HOST_SERVICES[1:])


def test_what_stops_a_worker_waits_for_its_runs() -> None:
    assert settings.AGUI_WORKER_GRACE == settings.AGUI_RUN_TIMEOUT == 3600
    assert compose(example())["services"]["worker"]["stop_grace_period"] == "62m"
    assert LONGEST_DRAIN < 62 * 60
    unit = (DEPLOY / "systemd" / "agui-worker@.service").read_text()
    assert "TimeoutStopSec=62min" in unit
    assert "KillMode=mixed" in unit
    worker = manifest("Deployment", "agui-worker")["spec"]
    assert worker["template"]["spec"]["terminationGracePeriodSeconds"] == 62 * 60
    assert worker["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_the_database_has_room_for_the_old_beside_the_new() -> None:
    """docs/operations.md says what a process holds; a deploy runs four of each for a while."""
    pool = settings.AGUI_DB_THREADS + settings.AGUI_REQUEST_SLOTS + 2
    web, worker = pool + settings.AGUI_DB_THREADS, 30
    command = compose(example())["services"]["postgres"]["command"]
    assert int(command[-1].removeprefix("max_connections=")) > 4 * (web + worker)
    (room,) = re.findall(r"max_connections = (\d+)", (ROOT / "docs" / "deploy.md").read_text())
    assert int(room) > 4 * (web + worker)


def test_the_health_check_of_a_container_asks_ready() -> None:
    web = compose(example())["services"]["web"]
    assert web["healthcheck"]["test"] == ["CMD", "python", "-m", "agui_host.embedded.liveness"]
    code = (ROOT / "agui_host" / "embedded" / "liveness.py").read_text()
    assert "else 8000) == 200" in code
    assert IMAGE_ENV["AGUI_DATA_DIR"] == "/var/lib/agui"


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / "agui.yaml").read_text()))


def manifest(kind: str, name: str) -> dict[str, Any]:
    return next(m for m in manifests() if (m["kind"], m["metadata"]["name"]) == (kind, name))


def test_systemd_knows_every_line(tmp_path: Path) -> None:
    verify = need("systemd-analyze")
    for path in (DEPLOY / "systemd").glob("*.service"):
        text = path.read_text()
        # The program and the account are not on this machine.
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE)
        (tmp_path / path.name).write_text(text)
    units = sorted(path.name.replace("@", "@1") for path in tmp_path.iterdir())
    assert units == ["agui-migrate.service", "agui-web@1.service", "agui-worker@1.service"]
    done = subprocess.run(
        [verify, "verify", "--man=no", "--recursive-errors=no", *units],
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:/lib/systemd/system"},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
