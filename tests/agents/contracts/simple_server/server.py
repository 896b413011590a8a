"""Contract http with the standard library's server, on the port of a typical tutorial."""

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Snake(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer({"apiversion": "1", "color": "#008080"})

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/move":
            assert set(told) == {"game", "turn", "board", "you"}, sorted(told)
            self.answer({"move": "up", "shout": "hello"})
        else:
            print("told", self.path, told["turn"], flush=True)
            self.answer({})

    def answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


if __name__ == "__main__":
    HTTPServer(("0.0.0.0", int(os.environ.get("PORT", "8080"))), Snake).serve_forever()
