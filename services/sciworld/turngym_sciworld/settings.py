"""The settings of this service alone: which Java, how many JVMs, how much memory and time each may take.

They are environment variables with the runtime's prefix (``TURNGYM_JVMS=2``), read once when the service is made; the
settings that every service has are the runtime's business.
"""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from turngym.server.settings import PREFIX


class JvmSettings(BaseSettings):
    """What an owner may want to change about the JVMs. Times are in seconds, memory in MiB."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    java: Path | None = Field(
        default=None, description="the java to use; by default the one that pip installed"
    )
    jvms: int = Field(default=1, ge=1, le=64, description="JVMs at most; each takes one core under load")
    jvm_sessions: int = Field(default=256, ge=1, description="sessions in one JVM")
    jvm_heap_mb: int = Field(default=1536, ge=64, description="heap of one JVM")
    jvm_call_timeout_s: float = Field(
        default=20, gt=0, allow_inf_nan=False, description="a JVM that leaves one call unanswered is replaced"
    )
    jvm_start_timeout_s: float = Field(
        default=180,
        gt=0,
        allow_inf_nan=False,
        description="longest start of a JVM, and search for a solution",
    )
