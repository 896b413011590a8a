"""Contract http with wsgiref, on another port, from a thread that outlives the main thread."""

import json
import threading
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


def snake(environ: Any, start: Any) -> list[bytes]:
    body = json.dumps({"move": "up"}).encode()
    start("200 OK", [("Content-Length", str(len(body)))])
    return [body]


server = make_server("localhost", 9999, snake, handler_class=Quiet)
threading.Thread(target=server.serve_forever).start()
