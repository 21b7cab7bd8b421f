"""Secrets in text that an error or a log line may contain."""

from typing import Any

import pytest

from agui_host.security.scrub import MASK, known, named_secrets, scrubbed, values_in


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("the key is hunter22", f"the key is {MASK}"),
        ("Authorization: Bearer abc.def", f"Authorization: {MASK} {MASK}"),
        ("postgres://user:pw@db/x", f"postgres://{MASK}@db/x"),
        ("password='a b', n=1", f"password={MASK}, n=1"),
        ("sk-abcdefghijklmnop is one", f"{MASK} is one"),
        ("nothing to hide: n=1", "nothing to hide: n=1"),
    ],
    ids=["known", "bearer", "address", "pair", "known form", "none"],
)
def test_what_is_secret_is_masked(text: str, clean: str) -> None:
    assert scrubbed(text, {"hunter22"}) == clean


def test_the_longest_secret_goes_first() -> None:
    assert scrubbed("abcdef", {"abc", "abcdef"}) == MASK


def test_every_value_of_a_sealed_header_is_one() -> None:
    stored = {"headers": {"X": "Bearer long-enough"}, "list": ["one"]}
    assert set(values_in(stored)) == {"Bearer long-enough", "long-enough", "one"}


def test_of_options_only_those_with_a_telling_name() -> None:
    options = {"api_key": "k", "model": "m", "nested": [{"token": "t"}], "monkey": "no"}
    assert set(named_secrets(options)) == {"k", "t"}


def test_the_hosts_own_count_and_short_ones_do_not(settings: Any) -> None:
    settings.LLM_API_KEY, settings.EMAIL_HOST_PASSWORD = "llm-secret", "abc"
    secrets = known({"key": "abc"}, {})
    assert "llm-secret" in secrets
    assert "abc" not in secrets
