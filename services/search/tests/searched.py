"""A small corpus with questions and its index as files, and search servers on real ports, for the tests of search."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from turngym_search.build import build
from turngym_search.encoders import Encoder
from turngym_search.passages import JsonlCorpus
from turngym_search.settings import SearchSettings

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Japan": "Tokyo", "Kenya": "Nairobi", "Peru": "Lima", "Chile": "Santiago",
    "Norway": "Oslo", "Egypt": "Cairo", "Ghana": "Accra", "Cuba": "Havana", "Iraq": "Baghdad", "Nepal": "Kathmandu",
}  # fmt: skip
READY_S = 120


class Small:
    """A corpus of two passages a country, questions for their capitals, and a dense index of them, as files."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self.corpus = folder / "corpus.jsonl"
        self.index = folder / "index"
        self.questions = folder / "questions"
        self.data = folder / "data"
        with self.corpus.open("w") as file:
            for number, (country, capital) in enumerate(CAPITALS.items()):
                rows = [
                    (
                        f"gov-{number}",
                        "Government",
                        f"The capital of {country} is {capital}. It sits in parliament.",
                    ),
                    (f"geo-{number}", "Geography", f"{country} has mountains, rivers and a long coast."),
                ]
                for id, title, text in rows:
                    contents = f'"{country}: {title}"\n{text}'
                    file.write(json.dumps({"id": id, "contents": contents, "extra": 1}) + "\n")
        self.questions.mkdir()
        for split in ("train", "validation", "test"):
            with (self.questions / f"{split}.jsonl").open("w") as file:
                for number, (country, capital) in enumerate(CAPITALS.items()):
                    gold = [{"id": f"gov-{number}", "title": f"{country}: Government"}]
                    row = {
                        "question": f"What is the capital of {country}?",
                        "answers": [capital, f"{capital} City"],
                    }
                    file.write(json.dumps(row | {"gold": gold, "hops": 1}) + "\n")
        corpus = JsonlCorpus(self.corpus, self.data / "search")
        build(corpus, encoder, "flat", self.index, names=("small", "minilm"), threads=1, step=lambda *_: None)

    def settings(self, **changes: Any) -> SearchSettings:
        """Settings that serve it."""
        fields = {
            "corpus": str(self.corpus),
            "index": str(self.index),
            "questions": str(self.questions),
            "data_dir": self.data,
        }
        return SearchSettings(
            **{name: value for name, value in (fields | changes).items() if value is not None}
        )

    def environ(self, **changes: Any) -> dict[str, str]:
        """The environment of a process that serves it."""
        fields = {"corpus": self.corpus, "index": self.index, "questions": self.questions}
        given = {
            f"TURNGYM_SEARCH_{name.upper()}": str(value)
            for name, value in (fields | changes).items()
            if value is not None
        }
        return given | {"TURNGYM_DATA_DIR": str(self.data)}


class Server:
    """``turngym serve search`` in a process of its own."""

    def __init__(self, environ: dict[str, str], port: int, journal: Path, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TURNGYM_")}
        self.environ = clean | environ | {"TURNGYM_PORT": str(port), "TURNGYM_JOURNAL": str(journal)}
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, ready: bool = True) -> "Server":
        """Start it and wait until it is ready."""
        command = [str(Path(sys.executable).with_name("turngym")), "serve", "search"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, env=self.environ, stdout=log, stderr=log)
        end = time.monotonic() + READY_S
        while ready:
            assert self.process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, "not ready in time: " + self._log.read_text()
            try:
                if httpx.get(f"{self.url}/ready").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        return self

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def log(self) -> str:
        """What it has printed."""
        return self._log.read_text()

    def client(self) -> httpx.Client:
        """A plain HTTP client of it."""
        return httpx.Client(base_url=self.url, timeout=60)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
