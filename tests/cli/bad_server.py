"""Servers that misbehave, each in its own way: bad_server.py MODE PORT [N]"""

import os
import socket
import sys
import threading
import time

mode, port = sys.argv[1], int(sys.argv[2])
number = int(sys.argv[3]) if len(sys.argv) > 3 else 0
served = 0
lock = threading.Lock()


def reply(head, body):
    return f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body


FIVE = reply("Content-Length: 5", b"hello")


def talk(connection):
    global served
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        if mode == "close":
            return
        if mode == "garbage":
            connection.sendall(b"SSH-2.0-no web server\r\n\r\n")
        elif mode == "less":
            connection.sendall(reply("Content-Length: 100", b"x" * 50))
            return
        elif mode == "more":
            connection.sendall(reply("Content-Length: 5", b"x" * 50))
        elif mode == "probe":
            there = b"x-probe: yes" in head.lower()
            connection.sendall(FIVE if there else b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        else:
            connection.sendall(FIVE)
        with lock:
            served += 1
            if mode == "die-after" and served >= number:
                print("out of cheese", file=sys.stderr, flush=True)
                os._exit(9)


def serve(connection):
    try:
        talk(connection)
    except OSError:
        pass
    finally:
        connection.close()


if mode == "die-at-start":
    print("no settings found", file=sys.stderr, flush=True)
    sys.exit(7)
if mode == "never":
    print("thinking about it", file=sys.stderr, flush=True)
    time.sleep(1000)
listener = socket.create_server(("127.0.0.1", port), backlog=128)
print(f"listening: {listener.getsockname()[1]}", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
