"""Which addresses a webhook may go to: public ones, and networks that the operator allows."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.errors import BindError

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Reaches IPv4 addresses by their last four bytes.
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Read networks such as 10.0.0.0/8 or single addresses.

    >>> networks(["127.0.0.1"])
    (IPv4Network('127.0.0.1/32'),)
    """
    try:
        return tuple(ipaddress.ip_network(text) for text in texts)
    except ValueError as error:
        raise BindError(
            "cannot read a network that webhooks may reach",
            str(error),
            "write an address or a network, as in 10.0.0.0/8",
        ) from None


def may_reach(text: str, allowed: Sequence[Network]) -> bool:
    """Whether a webhook may connect to an address.

    >>> may_reach("93.184.216.34", ()), may_reach("10.0.0.1", ()), may_reach("::ffff:127.0.0.1", ())
    (True, False, False)
    >>> may_reach("10.0.0.1", networks(["10.0.0.0/8"]))
    True
    """
    address = _reached(ipaddress.ip_address(text.partition("%")[0]))
    if any(address in network for network in allowed):
        return True
    return address.is_global and not address.is_multicast


def _reached(address: IP) -> IP:
    """The IPv4 address that an IPv6 address leads to, or the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def checked_addresses(host: str, port: int, allowed: Sequence[Network]) -> list[str]:
    """Resolve a host once; raise Undelivered unless a webhook may reach all its addresses.

    The caller connects to what is returned and does not resolve again, so a name that changes
    its address meanwhile leads nowhere else.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[4][0]) for place in found))
    inside = [address for address in addresses if not may_reach(address, allowed)]
    if inside or not addresses:
        raise Undelivered(
            f"webhook host {host!r} has the private address {', '.join(inside[:3])}; "
            "allow it with --allow-webhooks NETWORK"
        )
    return addresses
