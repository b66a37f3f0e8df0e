"""What tests of several folders share: WebArena's own task file, where it is."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_OFFICIAL = Path(
    os.environ.get("WEBARENA_TASKS", Path(__file__).parents[4] / "shared/data/webarena/test.raw.json")
)


@pytest.fixture(scope="session")
def official() -> list[dict[str, Any]]:
    """The 812 tasks that WebArena has published; skips the test where there is no file of them."""
    if not _OFFICIAL.exists():
        pytest.skip(f"no official task file at {_OFFICIAL}; name it by WEBARENA_TASKS")
    tasks: list[dict[str, Any]] = json.loads(_OFFICIAL.read_text(encoding="utf-8"))
    return tasks
