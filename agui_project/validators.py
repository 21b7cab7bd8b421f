"""Rules for the values of settings. Each raises ValueError with the remedy."""

import importlib.util
import logging
import os
import re
import zlib
from collections.abc import Callable
from email.utils import parseaddr
from typing import Any
from urllib.parse import SplitResult, urlsplit

from environ import Env

from agui_host.protocol.wire import durations
from agui_host.security.addresses import Allowed

SHORTEST_KEY = 32
MOST_PAUSES, LONGEST_PAUSE = 40, 7 * 86_400.0
FEWEST_CHARACTERS = 8
SAMPLE = "django-insecure-"
HTTP = ("http", "https")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
WITHOUT_HOST = ("consolemail", "filemail", "memorymail", "dummymail")
MAKE_KEY = "make one: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
QUEUE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_HOST = re.compile(r"\*|\.?[\w-]+(?:\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]")


def http_url(text: str) -> SplitResult:
    """A URL with http or https, a host, and a valid port, if any."""
    return _url(text, HTTP, "https://example.com/path")


def origin(text: str) -> None:
    """Scheme, host and perhaps a port."""
    parts = _url(text, HTTP, "https://agents.example.com")
    if text.rstrip("/") != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise ValueError("write https://agents.example.com: scheme and host, no path, no user")


def allowed_origin(text: str) -> None:
    """An origin of a browser, or ``*``."""
    if text != "*":
        origin(text)
        if text.endswith("/"):
            raise ValueError("write https://app.example.com: scheme and host, no path")


def host_name(text: str) -> None:
    """A name that requests can be addressed to: no scheme, no port."""
    if not _HOST.fullmatch(text):
        raise ValueError("write a name such as agents.example.com: no scheme, no port")


def queue(text: str) -> None:
    """The name of a queue."""
    if not QUEUE.fullmatch(text):
        raise ValueError("write names such as gpu: a-z, 0-9, - and _, 32 at most, commas between")


def queues(text: str) -> list[str]:
    """Names of queues, with commas between them."""
    names = [part for part in map(str.strip, text.split(",")) if part]
    for name in names or [""]:
        queue(name)
    return list(dict.fromkeys(names))


def outbound(text: str) -> None:
    """A host or a network where agents can be."""
    try:
        Allowed([text])
    except ValueError:
        remedy = "write localhost, agents.internal or 10.1.0.0/16: no scheme, no port"
        raise ValueError(remedy) from None


def scope(text: str) -> None:
    """One scope of OAuth."""
    if not re.fullmatch(r"[!#-[\]-~]+", text):
        raise ValueError("write scopes with commas between them: openid,profile,email,groups")


def mail_domain(text: str) -> None:
    """The part of addresses after the @."""
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)+", text):
        raise ValueError("write domains such as example.com, without @")


def saml_attribute(text: str) -> None:
    """The ``Name`` of an attribute in a SAML assertion."""
    if not re.fullmatch(r"[^\s\"<>]+", text):
        raise ValueError("write attributes' names, with commas between them: email,urn:oid:1.2.3")


def saml_metadata_url(text: str) -> None:
    """An identity provider's metadata; its certificate is trusted, so nobody must change it."""
    parts = http_url(text)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError("write https://, or name a file by AGUI_SAML_METADATA_FILE")
    needs_extra("saml", "onelogin")(text)


