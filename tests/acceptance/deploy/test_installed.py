"""`pip install '.[embedded]'` into an empty environment, then `agui-host up` from elsewhere."""

import os
import re
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.acceptance.deploy.test_readme import FENCE
from tests.acceptance.host import ROOT, free_port, wait_for
from tests.conftest import own_data_dir
from tests.house import repository
from tests.needs import missing
from tests.suite import locked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PLACE = ROOT / ".venv" / "peers" / "installed"
LOCK = ROOT / "requirements" / "dev.lock"
KEY = "key-of-the-installed-host-0000000001"
README = (ROOT / "README.md").read_text()
PIP = re.compile(r"`pip install '\.\[(\w+)\]'`, then\s+`agui-host up`")
ASKED = [{"id": "q", "role": "user", "content": "What is a journal?"}]
QUESTION = {"messages": ASKED}


def quietly(*command: str | Path, **options: object) -> str:
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=550, **options,
    )  # fmt: skip
    if done.returncode:
        missing(f"{command[:4]} failed: {(done.stdout + done.stderr).strip()[-600:]}")
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    quietly(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, ROOT)
    return next(folder.glob("agui_run_host-*.whl"))


def environment(wheel: Path, extras: str, pins: Path) -> Path:
    """The programs of an environment of its own: the wheel with extras, in the lock's versions.

    It was empty when it was made; only another lock makes it again. Modules that share it can run
    at once: the first installs, and a wheel with the same content is not installed again.
    """
    place = PLACE / extras.replace(",", "-")
    stamp, has_wheel, programs = place / ".stamp", place / ".wheel", place / "bin"
    pip = (programs / "python", "-m", "pip", "install", "-q", "--no-input", "--no-compile")
    with locked.alone(place):
        if not locked.is_installed(stamp, LOCK):
            venv.create(place, clear=True, with_pip=True)
            versions = re.findall(r"^[\w.\[\]-]+==[^\\\n]+", LOCK.read_text(), re.MULTILINE)
            pins.write_text("\n".join(pin for pin in versions if "[" not in pin.split("==")[0]))
            quietly(*pip, "-c", pins, f"{wheel}[{extras}]")
            locked.note(stamp, LOCK)
            locked.note(has_wheel, wheel)
        if not locked.is_installed(has_wheel, wheel):
            quietly(*pip, "--force-reinstall", "--no-deps", wheel)
            locked.note(has_wheel, wheel)
    return programs


class Installed(NamedTuple):
    """A host that runs from the installed package, and how to call its command line."""

    url: str
    program: Path
    env: dict[str, str]
    cwd: Path

    def call(self, *args: str) -> str:
        return quietly(self.program, *args, env=self.env, cwd=self.cwd)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """As the README says, outside the clone."""
    command = PIP.search(README)
    assert command, "the README says how to install"
    folder = tmp_path_factory.mktemp("anywhere")
    with running(environment(wheel, command[1], folder / "pins"), folder, {}) as host:
        yield host


@pytest.fixture(scope="module")
def with_langgraph(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """With the LangGraph example of docs/examples/frameworks.md."""
    folder = tmp_path_factory.mktemp("graph")
    page = (ROOT / "docs" / "examples" / "frameworks.md").read_text()
    example = next(text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    (folder / "my_graph.py").write_text(example)
    programs = environment(wheel, "embedded,langgraph", folder / "pins")
    agents = {"PYTHONPATH": str(folder), "AGUI_AGENT_MODULES": "my_graph"}
    with running(programs, folder, agents) as host:
        yield host


@contextmanager
def running(bin_dir: Path, folder: Path, more: dict[str, str]) -> Iterator[Installed]:
    """`agui-host up` of these programs, in ``folder``."""
    names = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {"AGUI_DEMO_API_KEY": KEY, **more}
    with own_data_dir() as data, (folder / "up.log").open("wb") as log:
        env["AGUI_DATA_DIR"] = str(data)
        port = free_port()
        program = bin_dir / "agui-host"
        up = subprocess.Popen(
            [str(program), "up", "--port", str(port)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=folder,
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: ready(url), f"agui-host up, which says {folder / 'up.log'}", 120)
            yield Installed(url, program, env, folder)
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(60)


def ready(url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/ready", timeout=5).json()["status"] == "ready")
    except (httpx.HTTPError, ValueError):
        return False


def events(answer: str) -> list[str]:
    return re.findall(r'"type": ?"([A-Z_]+)"', answer)


def test_the_readmes_curl_line_streams_a_run(installed: Installed) -> None:
    line = next(text for _, _, text in FENCE.findall(README))
    line = line.replace("http://127.0.0.1:8000", installed.url)
    answer = quietly("bash", "-c", line, env=installed.env | {"AGUI_KEY": KEY})
    assert "RUN_FINISHED" in answer
    assert "journal" in answer, "the agent reads the documentation that came with the package"


def test_pages_and_styles_came_with_the_package(installed: Installed) -> None:
    assert "Sign in" in httpx.get(f"{installed.url}/login/").text
    assert httpx.get(f"{installed.url}/static/css/host.css").status_code == 200


def test_a_key_made_on_the_command_line_works(installed: Installed) -> None:
    key = installed.call("create-key", "demo", "laptop", "--scopes", "read").strip()
    headers = {"Authorization": f"Bearer {key}"}
    assert httpx.get(f"{installed.url}/api/v1/runs", headers=headers).status_code == 200
    refused = httpx.post(f"{installed.url}/agui", headers=headers, json=QUESTION)
    assert refused.status_code == 403


def test_without_the_extra_there_is_no_langgraph(installed: Installed) -> None:
    python = installed.program.with_name("python")
    spec = quietly(python, "-c", "import importlib.util as i; print(i.find_spec('langgraph'))")
    assert spec == "None\n"
    quietly(python, "-m", "pip", "check")


def test_the_langgraph_example_asks_and_is_answered(with_langgraph: Installed) -> None:
    def ask(**body: object) -> str:
        url, headers = (
            f"{with_langgraph.url}/agui/agent/graph/run",
            {"Authorization": f"Bearer {KEY}"},
        )
        return httpx.post(url, headers=headers, json={"threadId": "t", **body}, timeout=60).text

    asking = ask(messages=ASKED)
    assert '"interrupt"' in asking, asking[-600:]
    assert '"message":"Shall I?"' in asking.replace('": "', '":"')
    with httpx.Client(
        base_url=with_langgraph.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=60
    ) as client:
        (question,) = client.get("/api/v1/interrupts?status=open").json()["results"]
    entry = {"interruptId": question["interrupt_id"], "status": "resolved", "payload": "yes"}
    answer = ask(messages=ASKED, resume=[entry])
    assert "RUN_FINISHED" in answer, answer[-600:]
    assert "The answer was: yes" in answer.replace("\\", ""), answer[-1500:]


def test_the_wheel_has_every_function_of_the_database(wheel: Path) -> None:
    files = [path for path in repository.files() if path.suffix == ".sql"]
    ours = {path.as_posix() for path in files if path.parts[0] in repository.PACKAGES}
    assert len(ours) > 10
    assert ours <= set(zipfile.ZipFile(wheel).namelist())


def test_the_command_line_names_itself(installed: Installed) -> None:
    assert re.fullmatch(r"agui-run-host \d+\.\d+\.\d+\n", installed.call("--version"))
    assert "create-team" in installed.call("help")
