"""Contract http with the API of 2017: y grows downwards, and bodies are called coords."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Snake(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"color": "#008080", "name": "old"}
        if self.path == "/move":
            me = next(snake for snake in told["snakes"] if snake["id"] == told["you"])
            assert (me["health_points"], me["coords"][0]) == (100, [1, 9]), told
            assert (told["food"], told["dead_snakes"]) == ([[5, 5]], []), told
            answer = {"move": "up", "taunt": "hello"}
        elif self.path == "/start":
            assert set(told) == {"game_id", "width", "height"}, told
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


ThreadingHTTPServer(("", 8080), Snake).serve_forever()
