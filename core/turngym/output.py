"""Files that are whole or not there: written under another name, and renamed when complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def partial_of(path: Path) -> Path:
    """Where what is complete of ``path`` is kept when its writing is interrupted."""
    return path.with_name(path.name + ".partial")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which becomes ``path`` at the end of the block.

    If the block is interrupted (Ctrl-C) what was written is kept as :func:`partial_of` it; if it fails, nothing is. An
    existing ``path`` stays as it is until then. The folder is made where it is missing. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    kept: Path | None = None
    try:
        with draft.open("wb") as file:
            try:
                yield file
                kept = path
            except KeyboardInterrupt:
                kept = partial_of(path) if file.tell() else None
                raise
            finally:
                file.flush()
                os.fsync(file.fileno())
    except KeyboardInterrupt:
        if kept is not None:
            draft.replace(kept)
        raise
    else:
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
