"""The settings of this service: environment variables with the prefix ``TURNGYM_SEARCH_``, read once at the start.

They come beside the runtime's own (``TURNGYM_PORT`` and so on). The defaults serve the corpus and the questions that ship
with the package ``turngym_corpus``, with its own encoder; everything else is loaded by path.
"""

from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from turngym.server.settings import PREFIX as TURNGYM
from turngym.server.settings import Settings

PREFIX = f"{TURNGYM}SEARCH_"
SHIPPED = "shipped"
MINILM = "minilm"


def _data_home() -> Path:
    made: Path = Settings.model_fields["data_dir"].get_default(call_default_factory=True)
    return made


class SearchSettings(BaseSettings):
    """What is searched, how, and with which questions. Times are in seconds unless a name ends in ``_ms``."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, populate_by_name=True)

    retriever: Literal["dense", "bm25", "hybrid", "remote"] = "dense"
    corpus: str = Field(
        default=SHIPPED,
        min_length=1,
        description='"shipped", or a JSONL file of {"id", "contents"} lines as wiki-18.jsonl has them',
    )
    index: str | None = Field(
        default=None,
        min_length=1,
        description="a folder made by turngym-search build, or a bare FAISS file such as e5_Flat.index; "
        "default: made from what ships and kept in the data folder",
    )
    index_kind: Literal["flat", "hnsw", "sq8", "ivf"] = Field(
        default="flat", description="the kind of index made where none is given"
    )
    encoder: str = Field(
        default=MINILM, min_length=1, description='"minilm", or the folder of a Hugging Face encoder'
    )
    prefixes: Literal["auto", "none", "e5", "bge"] = Field(
        default="auto",
        description="what an encoder wants before a query and a passage; auto goes by its name",
    )
    questions: str = Field(
        default=SHIPPED,
        min_length=1,
        description="shipped, or a folder of train, validation and test files (.parquet as Search-R1's, or .jsonl)",
    )
    remote_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="a retrieval server's /retrieve, where retriever is remote",
    )
    remote_timeout_s: float = Field(default=5, gt=0, le=600, description="longest wait for one answer of it")
    remote_tries: int = Field(default=3, ge=1, le=20, description="tries of one request to it")
    topk: int = Field(default=3, ge=1, le=100, description="passages where a request does not say how many")
    window_ms: float = Field(
        default=2,
        ge=0,
        le=1000,
        description="how long a batch of queries waits for company when there is some",
    )
    max_batch: int = Field(default=64, ge=1, le=4096, description="most queries that are computed together")
    queue: int = Field(default=1024, ge=1, description="queries that may wait; beyond it the answer is 503")
    cache: int = Field(default=20000, ge=0, description="queries whose results are remembered")
    threads: int = Field(default=1, ge=1, description="threads of FAISS and of the encoder's matrix products")
    max_query_chars: int = Field(default=1000, ge=1, description="what of a longer query is looked at")
    data_dir: Path = Field(
        default_factory=_data_home,
        validation_alias=AliasChoices("data_dir", f"{TURNGYM}DATA_DIR"),
        description="where built indexes lie",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.retriever == "remote") != (self.remote_url is not None):
            raise ValueError(f"{PREFIX}RETRIEVER=remote and {PREFIX}REMOTE_URL belong together")
        if self.retriever == "bm25" and self.index is not None:
            raise ValueError(f"{PREFIX}INDEX is a dense index, which {PREFIX}RETRIEVER=bm25 does not use")
        return self
