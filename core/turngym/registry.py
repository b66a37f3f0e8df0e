"""Which services are installed: packages register them in the entry point group ``turngym.services``.

Importing a service's package happens in :func:`load_service` alone, so listing names costs nothing and breaks nothing.
"""

from importlib.metadata import EntryPoint, entry_points

from turngym.environment import Service

GROUP = "turngym.services"


class UnknownService(Exception):
    """There is no such service, or it can't be imported. The message is one line and says what is installed."""


def installed() -> dict[str, EntryPoint]:
    """The services installed in this Python environment, by name."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def load_service(name: str) -> Service:
    """The service of that name, made but not loaded. Raises UnknownService."""
    points = installed()
    if name not in points:
        have = ", ".join(points) or "none"
        raise UnknownService(
            f"no service {name!r} is installed here; there are: {have} (pip install services/NAME)"
        )
    try:
        made = points[name].load()()
    except ImportError as error:
        raise UnknownService(f"the service {name!r} can't be imported: {error}") from error
    if not isinstance(made, Service):
        raise UnknownService(
            f"{points[name].value}, registered as {name!r}, is not a turngym.environment.Service"
        )
    return made
