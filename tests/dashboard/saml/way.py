"""The way of a browser to the provider and back."""

import re
from html import unescape
from typing import Any

from django.test import Client

from tests.dashboard.saml.idp import IdentityProvider

BEGIN, CONSUMER = "/account/sso/saml/login/", "/account/sso/saml/acs/"


def away_of(client: Client, begin: str = BEGIN, **form: str) -> str:
    """Press the button; the address at the provider."""
    page = client.post(begin, form)
    assert page.status_code == 200, page.headers
    target = re.search(r'content="0;url=([^"]+)"', page.content.decode())
    assert target
    return unescape(target[1])


def bring(client: Client, fields: dict[str, str]) -> Any:
    """Post the provider's form from its site, without cookies, and then the page's from ours."""
    page = Client(headers={"accept": "text/html"}, enforce_csrf_checks=True).post(CONSUMER, fields)
    assert page.status_code == 200
    assert not page.cookies
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.content.decode())
    again = {name: unescape(value) for name, value in inputs}
    assert again == {**fields, "again": "1"}
    return client.post(CONSUMER, again)


def go(client: Client, idp: IdentityProvider, begin: str = BEGIN, **form: str) -> Any:
    """All of it; the last answer."""
    return bring(client, idp.answers(away_of(client, begin, **form))[1])
