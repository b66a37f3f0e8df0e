"""Whether the agent ended at the right address.

The published evaluator looks for the reference within the address as a text, so that ``/item/1`` is reached at ``/item/12``;
profile "fixed" compares host and path whole, and wants each parameter of the reference's query.
"""

from collections.abc import Sequence
from urllib.parse import parse_qs, unquote, urlsplit

from turngym_webarena.settings import Profile


def address_matches(references: Sequence[str], address: str, profile: Profile) -> bool:
    """Whether ``address`` is one of the references, both absolute."""
    check = _published if profile == "webarena" else _at
    return any(check(reference, address) for reference in references)


def _at(reference: str, address: str) -> bool:
    (wanted, wanted_query), (found, found_query) = _parts(reference), _parts(address)
    return wanted == found and all(
        sorted(found_query.get(name, ())) == sorted(values) for name, values in wanted_query.items()
    )


def _published(reference: str, address: str) -> bool:
    (wanted, wanted_query), (found, found_query) = _parts(reference), _parts(address)
    return wanted in found and all(
        any(value in found_query.get(name, ()) for value in values) for name, values in wanted_query.items()
    )


def _parts(address: str) -> tuple[str, dict[str, list[str]]]:
    """Host with path, and query; a slash at the end and the default port are of no matter."""
    split = urlsplit(address.strip())
    host = split.netloc.lower().removesuffix(":80")
    return host + unquote(split.path).rstrip("/"), parse_qs(split.query, keep_blank_values=True)
