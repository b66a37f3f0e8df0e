"""What both drivers have in common below the calls: the address, the time limits, and how a broken connection reads.

The asynchronous driver runs on aiohttp: with hundreds of episodes in flight httpx spends several milliseconds of CPU on each
call in its pool, aiohttp about half a millisecond. Scripts, one call at a time, keep to httpx.
"""

import ipaddress
from urllib.parse import urlsplit

from turngym.client.errors import ConnectionLost

CONNECT_TIMEOUT_S = 10.0
KEEP_ALIVE_S = (
    4.0  # uvicorn's default is to close after 5 s; a client that lets go first meets no broken connection
)
READY_POLL_S = 0.2
CLOSE_PATIENCE_S = 5.0  # an episode that is left needs no more effort than that: its session expires anyway


def base_address(url: str) -> str:
    """``url`` with its scheme, without a slash at the end. Raises ValueError if it is no HTTP address."""
    full = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(full)
        good = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is not the address of a service; write http://HOST:PORT")
    return full.rstrip("/")


def authorization(token: str | None) -> dict[str, str]:
    """The headers that every call carries."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def takes_proxy(address: str) -> bool:
    """Whether the proxies of the environment apply: not to loopback addresses."""
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def lost(address: str, error: BaseException) -> ConnectionLost:
    """What an error of the connection means."""
    return ConnectionLost(f"{address} can't be reached: {str(error) or type(error).__name__}")
