"""An endpoint that speaks OpenAI's chat completions and answers what a test tells it to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def endpoint(answers: list[tuple[int, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """An endpoint that gives these answers in turn, the last one for ever; its address, and the requests it got."""
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(body | {"path": self.path, "key": self.headers["Authorization"]})
            status, content = answers.pop(0) if len(answers) > 1 else answers[0]
            said = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *arguments: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
        server.shutdown()


def says(text: str) -> dict[str, Any]:
    """A chat completion."""
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
