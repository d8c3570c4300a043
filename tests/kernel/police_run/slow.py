"""A server that takes 4 ms a request, and looks at its listeners in turn: high, then low."""

import select
import socket
import time


def listener(port):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(128)
    return made


CLASSES = {listener(8200): b"high", listener(8201): b"low"}
while True:
    for ready in select.select(list(CLASSES), [], [])[0]:
        try:
            client, _ = ready.accept()
            client.settimeout(1)
            client.recv(4096)
            time.sleep(0.004)
            client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + CLASSES[ready])
            client.close()
        except OSError:
            pass
