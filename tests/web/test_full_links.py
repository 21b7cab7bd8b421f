"""A link without a free seat refuses visitors of a network from memory, for a moment."""

import pytest

from agui_host.security.requester import ADDRESS
from agui_host.teams.limits import LimitReached
from agui_host.web.consumers import full_links
from agui_host.web.consumers.full_links import FullLinks

REFUSED = "refused, (2, '15')"


def visit(links: FullLinks, token: str, address: str = "10.0.0.1", *, is_full: bool = False) -> str:
    """How the visit ended, and whether it got as far as the look-up."""
    ADDRESS.set(address)
    looked_up = False
    try:
        with links.remembered(token):
            looked_up = True
            if is_full:
                raise LimitReached.of("link_streams", 2, after=15)
    except LimitReached as error:
        limit = (error.details["max"], error.headers["Retry-After"])
        return f"{'looked up and ' if looked_up else ''}refused, {limit}"
    return "let in"


def test_a_refusal_holds_for_its_link_and_network(monkeypatch: pytest.MonkeyPatch) -> None:
    links = FullLinks()
    assert visit(links, "a", is_full=True) == "looked up and refused, (2, '15')"
    assert visit(links, "a") == visit(links, "a") == REFUSED
    assert visit(links, "b") == visit(links, "a", "10.0.0.2") == "let in"
    monkeypatch.setattr(full_links, "RELIED_ON", 0.0)
    assert visit(links, "a") == "let in"


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_links, "MOST", 2)
    links = FullLinks()
    for token in "abc":
        visit(links, token, is_full=True)
    assert [visit(links, token) for token in "abc"] == ["let in", REFUSED, REFUSED]
