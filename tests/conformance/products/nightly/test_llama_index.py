"""LlamaIndex's AG-UI router as an agent of the host: results and whole answers come by snapshot."""

from collections.abc import Awaitable, Callable, Iterator

import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import PEERS, python, served
from tests.conformance.products.nightly import frameworks

pytestmark = [pytest.mark.soak, pytest.mark.judge, pytest.mark.timeout(900)]
PACKAGE = "llama-index-protocols-ag-ui"


@pytest.fixture(scope="module")
def llama(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("llama")
    how = {"python": python(PACKAGE), "cwd": PEERS}
    with served(desk, "llama_index_agent:app", folder, {"llama": "/run"}, **how):
        yield desk


@pytest.mark.parametrize("situation", frameworks.ALL, ids=lambda each: each.__name__)
async def test_a_situation(llama: Host, situation: Callable[[Host, str], Awaitable[None]]) -> None:
    await situation(llama, "llama")


async def test_a_tool_of_the_agent(llama: Host) -> None:
    result = '{"word": "sky", "colour": "blue"}'
    await frameworks.tool_of_the_agent(llama, "llama", result)
