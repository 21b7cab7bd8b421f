"""The shipped deployment really starts and lets the first person in."""

import json
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from benchmarks.report import keep
from tests.acceptance.browser.test_two_browsers import CODE
from tests.acceptance.deploy.people import Person, work
from tests.acceptance.deployed import (
    COMMIT,
    FAULT,
    NAME,
    WEBS,
    WORKERS,
    Deployed,
    mailed,
    owned_by_account,
)
from tests.acceptance.rolling import Deploy, Load, Readers
from tests.chromium import ARGS, SECONDS
from tests.conftest import own_data_dir
from tests.deploy.compose_files import compose
from tests.deploy.guide import Reader
from tests.needs import need, need_root

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PEOPLE = ("fay", "gil", "hal", "ida", "jon")
FIVE = """
teams:
  five:
    name: Five
    owner: fay@example.com
    members: {gil@example.com: admin, hal@example.com: member, ida@example.com: member,
              jon@example.com: viewer}
"""
SOUND = {
    "public url": f"https://{NAME}",
    "certificate": "valid",
    "websockets": "pass through",
    "streams": "",
    "workers": "default: 2",
}
"""Subjects of the doctor's report that were really looked at, and their findings."""
ALICE, PASSWORD = "alice@example.com", "alices-horse-battery-staple"


@pytest.fixture(scope="module")
def deployed() -> Iterator[Deployed]:
    need_root()
    need("nginx")
    with own_data_dir() as folder:
        deployed = Deployed(folder)
        deployed.build()
        with deployed.engines():
            try:
                deployed.run(*deployed.command("migrate"), service="migrate")
                for name in (*WEBS, *WORKERS):
                    deployed.start(name)
                deployed.start_proxy()
                deployed.wait_ready()
                yield deployed
            finally:
                deployed.stop()
        assert owned_by_account(deployed.app) == []


EXEC = ["docker", "compose", "exec", "web"]


def follow(deployed: Deployed, folder: Path, section: str) -> tuple[list[str], list[list[str]]]:
    """What the containers' commands of a section of docs/deploy.md print; its other calls."""
    reader = Reader(folder, {"docker", "curl"})
    reader.lay_certificate()
    calls = reader.follow(section, AGUI_KEY="the-key")
    inside = [call[len(EXEC) :] for call in calls if call[: len(EXEC)] == EXEC]
    others = [call for call in calls if call[: len(EXEC)] != EXEC]
    outputs = []
    for command in inside:
        if command[-1] != "doctor":
            outputs.append(deployed.run(*command))
            continue
        report, code = deployed.examine(*command)
        assert (FAULT.findall(report), code) == ([], 0), report
        outputs.append(report)
    return outputs, others


def test_what_compose_starts_is_sound(deployed: Deployed, tmp_path: Path) -> None:
    """The doctor is green, and the health checks of its containers."""
    need_root()
    (checked, examined, mailed), (up,) = follow(deployed, tmp_path, "Compose")
    assert "no issues" in checked
    for subject, finding in SOUND.items():
        assert re.search(rf"^ok     {subject} +.*{finding}", examined, re.MULTILINE), examined
    assert "To: you@example.com" in mailed
    assert up == ["docker", "compose", "up", "-d", "--build", "--wait"]
    for name in ("web-1", "worker-1"):
        service = name.partition("-")[0]
        kind, *check = compose(deployed.file)["services"][service]["healthcheck"]["test"]
        assert kind == "CMD"
        port = [str(deployed.ports[name])] if name in WEBS else []
        deployed.run(*check, *port, service=service)


def test_logs_and_health_name_the_commit(deployed: Deployed) -> None:
    with deployed.client() as client:
        assert client.get("/health").json()["commit"] == COMMIT[:12]
    for name in (*WEBS, *WORKERS):
        (line,) = [line for line in deployed.log(name).splitlines() if ".started" in line][:1]
        values = json.loads(line)
        assert values["event"] == f"{name.partition('-')[0]}.started"
        assert values["commit"] == COMMIT[:12]


def test_web_and_worker_are_not_the_owner_of_the_database(deployed: Deployed) -> None:
    """Nor can they become it: neither their connections nor their settings know how."""
    (logins,) = deployed.sql(
        "select array_agg(distinct usename) from pg_stat_activity"
        " where datname = 'agui' and pid <> pg_backend_pid()"
    )
    assert logins == (["agui_app"],)
    for statement in ("set role agui", "alter table teams_auditentry disable trigger all"):
        script = f"from django.db import connection; connection.cursor().execute('{statement}')"
        with pytest.raises(AssertionError, match=r"permission denied|must be owner"):
            deployed.run("python", "manage.py", "shell", "-c", script)


def test_a_command_line_has_a_place_to_write(deployed: Deployed) -> None:
    settings = deployed.folder / "var" / "command.json"
    script = "echo text > here && cat here && cat > $HOME/input"
    settings.write_text(json.dumps({"argv": ["/bin/sh", "-c", script]}))
    settings.chmod(0o644)
    team = Load(deployed, "commands", runs=0, seconds=0, rate=1)
    deployed.run(
        "python", "manage.py", "create_agent", "--team", "commands", "--slug", "command",
        "--kind", "process", "--unconfined", "--file", str(settings), service="worker",
    )  # fmt: skip
    with deployed.client(team.key) as client:
        run = client.post("/api/v1/runs?wait=60", json={"agent": "command", "input": {}}).json()
        assert run["status"] == "succeeded", run
        log = client.get(f"{run['events_url']}", headers={"Accept": "text/event-stream"}).text
    assert '"delta":"text' in log


