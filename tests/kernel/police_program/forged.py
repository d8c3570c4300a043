"""Says GET /a on a connection to 127.0.0.1:80, forges a segment of it that the server's kernel takes no notice of, then asks for /noaccess.

What is forged would be the head of a long body, were it taken: with its first argument `again` in the place of what was
said before, with `wrong-sum` in that of what comes next, with `ahead` further on. Prints the statuses that came back.
"""

import re
import socket
import struct
import sys


def sum16(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def answer(client):
    client.settimeout(1)
    try:
        return client.recv(65536)
    except OSError:
        return b""


wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
wire.bind(("lo", 0))
client = socket.create_connection(("127.0.0.1", 80))
port = client.getsockname()[1]
first = b"GET /a HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 80 + b"\r\n\r\n"
client.sendall(first)
got = answer(client)
wire.settimeout(1)
while True:  # the frame with what was said
    frame = wire.recv(65536)
    if frame.endswith(first) and struct.unpack("!H", frame[34:36])[0] == port:
        break
seq, ack = struct.unpack("!II", frame[38:46])
ack += len(got)
forged = b"POST /a HTTP/1.1\r\nContent-Length: 900000000\r\n\r\n"
seq += {"again": 0, "wrong-sum": len(first), "ahead": len(first) + 500}[sys.argv[1]]
head = struct.pack("!HHIIBBHHH", port, 80, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, 0x18, 512, 0, 0)
pseudo = bytes([127, 0, 0, 1] * 2) + struct.pack("!HH", 6, len(head) + len(forged))
right = sum16(pseudo + head + forged)
check = right ^ 0x5555 if sys.argv[1] == "wrong-sum" else right
head = head[:16] + struct.pack("!H", check) + head[18:]
ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + len(forged), 1, 0x4000, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
ip = ip[:10] + struct.pack("!H", sum16(ip)) + ip[12:]
wire.send(bytes(12) + b"\x08\0" + ip + head + forged)
try:
    client.sendall(b"GET /noaccess HTTP/1.1\r\nHost: x\r\n\r\n")
    got += answer(client)
except OSError:
    pass
print([int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", got)])
