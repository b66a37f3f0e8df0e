"""The viewer's settings: environment variables ``TURNGYM_…``, read when it starts."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from turngym.server.settings import PREFIX

PORTS = {"webarena": 8001, "search": 8002, "textcraft": 8003, "babyai": 8004, "sciworld": 8005}


class Settings(BaseSettings):
    """Everything about the viewer that its owner may want to change. Times are in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    runs: Path = Field(default=Path("runs"), description="the folder that holds the runs, or one run")
    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(default=8010, ge=1, le=65535, description="port to listen on")
    token: SecretStr | None = Field(default=None, description="bearer token that every call must carry")
    index_dir: Path | None = Field(
        default=None, description="where indexes lie; by default each lies in its run's folder"
    )
    poll_s: float = Field(default=2.0, gt=0, le=3600, description="how often a run that grows is read again")
    playgrounds: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict,
        description="where services are, for links: textcraft=http://host:8003,babyai=…; default: this host, usual ports",
    )

    @field_validator("playgrounds", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        for name, sign, address in pairs:
            if not sign or not address.strip().startswith(("http://", "https://")):
                raise ValueError(f"{name.strip()!r} needs an address, as in textcraft=http://localhost:8003")
        return {name.strip(): address.strip().rstrip("/") for name, _, address in pairs}

    @field_validator("runs")
    @classmethod
    def _folder(cls, value: Path) -> Path:
        if not value.is_dir():
            raise ValueError(
                f"there is no folder {value}; make train writes runs to runs/, or set TURNGYM_RUNS"
            )
        return value.resolve()
