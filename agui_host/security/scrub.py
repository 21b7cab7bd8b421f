"""Replaces secrets in text that an error or a log line can contain: known values, known forms."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from django.conf import settings

from agui_host.backends.valkey import addresses

MASK = "[secret]"
SHORTEST = 4
"""Characters of a known secret: shorter ones would hide parts of every text."""

LEAST_GUESSED = 8
"""The same for values that are taken for secrets because of their place."""

_NAMES = (
    "pass(?:word|wd|phrase)?|secret|token|api[_-]?key|private[_-]?key|authorization|credential"
    "|cookie"
)
_NAME = re.compile(rf"(?i){_NAMES}|(?:^|_)key$|dsn|database_url|redis_url")
_FORMS = (
    re.compile(
        r"-----BEGIN [A-Z ]{3,40}-----.{0,8000}?(?:-----END [A-Z ]{3,40}-----|\Z)", re.DOTALL
    ),
    re.compile(
        r"\b(?:sk|pk|rk|agui|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|npm|pypi)[-_][\w-]{12,}"
    ),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"),
    re.compile(r"\beyJ[\w-]{10,}\.[\w-]{5,}(?:\.[\w-]*)?"),
    re.compile(r"(?i)(?<=\bbearer )[^\s\"',;]+|(?<=\bbasic )[A-Za-z0-9+/=]{8,}"),
    re.compile(r"(?<=://)[^\s/@\"']{1,500}(?=@)"),
)
_PAIR = re.compile(
    rf"(?i)((?:{_NAMES})[\w-]{{0,40}}[\"']?\s{{0,5}}(?:=>|[=:])\s{{0,5}})"
    r"(\"[^\"]*\"?|'[^']*'?|[^\s,;}\])]+)"
)


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """``text`` without these secrets, the longest first, and without what looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    for form in _FORMS:
        text = form.sub(MASK, text)
    return _PAIR.sub(rf"\1{MASK}", text)


def known(stored: Any, options: Any) -> set[str]:
    """The secrets that a failing agent can know: ``stored`` are its own, the others the host's.

    Of its ``options`` only values with the name of a secret.
    """
    secrets = {*values_in(stored), *named_secrets(options), *_of_host()}
    return {secret for secret in secrets if len(secret) >= SHORTEST}


def values_in(stored: Any) -> Iterator[str]:
    """Every text in an agent's sealed secrets."""
    if isinstance(stored, str):
        yield stored
        # A header is a scheme and the secret: "Bearer x".
        yield from (part for part in stored.split() if len(part) >= LEAST_GUESSED)
    elif isinstance(stored, Mapping):
        for value in stored.values():
            yield from values_in(value)
    elif isinstance(stored, list):
        for value in stored:
            yield from values_in(value)


def named_secrets(stored: Any) -> Iterator[str]:
    """The texts in an agent's settings under the name of a secret."""
    if isinstance(stored, Mapping):
        for name, value in stored.items():
            if isinstance(value, str) and _NAME.search(str(name)):
                yield value
            else:
                yield from named_secrets(value)
    elif isinstance(stored, list):
        for value in stored:
            yield from named_secrets(value)


def _of_host() -> Iterator[str]:
    yield from (
        settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS, *settings.AGUI_SECRETS_KEYS,
        settings.AGUI_DEMO_API_KEY, settings.LLM_API_KEY, settings.AGUI_DATABASE_APP_PASSWORD,
        settings.AGUI_OIDC_CLIENT_SECRET, str(settings.EMAIL_HOST_PASSWORD or ""),
    )  # fmt: skip
    for database in settings.DATABASES.values():
        yield str(database.get("PASSWORD") or "")
    for name, value in os.environ.items():
        if _NAME.search(name) and len(value) >= LEAST_GUESSED:
            yield value
        if password := _password_of(value):
            yield password


def _password_of(address: str) -> str:
    if "://" not in address or "@" not in address:
        return ""
    try:
        return unquote(addresses.split(address).password or "")
    except ValueError:
        return ""
