"""Contract http by a framework that first asks the kernel for its own address.

A connected UDP socket sends nothing; its name is the address that the kernel would use.
"""

import socket
from http.server import BaseHTTPRequestHandler, HTTPServer


def own_address(family: int, outside: str) -> str:
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((outside, 58162))
        except OSError as error:
            print(f"asked in vain: {error}", flush=True)
            return "127.0.0.1"
        return str(asking.getsockname()[0])


class Snake(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "14")
        self.end_headers()
        self.wfile.write(b'{"move": "up"}')

    def log_message(self, *words: object) -> None:
        pass


addresses = [own_address(socket.AF_INET, "10.253.155.219"), own_address(socket.AF_INET6, "fd31::1")]
print(f"serving at {addresses}", flush=True)
HTTPServer(("0.0.0.0", 8000), Snake).serve_forever()
