"""The examples of docs/howto-middleware.md run."""

import json
import re

from agui_host import RunContext
from agui_host.runtimes.middleware.chain import parse
from tests.house.repository import ROOT
from tests.runtimes.middleware.passing import stream_of, text_message

GUIDE = (ROOT / "docs" / "howto-middleware.md").read_text()


def test_the_chains_can_be_saved() -> None:
    chains = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    assert chains
    for chain in chains:
        assert parse(json.loads(chain))


async def test_the_middleware_of_ones_own_works() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    names: dict[str, type] = {}
    exec(code, names)  # noqa: S102
    shout = names["Shout"](names["ShoutOptions"](), RunContext({}))
    events = [event async for event in shout.stream(stream_of(*text_message("m", "hey", " you")))]
    assert "".join(event.get("delta", "") for event in events) == "HEY YOU!"
