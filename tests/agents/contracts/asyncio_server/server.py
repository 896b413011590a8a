"""Contract http with asyncio.start_server: it keeps connections and answers in chunks."""

import asyncio

BODY = b'{"move": "up"}'


async def snake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b"content-length:" in head:
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            writer.writelines([b"%x\r\n" % len(BODY), BODY, b"\r\n0\r\n\r\n"])
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(snake, port=8000)
    await server.serve_forever()


asyncio.run(main())
