"""Contract http by a program outside the box's Python: it listens on ``$PORT``.

The test adds a first line with an interpreter's path, so that the kernel executes the file.
"""

import os
import socket
import sys

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"move": "up"}'


def serve(port: int = int(os.environ["PORT"])) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen()
    while True:
        line, _ = listener.accept()
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := line.recv(1 << 16):
            head, _, body = data.partition(b"\r\n\r\n")
            length = int((head.lower().partition(b"content-length:")[2].split() or [b"0"])[0])
            while len(body) < length:
                body += line.recv(1 << 16)
            line.sendall(ANSWER)


if __name__ == "__main__":
    print("executed:", sys.executable, flush=True)
    serve()
