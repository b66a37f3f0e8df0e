"""The static files of the project's pages, and how they are sent: the playground's here, and what the viewer shares with it.

``base`` holds the one look (``base.css``) and the modules that both pages use; ``playground`` the page that every service
serves at ``/ui``. The files are sent as they lie there: there is no build step, and nothing is fetched from anywhere else.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

BASE = Path(__file__).parent / "base"
PLAYGROUND = Path(__file__).parent / "playground"

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Only this server's own files run or are shown; pictures may also come as data in an answer.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file: its bytes, its media type, and an ETag (a hash of the bytes, in quotes)."""

    body: bytes
    media_type: str
    etag: str


def assets(*folders: Path) -> dict[str, Asset]:
    """The static files of the folders by name, read once. A name stands for one file: a second one is a ValueError."""
    found: dict[str, Asset] = {}
    for folder in folders:
        for file in sorted(folder.iterdir()):
            media_type = MEDIA_TYPES.get(file.suffix)
            if media_type is None:
                continue
            if file.name in found:
                raise ValueError(
                    f"there are two files of the name {file.name}; pages share one folder of names"
                )
            body = file.read_bytes()
            found[file.name] = Asset(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:16]}"')
    return found
