"""Contract http like a program in another language: it binds the socket of its environment."""

import os
import socket

listener = socket.socket(socket.AF_UNIX)
listener.bind(os.environ["PECK_SOCKET"])
listener.listen()
while True:
    line, _ = listener.accept()
    while data := line.recv(1 << 16):
        head, _, body = data.partition(b"\r\n\r\n")
        length = int((head.lower().partition(b"content-length:")[2].split() or [b"0"])[0])
        while len(body) < length:
            body += line.recv(1 << 16)
        line.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"move": "up"}')
