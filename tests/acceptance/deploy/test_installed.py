"""`pip install '.[embedded]'` into an empty environment, then `agui-host up` from elsewhere."""

import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.deploy.installed import Installed, built, environment, quietly, running
from tests.acceptance.deploy.test_readme import FENCE
from tests.acceptance.host import KEY, ROOT
from tests.house import repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
README = (ROOT / "README.md").read_text()
PIP = re.compile(r"`pip install '\.\[(\w+)\]'`, then\s+`agui-host up`")
ASKED = [{"id": "q", "role": "user", "content": "What is a journal?"}]
QUESTION = {"messages": ASKED}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """As the README says, outside the clone, from an empty data directory."""
    command = PIP.search(README)
    assert command, "the README says how to install"
    folder = tmp_path_factory.mktemp("anywhere")
    programs = environment(folder / "environment", wheel, command[1])
    with running(programs, folder, migrated=False) as host:
        yield host


@pytest.fixture(scope="module")
def with_langgraph(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """With the LangGraph example of docs/examples/frameworks.md."""
    folder = tmp_path_factory.mktemp("graph")
    page = (ROOT / "docs" / "examples" / "frameworks.md").read_text()
    example = next(text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    (folder / "my_graph.py").write_text(example)
    programs = environment(folder / "environment", wheel, "embedded", "langgraph")
    with running(programs, folder, PYTHONPATH=str(folder), AGUI_AGENT_MODULES="my_graph") as host:
        yield host


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
    quietly(sys.executable, "-m", "pip", "--python", python, "check")


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
