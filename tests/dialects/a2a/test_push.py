"""Where an A2A client wants to hear of its task."""

from typing import Any

import pytest

from agui_host.dialects.a2a.push import LONGEST_NAME, LONGEST_URL, PushConfig, read
from agui_host.protocol.errors import BadRequest, Invalid

URL = "https://client.example/hook"


def test_only_the_url_is_needed() -> None:
    assert read({"url": URL}) == PushConfig("", URL)


def test_credentials_are_not_shown_again() -> None:
    login = {"scheme": "Bearer", "credentials": "s3cret"}
    config = read({"id": "n", "url": URL, "token": "t", "authentication": login})
    assert (config.scheme, config.credentials) == ("Bearer", "s3cret")
    assert config.wire("task") == {
        "id": "n", "taskId": "task", "url": URL, "token": "t",
        "authentication": {"scheme": "Bearer"},
    }  # fmt: skip
    assert read({"url": URL}).wire("task") == {"id": "", "taskId": "task", "url": URL}


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"url": ""}, "url"),
        ({"url": "https://x/" + "y" * LONGEST_URL}, "url"),
        ({"id": "n" * (LONGEST_NAME + 1)}, "id"),
        ({"token": "a\r\nX-Other: b"}, "token"),
        ({"token": 1}, "token"),
        ({"authentication": "Bearer"}, "authentication"),
        ({"authentication": {"scheme": "Two words"}}, "authentication.scheme"),
        ({"authentication": {"credentials": "s3cret"}}, "authentication.scheme"),
        ({"authentication": {"scheme": "Basic", "credentials": "a\nb"}}, "credentials"),
    ],
)
def test_what_could_not_stand_in_a_header_is_refused(more: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        read({"url": URL, **more})
    assert refused.value.details == {"path": path}


def test_a_config_is_an_object() -> None:
    with pytest.raises(BadRequest):
        read([URL])
