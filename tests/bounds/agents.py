"""The built-in agents, asked as the executor asks them, their events through intake."""

from typing import Any

from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes import registry
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.python import PythonRuntime
from tests.bounds.cases import MB, case

registry.autodiscover()


def answers(slug: str, **more: Any) -> Any:
    """A run of one agent about a text."""

    async def run(text: str) -> None:
        body = {
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "u", "role": "user", "content": text}],
            **more,
        }
        intake = Intake("t", "r", input=body)
        intake.start()
        async for event in PythonRuntime(registry.get(slug)).run(RunContext(body, agent=slug)):
            if not intake.ended:
                intake.accept(event)

    return run


TEXTS = {
    "one letter": lambda: "a" * MB,
    "words": lambda: "ab " * (MB // 3),
    "empty lines": lambda: "a" + "\n" * MB,
    "white space": lambda: " " * MB + "a",
    "fences": lambda: "```" * (MB // 3),
    "fences in lines": lambda: "```\n" * (MB // 4),
}
for slug in ("table", "approval", "docs", "slow"):
    more = {"forwardedProps": {"steps": 2, "seconds": 0}} if slug == "slow" else {}
    for name, make in TEXTS.items():
        if slug in ("table", "docs") or name in ("one letter", "words"):
            case(slug, name, make, answers(slug, **more))

TABLES = {
    "a wide header": lambda: "a," * (MB // 2) + "\n1,2",
    "one name": lambda: "a," * 900 + "\n" + "1," * (MB // 2),
    "short rows": lambda: "a," * 900 + "\n" + "1\n" * (MB // 2),
    "quotes": lambda: 'a,b\n"' + '""' * (MB // 2),
    "open quotes": lambda: "a,b\n" + '"x,\n' * (MB // 4),
    "different numbers": lambda: "a,b\n" + "\n".join(f"{n},{n}" for n in range(MB // 13)),
    "digits": lambda: "a,b\n" + "1" * MB + ",2",
}
for name, make in TABLES.items():
    case("table", name, make, answers("table"))

OTHERS = {"llm", "scripted"}
"""Not here: ``llm`` answers with a service, ``scripted`` does what a test says."""
