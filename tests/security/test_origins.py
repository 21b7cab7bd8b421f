"""From where a cookie counts."""

from typing import Any

import pytest

from agui_host.security.origins import check_origin, is_json, is_listed

LISTED = ["https://App.example/", "*", "null", ""]


@pytest.mark.parametrize(
    ("origin", "scheme", "counts"),
    [
        ("https://host.example", "https", True),
        ("HTTPS://HOST.example", "https", True),
        ("https://host.example", "wss", True),
        ("http://host.example", "https", False),
        ("https://host.example:444", "https", False),
        ("https://app.example", "http", True),
        ("https://elsewhere.example", "https", False),
        ("null", "https", False),
        ("*", "https", False),
        ("", "https", False),
    ],
)
def test_a_cookie_counts_on_our_pages_and_those_listed_by_name(
    settings: Any, origin: str, scheme: str, counts: bool
) -> None:
    settings.AGUI_ALLOWED_ORIGINS = LISTED
    headers = {"origin": origin} if origin else {}
    assert check_origin(headers, host="host.example", scheme=scheme) is counts


def test_nothing_counts_without_a_host(settings: Any) -> None:
    settings.AGUI_ALLOWED_ORIGINS = LISTED
    assert not check_origin({"origin": "https://"}, host="", scheme="https")
    assert not is_listed("")


def test_a_form_cannot_declare_json() -> None:
    assert is_json({"content-type": "Application/JSON; charset=utf-8"})
    for other in ("text/plain", "application/x-www-form-urlencoded", "application/json5", ""):
        assert not is_json({"content-type": other})
