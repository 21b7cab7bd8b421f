"""CrewAI's flows and crews behind ag-ui-crewai as agents of the host, at their defaults."""

from collections.abc import Awaitable, Callable, Iterator

import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import PEERS, python, served
from tests.conformance.products.nightly import frameworks
from tests.conformance.products.readers import last_answers, runs

pytestmark = [pytest.mark.soak, pytest.mark.judge, pytest.mark.timeout(900)]
PACKAGE = "ag-ui-crewai"
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
}
"""Nothing is sent to its makers, and no list of prices is loaded."""


@pytest.fixture(scope="module")
def crew(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("crew")
    how = {"python": python(PACKAGE), "cwd": PEERS, "CREWAI_STORAGE_DIR": str(folder), **QUIET}
    agents = {"crew": "/flow", "crew-review": "/review"}
    with served(desk, "crewai_agent:app", folder, agents, **how):
        yield desk


@pytest.mark.parametrize("situation", frameworks.ALL, ids=lambda each: each.__name__)
async def test_a_situation(crew: Host, situation: Callable[[Host, str], Awaitable[None]]) -> None:
    await situation(crew, "crew")


async def test_a_crew_that_the_flow_asks(crew: Host) -> None:
    await frameworks.tool_of_the_agent(crew, "crew", "blue")


@pytest.mark.parametrize("turns", [1, 2])
async def test_a_question_of_a_flow(crew: Host, turns: int) -> None:
    """CrewAI gives each question of a thread the thread's id; each can be answered."""
    thread = f"review-{turns}"
    for turn in range(turns):
        run = crew.begin(
            "crew-review",
            threadId=thread,
            messages=[{"id": f"u{turn}", "role": "user", "content": "draft"}],
        )
        assert crew.wait_status(run["id"], "interrupted", "failed")["status"] == "interrupted"
        with crew.client() as client:
            listed = client.get("/api/v1/interrupts", params={"run": run["id"]}).json()
            (question,) = listed["results"]
            assert question["message"] == "Publish this?"
            answer = {"approved": False, "reason": f"too dull {turn}"}
            answered = client.post(f"/api/v1/interrupts/{question['id']}/answer", json=answer)
            assert answered.status_code == 200, answered.text
        later = answered.json()["run"]["id"]
        assert crew.wait_status(later, "succeeded", "failed")["status"] == "succeeded"
        read = await last_answers(crew, "crew-review", thread)
        assert all(f"too dull {turn}" in text for text in read.values()), read
    assert len(runs(crew, thread)) == turns * 2
