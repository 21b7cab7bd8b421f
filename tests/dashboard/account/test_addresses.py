"""An address of the dashboard to which a form posts leads by GET to the page of that form."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern
from django.urls.converters import IntConverter, UUIDConverter

from agui_host.dashboard.pages import posts_from
from agui_host.dashboard.urls import urlpatterns
from tests.acceptance.browser.pages.every_page import NO_PAGES, PAGES
from tests.cast import Cast, cast

__all__ = ["cast"]

pytestmark = pytest.mark.django_db


def addresses(patterns: list[URLPattern]) -> Iterator[str]:
    """The address of each pattern, with ids that do not exist."""
    for each in patterns:
        address = str(each.pattern)
        for name, converter in each.pattern.converters.items():
            kind = {UUIDConverter: ("uuid", str(uuid4())), IntConverter: ("int", "1")}
            word, value = kind.get(type(converter), ("str", "x"))
            address = address.replace(f"<{word}:{name}>", value).replace(f"<slug:{name}>", value)
        if "(?P<" not in address:
            yield f"/{address}"


def test_no_address_of_the_dashboard_refuses_to_be_opened(cast: Cast) -> None:
    browser = Client(headers={"accept": "text/html"})
    browser.force_login(cast.alice.user)
    opened = list(addresses(urlpatterns))
    assert len(opened) > 90
    refused = {address for address in opened if browser.get(address).status_code == 405}
    assert refused == set()


def test_a_form_of_one_thing_leads_to_the_page_of_that_thing(cast: Cast) -> None:
    browser = Client(headers={"accept": "text/html"})
    browser.force_login(cast.alice.user)
    key = uuid4()
    for address, page in (
        (f"/runs/{key}/cancel", f"/runs/{key}/"),
        (f"/threads/{key}/send", f"/threads/{key}/"),
        (f"/team/keys/{key}/revoke", "/team/keys/"),
        (f"/team/webhooks/{key}/deliveries/{key}/redeliver", f"/team/webhooks/{key}/"),
        ("/runs/act", "/runs/"),
        ("/team/invitations", "/team/"),
        (f"/inbox/{key}/answer", "/inbox/"),
        ("/logout/", "/"),
    ):
        assert browser.get(address)["Location"] == page


def test_every_page_is_looked_at_in_a_browser() -> None:
    """A new page needs a line in ``every_page.py``, which axe and the widths go through."""
    routes = {str(each.pattern) for each in urlpatterns if posts_from(each.callback) is None}
    others = {route for several in NO_PAGES.values() for route in several}
    assert routes - others - set(PAGES) == set(), "pages without an address in every_page.py"
    assert (set(PAGES) | others) - routes == set(), "no such routes"
    assert set(PAGES) & others == set()
