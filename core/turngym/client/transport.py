"""What both drivers tell httpx: address, headers, pool, time limits; and how its errors read."""

import ipaddress
from typing import Any

import httpx

from turngym.client.calls import Call
from turngym.client.errors import ConnectionLost

CONNECT_TIMEOUT_S = 10.0
KEEP_ALIVE_S = 4.0  # uvicorn closes an idle connection after 5 s; a client that lets go first meets no broken one


def base_address(url: str) -> str:
    """``url`` with its scheme, without a slash at the end. Raises ValueError if it is no HTTP address."""
    full = url if "://" in url else f"http://{url}"
    parsed = httpx.URL(full)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{url!r} is not the address of a service; write http://HOST:PORT")
    return full.rstrip("/")


def client_arguments(address: str, token: str | None, timeout_s: float, connections: int) -> dict[str, Any]:
    """The arguments of an httpx client. Proxies of the environment are not for loopback addresses."""
    return {
        "base_url": address,
        "headers": {"Authorization": f"Bearer {token}"} if token else {},
        "timeout": httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s), pool=None),
        "limits": httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=KEEP_ALIVE_S
        ),
        "trust_env": not _is_loopback(httpx.URL(address).host),
        "follow_redirects": False,
    }


def request_arguments(call: Call[Any]) -> dict[str, Any]:
    """The arguments of one httpx request."""
    return {
        "method": call.method,
        "url": call.path,
        "content": call.body,
        "params": call.params,
        "headers": call.headers,
    }


def lost(address: str, error: httpx.TransportError) -> ConnectionLost:
    """What an error of the connection means."""
    said = str(error) or type(error).__name__
    if isinstance(error, httpx.ReadTimeout):
        said = "no answer in time"
    return ConnectionLost(f"{address} can't be reached: {said}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
