"""Which addresses the host may call for a tenant: public ones, and those allowed by operators."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import httpx
from django.conf import settings

from agui_host.protocol.errors import HostError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# ``is_global`` accepts these (not alike in every Python), but a tenant's request must not reach
# them: protocols (Oracle's metadata too), the 6to4 relays, and Azure's metadata.
REFUSED_V4 = [ip_network(net) for net in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")]
# All allocated IPv6 space. Outside of it are mapped and translated IPv4 (::ffff:0:0/96, NAT64's
# 64:ff9b::/96), loopback, link-local, unique local and multicast addresses.
GLOBAL_V6 = ip_network("2000::/3")
# Exceptions inside it: Teredo and other protocols, documentation, and 6to4, which contains IPv4.
REFUSED_V6 = [ip_network(net) for net in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
# The resolver also reads 0177.0.0.1, 2130706433, 127.1 and 0x7f.1 as addresses.
_NUMBERS = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)\.?")


class AddressRefused(HostError):
    """The host does not call this address."""

    code = "address_refused"
    status = 422
    close = 4400


class Allowed:
    """What operators allow besides the public internet: host names and networks."""

    def __init__(self, entries: Sequence[str]) -> None:
        """Raises ValueError for an entry that is neither a name nor a network, such as a URL."""
        self.names: set[str] = set()
        self.networks: list[Network] = []
        for entry in entries:
            try:
                self.networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                if not re.fullmatch(r"[\w-]+(?:\.[\w-]+)*", entry) or _NUMBERS.fullmatch(entry):
                    raise ValueError(f"{entry!r} is neither a host name nor a network") from None
                self.names.add(entry.lower())

    def name(self, host: str) -> bool:
        """Whether every address of this name may be called."""
        return host.lower().rstrip(".") in self.names

    def address(self, address: Address) -> bool:
        """Whether this address may be called."""
        return any(address in network for network in self.networks)


def allowed() -> Allowed:
    """The present value of AGUI_OUTBOUND_ALLOW."""
    return _parsed(tuple(settings.AGUI_OUTBOUND_ALLOW))


@lru_cache(maxsize=8)
def _parsed(entries: tuple[str, ...]) -> Allowed:
    return Allowed(entries)


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet and belongs to a single machine."""
    if isinstance(address, IPv4Address):
        return (
            address.is_global
            and not address.is_multicast
            and not address.is_reserved
            and not any(address in network for network in REFUSED_V4)
        )
    return address in GLOBAL_V6 and not any(address in network for network in REFUSED_V6)


def check_address(text: str) -> None:
    """Raises AddressRefused unless this resolved address may be called."""
    try:
        address = ip_address(text)
    # Python 3.9 and newer accept a zone (fe80::1%eth0); anything else is not an address.
    except ValueError:
        raise AddressRefused(f"{text!r} is not an address.") from None
    if getattr(address, "scope_id", None) or not (is_public(address) or allowed().address(address)):
        raise AddressRefused(
            "The host calls public addresses only, and this name or address is not public; "
            "an operator can allow it with AGUI_OUTBOUND_ALLOW."
        )


def check_url(url: str) -> SplitResult:
    """Refuse a visibly wrong URL without asking DNS; names are checked when they are used.

    Only http and https, with a host, without user and password (a secret belongs in a header, which
    is sealed). An address must be spelled in the usual way. Raises AddressRefused.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  raises for what is not a port
        httpx.URL(url)  # the client that calls it refuses more, such as a host of circled letters
    except (ValueError, httpx.InvalidURL):
        raise AddressRefused("This is not a URL.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefused("The URL must begin with http:// or https:// and name a host.")
    if "@" in parts.netloc:
        raise AddressRefused("The URL must not contain a user or password; send a header instead.")
    if "\\" in url or any(ord(character) <= 0x20 or character == "\x7f" for character in url):
        raise AddressRefused("The URL contains invalid characters.")
    check_host(parts.hostname)
    return parts


def check_host(host: str) -> None:
    """Check the host of a URL; raises AddressRefused for a refused address."""
    if ":" in host:
        check_address(host)
    elif _NUMBERS.fullmatch(host.lower()):
        try:
            check_address(str(IPv4Address(host)))
        except ValueError:
            raise AddressRefused(f"{host!r} is not the usual spelling of an address.") from None
    elif host.lower().rstrip(".") == "localhost" and not allowed().name(host):
        raise AddressRefused(
            "localhost is this host itself; an operator can allow it with AGUI_OUTBOUND_ALLOW."
        )
