"""A server that burns 3 ms of CPU for a path that nobody, of all servers on DIR, has asked for in the last half second.

    first_pays.py PORT DIR [ANYTHING]
"""

import os
import socketserver
import sys
import time

FRESH_S = 0.5
BURN_S = 0.003


class Answer(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while line := self.rfile.readline():
            path = line.split()[1].decode()
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            if self.server.is_first(path):
                until = time.thread_time() + BURN_S
                while time.thread_time() < until:
                    pass
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def is_first(self, path):
        mark = os.path.join(sys.argv[2], path.strip("/") or "root")
        try:
            age = time.time() - os.stat(mark).st_mtime
            os.utime(mark)
        except FileNotFoundError:
            age = FRESH_S + 1
            open(mark, "w").close()
        return age > FRESH_S


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
