"""The settings of a service: environment variables with the prefix ``TURNGYM_``, and nothing read later than the start.

Precedence, lowest first: the runtime's defaults, the service's own ``defaults``, environment variables, explicit arguments
(the command line). A wrong value is a :class:`SettingsError` whose one line names it.
"""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

PREFIX = "TURNGYM_"
_MOST_REPLICAS = 256

Kind = TypeVar("Kind", bound=BaseSettings)


class SettingsError(ValueError):
    """A setting has a wrong value. The message is one line that names it and says what would be right."""


def _data_home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "turngym"


class Settings(BaseSettings):
    """Everything about a running service that its owner may want to change. Times are in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    max_sessions: int = Field(default=1024, ge=1, description="open sessions at a time")
    queue: int = Field(default=64, ge=0, description="creates that may wait for a slot")
    queue_timeout_s: float = Field(
        default=30, ge=0, allow_inf_nan=False, description="longest wait for a slot"
    )
    session_ttl_s: float = Field(default=1800, gt=0, description="an open session that nobody calls expires")
    step_timeout_s: float = Field(default=30, gt=0, description="deadline of one step")
    rebuild_timeout_s: float = Field(
        default=120, gt=0, description="deadline of a replay of a session's actions"
    )
    workers: int | None = Field(
        default=None, ge=1, description="worker threads or processes, where there are any"
    )
    max_body_bytes: int = Field(default=2**20, ge=1, description="largest request body")
    journal: str | None = Field(default=None, min_length=1, description="path of the journal, or 'off'")
    journal_keep_s: float = Field(default=86400, ge=0, description="how long an ended session is kept")
    journal_max_mb: int = Field(default=2048, ge=1, description="size at which the oldest ended sessions go")
    experts: bool = Field(default=False, description="serve the expert's next action; never for training")
    model: str | None = Field(
        default=None, min_length=1, description="language model that may play in the playground"
    )
    model_url: str | None = Field(
        default=None, min_length=1, description="its OpenAI-compatible endpoint, with /v1"
    )
    model_key: SecretStr | None = Field(
        default=None, description="the endpoint's key; never leaves the server"
    )
    token: SecretStr | None = Field(default=None, description="bearer token that every call must carry")
    log_level: Literal["critical", "error", "warning", "info", "debug"] = "info"
    log_format: Literal["text", "json"] = "text"
    data_dir: Path = Field(default_factory=_data_home, description="where the journal and built data lie")
    replica_names: str | None = Field(
        default=None,
        pattern="^[^#]*#[^#]*$",
        description="host names of the replicas that share data_dir, with # for the number",
    )

    def journal_path(self, name: str) -> Path | None:
        """Where the journal of the service ``name`` lies; None means that it is off (kept in memory).

        Replicas that share a folder have a journal each, by number; the first has the name that a lone server's has.

        :raises SettingsError: if there are ``replica_names``, and none of them is this host's.
        """
        if self.journal == "off":
            return None
        if self.journal:
            return Path(self.journal)
        number = 1 if self.replica_names is None else replica_number(self.replica_names)
        suffix = "" if number == 1 else f"-{number}"
        return self.data_dir / f"{name}-{self.port}{suffix}.journal"


def replica_number(names: str) -> int:
    """The number of this replica among hosts called ``names``, where ``#`` stands for the number: 0 to 255.

    An orchestrator that numbers its containers but tells none its number (Docker Compose) still gives them names: this host
    is the one whose name resolves to an address of its own.

    :raises SettingsError: if no name does.
    """
    own = _addresses(socket.gethostname())
    for number in range(_MOST_REPLICAS):
        if own & _addresses(names.replace("#", str(number))):
            return number
    found = ", ".join(sorted(own)) or "no address"
    raise SettingsError(
        f"wrong setting {PREFIX}REPLICA_NAMES={names!r}: no such name, with a number from 0 to {_MOST_REPLICAS - 1} for #, "
        f"is this host's ({found})"
    )


def _addresses(name: str) -> set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except OSError:
        return set()


def load_settings(service_defaults: Mapping[str, Any] | None = None, **overrides: Any) -> Settings:
    """The settings in force.

    :param service_defaults: a service's own defaults (``Service.defaults``), weaker than the environment.
    :param overrides: explicit values, stronger than the environment; None means "not given".
    :raises SettingsError: if a value is wrong or a name is unknown, with one line that says which.
    """
    defaults = dict(service_defaults or {})

    class Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, defaults)

    return read_settings(Layered, **overrides)


def read_settings(kind: type[Kind], **given: Any) -> Kind:
    """Settings of any class, such as a service's own beside the runtime's, from the environment.

    :param given: explicit values, stronger than the environment; None means "not given".
    :raises SettingsError: if a value is wrong, with one line that says which. A secret's value is not shown.
    """
    try:
        return kind(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise SettingsError("; ".join(_line(kind, dict(item)) for item in error.errors())) from None


def _line(kind: type[BaseSettings], item: dict[str, Any]) -> str:
    if not item["loc"]:
        return f"wrong settings: {item['msg'].removeprefix('Value error, ')}"
    name = ".".join(str(part) for part in item["loc"])
    field = kind.model_fields.get(name)
    secret = field is not None and SecretStr in (field.annotation, *get_args(field.annotation))
    variable = name if name.startswith(PREFIX) else f"{kind.model_config['env_prefix']}{name.upper()}"
    return f"wrong setting {variable}={'…' if secret else repr(item['input'])}: {item['msg']}"
