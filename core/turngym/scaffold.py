"""The package of a new environment, from the files in ``templates/service``: whole, or not there."""

import re
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

_NAME = re.compile(r"[a-z][a-z0-9_]{1,30}")
_SUFFIX = ".tmpl"  # so that no tool takes a template for what it becomes


class CannotScaffold(Exception):
    """The package can't be made. The message is one line."""


def scaffold(name: str, folder: Path) -> None:
    """Make the service package ``turngym_<name>`` in ``folder``, which must not exist or be empty. Raises CannotScaffold."""
    if _NAME.fullmatch(name) is None:
        raise CannotScaffold(
            f"{name!r} is no name for a service: 2 to 31 lower-case letters, digits and _, a letter first"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotScaffold(f"{folder} is there already")
    words = {
        "@NAME@": name,
        "@CLASS@": "".join(part.capitalize() for part in name.split("_")),
        "@FOLDER@": _from_here(folder),
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with as_file(files("turngym") / "templates" / "service") as templates:
            for source in sorted(templates.rglob(f"*{_SUFFIX}")):
                target = draft / _filled(str(source.relative_to(templates)).removesuffix(_SUFFIX), words)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_filled(source.read_text("utf-8"), words), "utf-8")
        draft.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _from_here(folder: Path) -> str:
    """The folder as a path from the working directory, where it lies in it: the root of the image's build context."""
    try:
        return folder.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return folder.as_posix()


def _filled(text: str, words: dict[str, str]) -> str:
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text
