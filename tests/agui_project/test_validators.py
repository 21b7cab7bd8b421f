"""Rules for settings: what they take, and what they say instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agui_project import validators
from agui_project.validators import MOST_PAUSES, SHORTEST_KEY

GOOD_KEY = "q8Jw2-Vt0xZs6Lr4Nb1Hc9Ye3Km7Fd5Gp"


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (validators.http_url, "https://x.example/a", ["x.example", "ftp://x", "http://", "http://["]),
        (validators.http_url, "http://x:80", ["http://x:0", "http://x:99999", "http://x:a"]),
        (validators.origin, "https://x.example:8443", ["https://x/a", "https://u@x", "x"]),
        (validators.origin, "https://x.example/", ["https://x/?q"]),
        (validators.allowed_origin, "*", ["https://x.example/", "x"]),
        (validators.host_name, ".example.com", ["https://x", "x:80", "", "a b"]),
        (validators.host_name, "[::1]", ["::1"]),
        (validators.queue, "gpu-2", ["GPU", "-a", "", "a" * 33]),
        (validators.outbound, "10.1.0.0/16", ["https://x", "10.1.0.0/99"]),
        (validators.module, "my_package.agents", ["my_package/agents.py", "a..b", "1a"]),
        (validators.sender, "Agents <agents@x.example>", ["agents", "@x", "a@", "a@x\nBcc: b@x"]),
        (validators.level, "WARNING", ["warning", "LOUD"]),
        (validators.media, "image/*", ["image", "IMAGE/*", "*/png", "a/b;c=d"]),
        (validators.address, "127.0.0.1:9464", ["9464", ":9464", "x:0", "x:65536", "x:a"]),
        (validators.address, "", ["x:"]),
        (validators.api_key, GOOD_KEY, ["short", "ü" * SHORTEST_KEY, "x\n" * SHORTEST_KEY]),
        (validators.sealing_key, GOOD_KEY, [GOOD_KEY[: SHORTEST_KEY - 1]]),
        (validators.store, "s3://bucket/prefix", ["s3://", "s3:///prefix", "gs://bucket"]),
    ],
)  # fmt: skip
def test_a_rule(rule: Callable[[str], Any], good: str, bad: list[str]) -> None:
    rule(good)
    for text in bad:
        with pytest.raises(ValueError, match=r"\w"):
            rule(text)


@pytest.mark.parametrize(
    "key",
    ["", GOOD_KEY[: SHORTEST_KEY - 1], "a" * 60, "abcdefgh" * 8, f"django-insecure-{GOOD_KEY}"],
)
def test_a_key_that_can_be_guessed_signs_nothing(key: str) -> None:
    assert validators.guessable(key)
    with pytest.raises(ValueError, match="make one: python -c"):
        validators.signing_key(key)
    validators.signing_key(GOOD_KEY)


def test_a_folder_may_come_into_being(tmp_path: Path) -> None:
    validators.folder(str(tmp_path / "not" / "yet"))
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "below"):
        with pytest.raises(ValueError, match="is a file; name a directory"):
            validators.folder(str(path))


def test_an_extra_is_named() -> None:
    validators.needs_extra("x", "json")("on")
    with pytest.raises(ValueError, match=r"pip install '\.\[otel\]'"):
        validators.needs_extra("otel", "no_such_package")("on")


def test_lists_are_read_once_each() -> None:
    assert validators.queues(" gpu, default ,gpu") == ["gpu", "default"]
    with pytest.raises(ValueError, match="names such as gpu"):
        validators.queues(" , ")


def test_pauses_are_seconds() -> None:
    assert validators.pauses("5s, 2m, 12h") == [5, 120, 43_200]
    for text in ("soon", "", "8d", ",".join(["1s"] * (MOST_PAUSES + 1))):
        with pytest.raises(ValueError, match="durations"):
            validators.pauses(text)


def test_mail_goes_where_the_url_says() -> None:
    settings = validators.email("smtp+tls://u:p@mail.example:587")
    assert (settings["EMAIL_HOST"], settings["EMAIL_PORT"]) == ("mail.example", 587)
    assert settings["EMAIL_USE_TLS"]
    validators.email("consolemail://")
    for url in ("smtp://", "consolemail://host", "mail.example"):
        with pytest.raises(ValueError, match=r"\w"):
            validators.email(url)