def test_the_first_person_signs_in_and_sees_a_run_stream(
    deployed: Deployed, tmp_path: Path
) -> None:
    """docs/deploy.md, "The first person": an invitation, a key, a mailed code, a run."""
    (made, key), (request,) = follow(deployed, tmp_path, "The first person")
    assert request[:3] == ["curl", "-N", "https://agents.example.com/agui"]
    header, body = "Authorization: Bearer the-key", request[request.index("-d") + 1]
    assert header in request
    with deployed.client(key.strip()) as client:
        typed = {"Content-Type": "application/json"}
        answer = client.post("/agui", content=body, headers=typed).text
    assert "RUN_FINISHED" in answer, answer
    link = re.search(r"https://\S+", made)
    assert link, made
    assert link[0].startswith(f"{deployed.url}/invitations/")
    chromium = need("chromium")
    args = [*ARGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=args)
        # Its own list of authorities is not ours to change; httpx checks the certificate.
        page = browser.new_context(ignore_https_errors=True).new_page()
        expect.set_options(timeout=SECONDS)
        page.goto(link[0])
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Username").fill("alice")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
        page.wait_for_url(re.compile(f"^{deployed.url}/account/verify/"))
        page.get_by_label("Code").fill(mailed(deployed, ALICE, CODE))
        page.get_by_label("Code").press("Enter")
        page.get_by_role("button", name="Join").click()
        page.wait_for_url(f"{deployed.url}/runs/")
        (cookie,) = [c for c in page.context.cookies() if c["name"] == "sessionid"]
        assert cookie["secure"]
        page.locator(".new").evaluate("form => { form.open = true }")  # closed beside runs
        page.get_by_label("Agent").first.select_option("slow")
        page.get_by_label("Message").fill("to the page")
        page.get_by_label("Message").press("Control+Enter")
        expect(page.locator("#connection")).to_have_text("Live")
        expect(page.locator("#conversation")).to_contain_text("to the page")
        browser.close()


def test_five_people_work_behind_the_proxy(deployed: Deployed) -> None:
    """A team from a file (docs/howto-apply.md), by the account of the containers."""
    file = deployed.folder / "var" / "host.yaml"
    file.write_text(FIVE)
    file.chmod(0o644)
    keys = ["--keys", str(file.with_name("keys"))]
    made = deployed.run("python", "manage.py", "apply", str(file), *keys)
    links = re.findall(rf"^{deployed.url}/invitations/\S+$", made, re.MULTILINE)
    people = [
        Person(name, deployed.url, deployed.client(), partial(mailed, deployed, what=CODE))
        for name in PEOPLE
    ]
    assert len(links) == len(people)
    for link in links:
        with deployed.client() as client:
            page = client.get(link.removeprefix(deployed.url)).text
        next(person for person in people if person.address in page).join(link)
    work(people, watching=PEOPLE[-1])
    assert "No changes." in deployed.run("python", "manage.py", "apply", str(file), *keys)


def test_a_deploy_ends_no_run_and_costs_no_event(deployed: Deployed) -> None:
    roll(deployed, "rolling", runs=10, seconds=20)


@pytest.mark.soak
def test_a_deploy_under_runs_of_a_minute(deployed: Deployed) -> None:
    keep("deploy", roll(deployed, "rolling-long", runs=10, seconds=60))


def roll(deployed: Deployed, team: str, *, runs: int, seconds: int) -> list[str]:
    """Both webs, both workers and the proxy restarted, under runs that outlast all of it.

    A report of it.
    """
    load, deploy = Load(deployed, team, runs, seconds, rate=10), Deploy(deployed)
    with Readers(deployed, load.key, load.runs) as readers:
        load.speak()
        began = time.monotonic()
        deploy.play()
        deployed.wait_ready()
        took = time.monotonic() - began
        with deployed.client(load.key) as client:
            after = [client.get(f"/api/v1/runs/{run['id']}").json()["status"] for run in load.runs]
        assert after == ["running"] * runs, "they span the whole deploy"
        load.finish()
        readers.finish()
    assert readers.problems == []
    assert readers.visits["refused"] == []
    logs = {}
    for run in load.runs:
        status, logs[run["id"]] = load.stored(run)
        assert status == "succeeded"
    for reading in readers.readings:
        assert reading.payloads == logs[reading.run], reading.way
        assert reading.connections > 1, "it was never cut"
    for run in load.runs:
        log = map(json.loads, logs[run["id"]])
        texts: dict[str, str] = {}
        for event in log:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
        visit = readers.visits["threads"][run["thread_id"]]
        assert visit["last"] == "RUN_FINISHED"
        assert visit["messages"] == list(texts.values())
        assert visit["connects"] > 1
    assert [old.wait(60) for old in deploy.drained] == [0, 0]
    connects = {"CopilotKit": [each["connects"] for each in readers.visits["threads"].values()]}
    for way, name in (("sse", "SSE"), ("websocket", "WebSocket")):
        connects[name] = [each.connections for each in readers.readings if each.way == way]
    return [
        f"restarted one by one in {took:.0f} s: {', '.join([*WEBS, *WORKERS, 'proxy'])}",
        f"{runs} runs that speak for {seconds} s, and outlast the deploy: all succeeded",
        f"{sum(map(len, logs.values()))} events over SSE and WebSocket: each once, in order;"
        " CopilotKit's messages: whole",
        *(f"{name}: {min(n)} to {max(n)} connections of a reader" for name, n in connects.items()),
    ]
