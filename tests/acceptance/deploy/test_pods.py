"""Pods played by processes: each with an empty directory, and the settings of the manifests."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings

from agui_host.embedded import paths, supervisor
from tests.acceptance.host import Host, free_port, wait_for
from tests.backends.s3.bucket import served
from tests.deploy.test_deployment_files import manifest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
POD_IP = "10.244.1.7:8000"
NAME = "agents.example.com"


class Pods:
    """Web processes on the database of a host, each with its own data directory."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder = host, folder
        self.jobs: list[supervisor.Job] = []

    def start(self, **changes: str) -> tuple[supervisor.Job, str]:
        """A web process with the settings of the manifests, and its address."""
        port = free_port()
        job = supervisor.web(port)
        job.name = f"pod-{port}"
        data = self.folder / job.name
        data.mkdir(mode=0o700)
        sockets = paths.socket_dir(self.host.data)
        engines = {
            "DATABASE_URL": f"postgres://postgres@/postgres?host={sockets}",
            "REDIS_URL": f"unix://{sockets / 'valkey'}",
        }
        pod = dict(manifest("ConfigMap", "agui")["data"])
        env = engines | pod | {"AGUI_DATA_DIR": str(data), "AGUI_METRICS_ADDRESS": ""} | changes
        self.host.spawn(job, PORT=str(port), **env)
        self.jobs.append(job)
        return job, f"http://127.0.0.1:{port}"


@pytest.fixture
def pods(host: Host, tmp_path: Path) -> Iterator[Pods]:
    pods = Pods(host, tmp_path)
    try:
        yield pods
    finally:
        for job in pods.jobs:
            job.stop()
        host.python(
            "from agui_host.runtimes.models import FileDirectory\n"
            "FileDirectory.objects.all().delete()"
        )


def ask(method: str, url: str, host: str, **options: Any) -> httpx.Response:
    headers = {"host": host, "x-forwarded-proto": "https"} | options.pop("headers", {})
    return httpx.request(method, url, headers=headers, timeout=60, **options)


def answers(url: str) -> bool:
    try:
        return ask("GET", f"{url}/ready", NAME).status_code == 200
    except httpx.HTTPError:
        return False


def test_pods_share_the_bucket_and_answer_probes_by_their_address(pods: Pods, host: Host) -> None:
    with served() as bucket:
        env = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
        _, one = pods.start(AGUI_FILES=bucket, **env)
        _, other = pods.start(AGUI_FILES=bucket, **env)
        for url in (one, other):
            wait_for(lambda url=url: answers(url), "a pod")
        spec = manifest("Deployment", "agui-web")["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = container[probe]["httpGet"]["path"]
            assert ask("GET", one + path, POD_IP).status_code == 200, probe
        assert ask("GET", f"{one}/api/v1/runs", POD_IP, headers=host.headers).status_code == 400

        content = os.urandom(settings.AGUI_FILE_MAX_BYTES)
        upload = ask(
            "POST", f"{one}/api/v1/files?name=large.bin", NAME, content=content,
            headers=host.headers | {"content-type": "application/octet-stream"},
        )  # fmt: skip
        assert upload.status_code == 201, upload.text
        file = upload.json()["id"]
        read = ask("GET", f"{other}/api/v1/files/{file}/content", NAME, headers=host.headers)
        assert hashlib.sha256(read.content).digest() == hashlib.sha256(content).digest()
        gone = ask("DELETE", f"{other}/api/v1/files/{file}", NAME, headers=host.headers)
        assert gone.status_code == 204


def test_pods_without_a_bucket_do_not_start_twice(pods: Pods, host: Host) -> None:
    """Each would have its own directory of files, and the others would find nothing there."""
    _, one = pods.start(AGUI_FILES="")
    wait_for(lambda: answers(one), "the first pod")
    second, _ = pods.start(AGUI_FILES="")
    wait_for(lambda: bool(re.search(r"AGUI_FILES", host.log_of(second))), "the refusal")
    assert "is not the directory that keeps the files of this database" in host.log_of(second)
    assert second.process is not None
    assert second.process.wait(30) != 0
