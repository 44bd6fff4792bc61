"""Where a callback may go: addresses that everybody on the Internet reaches, and no others.

A service that posts to whatever address it is given is a way into the network it stands in. A name
is resolved when a job is sent and again before every delivery, and the connection goes to the very
address that was checked: a name that leads elsewhere a moment later (DNS rebinding) gains nothing.
"""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import httpx

from contract.errors import EvaluationError

RESOLVERS = 4
"""Names resolved at a time, in threads of their own: a slow name server holds up callbacks only."""
RESOLVE_S = 5.0
_UNICAST = ipaddress.ip_network("2000::/3")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(EvaluationError):
    """Nothing is sent there; the message says why."""


class Target(NamedTuple):
    """A checked address, and the URL that leads to it."""

    url: httpx.URL
    """As it was asked for, with the address in place of the name."""
    host: str
    """The Host header: name and port as asked for."""
    server_name: str
    """Whose certificate the receiver has to show."""


class CallbackAddresses:
    """Checks addresses; with `allow_private` only their form."""

    def __init__(self, allow_private: bool) -> None:
        """Start with no name resolved."""
        self._allow_private = allow_private
        self._pool = ThreadPoolExecutor(RESOLVERS, "resolve")

    def close(self) -> None:
        """Give the threads up; what one still resolves is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def target(self, address: str) -> Target:
        """Resolve and check where a callback is to go.

        Raises:
            AddressRefused: no http or https address, one with a user name, one that cannot be
                resolved, or one that leads into a private network.

        """
        url = _parsed(address)
        found = await self._resolved(url)
        refused = [each for each in found if not (self._allow_private or is_public(each))]
        if refused:
            raise AddressRefused(
                f"{url.host} leads to {refused[0]}, which is private, local or reserved "
                "(HALFBYTE_SERVICE_CALLBACK_PRIVATE=true allows it)"
            )
        return Target(
            url.copy_with(host=str(found[0])), url.netloc.decode("ascii"), url.raw_host.decode()
        )

    async def _resolved(self, url: httpx.URL) -> list[Address]:
        port = url.port or (443 if url.scheme == "https" else 80)
        asking = asyncio.get_running_loop().run_in_executor(
            self._pool,
            lambda: socket.getaddrinfo(url.raw_host.decode(), port, type=socket.SOCK_STREAM),
        )
        try:
            async with asyncio.timeout(RESOLVE_S):
                answers = await asking
        except (OSError, UnicodeError, TimeoutError) as error:
            raise AddressRefused(f"{url.host} cannot be resolved: {error}") from None
        return [ipaddress.ip_address(sockaddr[0]) for *_, sockaddr in answers]


def is_public(address: Address) -> bool:
    """Whether an address is one of the Internet at large.

    Of IPv6 only plain unicast is: other ranges, and the tunnels 6to4 and Teredo, hold addresses
    of IPv4 that lead back inside.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _UNICAST or address.sixtofour or address.teredo:
            return False
    return address.is_global and not address.is_multicast


def _parsed(address: str) -> httpx.URL:
    # The parser of what connects, so that both understand the same host.
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise AddressRefused(f"no address: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise AddressRefused("must be an http or https address")
    if url.port is not None and not 0 < url.port < 1 << 16:
        raise AddressRefused(f"there is no port {url.port}")
    if url.userinfo:
        raise AddressRefused("must not carry a user name: deliveries are signed")
    return url
