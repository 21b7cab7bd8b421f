"""Every Python example of docs/agents.md runs, and every agent in it gives valid events."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_host.runtimes import RunContext, builtin, registry
from agui_host.runtimes.kinds.table import RUNTIMES
from tests.runtimes.playing import of, play, run_input, text_of

GUIDE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def guide(monkeypatch: pytest.MonkeyPatch) -> dict[str, registry.Registered]:
    """The agents of the guide by slug."""
    monkeypatch.setattr(registry, "_agents", {})
    for number, example in enumerate(EXAMPLES):
        exec(example, {"__name__": f"example_{number}"})  # noqa: S102
    return dict(registry.all())


async def test_the_examples_do_what_the_guide_says(guide: dict[str, registry.Registered]) -> None:
    @asynccontextmanager
    async def spawn(slug: str, body: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The host's is in tests/runs/worker/test_children.py."""
        events = await play(guide[slug].target, {**run_input(), **body})

        async def child() -> AsyncIterator[Any]:
            for event in events:
                yield event

        yield child()

    ran: dict[str, list[dict[str, Any]]] = {
        slug: await play(entry.target, run_input("hi"), entry.default_state, spawn=spawn)
        for slug, entry in guide.items()
    }
    assert text_of(ran["greeter"]) == "Hello, you said: hi"
    assert text_of(ran["blocking"]) == "0 1 2 "
    assert text_of(ran["counter"]) == "Counted to 1."
    assert of(ran["stock"], "CUSTOM")[0]["value"] == 1
    assert ran["researcher"][-1]["result"] == {"hits": 2}
    assert len(of(ran["planner"], "STATE_DELTA")) == 7
    assert ran["careful"][-1]["outcome"]["type"] == "interrupt"
    assert text_of(ran["delegate"]) == "Hello, you said: hi"
    assert len(ran) == 8


async def test_the_careful_agent_reads_its_answer(guide: dict[str, registry.Registered]) -> None:
    for payload, answer in (({"approved": True}, "Deleted."), ({"approved": False}, "Kept.")):
        resume = [{"interruptId": "delete-it", "status": "resolved", "payload": payload}]
        events = await play(guide["careful"].target, run_input("hi", resume=resume))
        assert text_of(events) == answer


@pytest.mark.parametrize(
    "name",
    [name for name in vars(RunContext) if not name.startswith("_")]
    + [name for name in vars(RunContext.__base__) if not name.startswith("_")],
)
def test_the_guide_names_what_a_context_has(name: str) -> None:
    # called by the runtime and the worker, not by agents
    inner = {"announce_state", "ending", "used", "spent"}
    assert name in inner or re.search(rf"\b{name}\b", GUIDE)


def test_the_guide_names_every_agent_that_comes_along() -> None:
    files = Path(builtin.__file__).parent.glob("*.py")
    registered = re.compile(r"agent\(\s*\"(\w+)\"")
    slugs = {slug for file in files for slug in registered.findall(file.read_text())}
    assert slugs == {"docs", "table", "slow", "approval", "llm", "scripted"}
    assert all(f"| `{slug}` |" in GUIDE for slug in slugs)
    assert set(RUNTIMES) == {"python", "http", "process", "orchestrator"}
