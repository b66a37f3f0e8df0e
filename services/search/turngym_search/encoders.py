"""From texts to vectors: the encoder that ships, or any Hugging Face encoder in a local folder.

The one that ships is ``turngym_corpus.encoder``, MiniLM in numpy; a folder needs the extra ``torch``. Every encoder gives
float32 rows of length 1, so that an inner product is a cosine, and has a hash that a built index must carry.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from turngym_search.settings import MINILM

Vectors: TypeAlias = npt.NDArray[np.float32]


class EncoderError(Exception):
    """The encoder can't be loaded. The message is one line that says what to do."""


class Encoder(ABC):
    """Encodes queries and passages as float32 rows of length 1.

    ``sha256`` is over weights and whatever else decides a passage's vector; ``dim`` is the length of a vector.
    """

    name: str
    sha256: str
    dim: int

    @abstractmethod
    def queries(self, texts: Sequence[str]) -> Vectors:
        """A row a query."""

    @abstractmethod
    def passages(self, texts: Sequence[str]) -> Vectors:
        """A row a passage, from its ``contents``."""


class MiniLM(Encoder):
    """all-MiniLM-L6-v2, 384 dimensions, 256 tokens. It knows no difference between queries and passages."""

    def __init__(self) -> None:
        from turngym_corpus import encoder

        try:
            self._model = encoder.MiniLM()
        except encoder.EncoderError as error:
            raise EncoderError(str(error)) from None
        self.name = MINILM
        self.sha256 = encoder.WEIGHTS_SHA256
        self.dim = encoder.DIMENSIONS

    def queries(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = self._model.encode(texts)
        return vectors

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self.queries(texts)


def open_encoder(name: str, prefixes: str = "auto") -> Encoder:
    """The encoder of that name: "minilm", or the folder of a Hugging Face model. Raises EncoderError."""
    if name == MINILM:
        return MiniLM()
    if not Path(name).is_dir():
        raise EncoderError(f"the encoder {name!r} is neither {MINILM!r} nor a folder")
    try:
        from turngym_search.huggingface import HuggingFaceEncoder
    except ImportError as error:
        raise EncoderError(
            f"an encoder from a folder needs PyTorch and transformers ({error}): pip install 'turngym-search[torch]'"
        ) from None
    return HuggingFaceEncoder(Path(name), prefixes)
