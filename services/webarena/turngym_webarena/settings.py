"""The service's own settings, beside the runtime's: environment variables with the prefix ``TURNGYM_``.

``make serve TASK=webarena CHROMIUM=/path`` sets one. A wrong value stops the start with one line that names it.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from turngym.server.settings import PREFIX

Profile = Literal["fixed", "webarena"]


class WebArenaSettings(BaseSettings):
    """What an owner of the service may want to change. Times are in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    chromium: Path | None = Field(default=None, description="the browser's program; found if not given")
    profile: Profile = Field(
        default="fixed", description="evaluators: with known defects mended, or as published"
    )
    judge_url: str | None = Field(
        default=None, description="OpenAI-compatible endpoint (…/v1) that judges fuzzy answers"
    )
    judge_model: str = Field(default="gpt-4o-mini", description="the judge's model")
    judge_key: SecretStr | None = Field(default=None, description="the judge's key")
    sites_port: int = Field(
        default=0, ge=0, le=65535, description="port of the embedded sites; 0: a free one"
    )
    settle_s: float = Field(default=10, gt=0, le=300, description="longest wait for a page to come to rest")
    call_s: float = Field(default=25, gt=0, le=300, description="longest wait for one call to the browser")
    active_pages: int = Field(
        default=2 * (os.cpu_count() or 1), ge=1, description="pages that act or are read at a time"
    )
    recycle_contexts: int = Field(
        default=2000, ge=1, description="sessions after which a browser is replaced by a fresh one"
    )
    recycle_mb: int = Field(default=6144, ge=256, description="memory at which a browser is replaced")
    max_nodes: int = Field(default=1500, ge=50, description="lines of a page that are shown at a time")