def saml_metadata_file(text: str) -> None:
    """A file with an identity provider's metadata."""
    try:
        with open(text, encoding="utf-8") as file:
            describes = "IDPSSODescriptor" in file.read()
    except (OSError, UnicodeError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    if not describes:
        raise ValueError("it does not contain an identity provider's metadata (IDPSSODescriptor)")
    needs_extra("saml", "onelogin")(text)


def module(text: str) -> None:
    """The dotted name of a module, not its file's."""
    if not all(part.isidentifier() for part in text.split(".")):
        raise ValueError("write a module's name as in an import, my_package.my_agents")


def commit(text: str) -> None:
    """A commit of git, or another name of a build."""
    if not re.fullmatch(r"[\w.-]{1,64}", text):
        raise ValueError("write a commit's hash, 1f0c2d4e5a6b")


def team_or_all(text: str) -> None:
    """A team's slug, or * for all teams."""
    if text != "*" and not re.fullmatch(r"[-\w]{1,50}", text):
        raise ValueError("write slugs of teams, acme,globex, or * for all teams")


def sender(text: str) -> None:
    """An e-mail address, perhaps with a name."""
    name, _, host = parseaddr(text)[1].partition("@")
    if not name or not host or "\n" in text:
        raise ValueError("write Agents <agents@example.com>")


def level(text: str) -> None:
    """A level of Python's logging."""
    if text not in logging.getLevelNamesMapping():
        raise ValueError("write one of DEBUG, INFO, WARNING, ERROR, CRITICAL")


def folder(text: str) -> None:
    """A directory that this account can enter, or that does not exist yet."""
    path = os.path.abspath(text)
    while not os.path.exists(path):  # This includes what this account cannot see.
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        raise ValueError(f"{path} is a file; name a directory")
    if not os.access(path, os.X_OK):
        raise ValueError(f"this account cannot enter {path}; name another directory")


def needs_extra(extra: str, package: str) -> Callable[[str], None]:
    """A rule for a setting of an extra of this distribution: ``package`` must be installed."""

    def rule(text: str) -> None:
        if importlib.util.find_spec(package) is None:
            raise ValueError(
                f"it needs the extra {extra!r}; in a clone of the host: pip install '.[{extra}]',"
                " or unset it"
            )

    return rule


def store(text: str) -> None:
    """A directory, or a bucket as ``s3://name/prefix``."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        folder(text)
    elif scheme != "s3" or not rest.partition("/")[0]:
        raise ValueError("write a directory, or s3://bucket/prefix")
    else:
        needs_extra("s3", "obstore")(text)


def media(text: str) -> None:
    """A media type, or a family of them."""
    if re.fullmatch(r"\*/\*|[\w.+-]+/(\*|[\w.+-]+)", text) is None or text != text.lower():
        raise ValueError("write media types in lower case: image/*, application/pdf")


def guessable(key: str) -> bool:
    """Short, a sample, of few characters, or a pattern, which a compressor detects."""
    squeezed = len(zlib.compress(key.encode(), 9))
    few = len(set(key)) < FEWEST_CHARACTERS
    return len(key) < SHORTEST_KEY or few or squeezed < SHORTEST_KEY or key.startswith(SAMPLE)


def signing_key(key: str) -> None:
    """The key that signs sessions and seals secrets: anyone who guesses it can be anyone."""
    if guessable(key):
        raise ValueError(
            f"it has fewer than {SHORTEST_KEY} characters, or repeats itself; {MAKE_KEY}"
        )


def sealing_key(key: str) -> None:
    """A key of AGUI_SECRETS_KEYS."""
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"a key has fewer than {SHORTEST_KEY} characters; {MAKE_KEY}")


def api_key(key: str) -> None:
    """A string that ``agui_host/teams/keys.py`` adopts as a key."""
    if len(key) < SHORTEST_KEY or not (key.isascii() and key.isprintable()):
        raise ValueError(f"write {SHORTEST_KEY} printable ASCII characters or more; {MAKE_KEY}")


def pauses(text: str) -> list[float]:
    """Seconds between tries, from durations such as ``5s, 2m, 12h``."""
    try:
        values = [durations.seconds(part) for part in text.split(",")]
    except ValueError:
        raise ValueError("write durations with commas between them: 5s, 2m, 12h") from None
    if len(values) > MOST_PAUSES or max(values) > LONGEST_PAUSE:
        raise ValueError(f"write at most {MOST_PAUSES} durations, of at most a week each")
    return values


def email(url: str) -> dict[str, Any]:
    """EMAIL_URL as Django's settings."""
    parts = _url(url, Env.EMAIL_SCHEMES, "smtp+tls://user:password@mail.example.com:587")
    if parts.scheme in WITHOUT_HOST and parts.hostname:
        raise ValueError(f"{parts.scheme}:// takes no host")
    return dict(Env.email_url_config(url))


def _url(text: str, schemes: Any, example: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        raise ValueError(f"this is not a URL; write {example}") from None
    if parts.scheme not in schemes or "://" not in text:
        names = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ValueError(f"write {example}: it begins with {names.replace(', ', ' or ')}")
    if not host and parts.scheme not in WITHOUT_HOST:
        raise ValueError(f"it names no host; write {example}")
    port(parts)
    return parts


def port(parts: SplitResult) -> None:
    """The port of a URL, if it has one."""
    try:
        number = parts.port
    except ValueError:
        number = 0
    if number == 0:
        raise ValueError("its port is invalid: write a number from 1 to 65535")


def address(text: str) -> None:
    """``HOST:PORT``, as for a port that the process listens on."""
    if not text:
        return
    host, _, number = text.rpartition(":")
    if not host or not number.isdecimal() or not 0 < int(number) < 2**16:
        raise ValueError("write HOST:PORT, such as 127.0.0.1:9464")
