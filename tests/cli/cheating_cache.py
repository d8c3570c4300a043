"""A forward proxy that keeps what may be kept, or cheats in one way: cheating_cache.py MODE [SECOND_ORIGIN_PORT]

honest     a cache: what was asked for before comes from the store
forge      keeps nothing, and writes the first request's stamp into the replies to later ones
repeats    asks the second origin for what was asked for before
everything asks the second origin for everything
prefetch   a cache that asks for something else with every miss
twice      a cache that asks twice for every miss
"""

import http.client
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

mode = sys.argv[1]
second = int(sys.argv[2]) if len(sys.argv) > 2 else 0
lock = threading.Lock()
first_stamps = {}
store = {}


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.ways = {}

    def fetch(self, port, path, stamp):
        way = self.ways.setdefault(port, http.client.HTTPConnection("127.0.0.1", port))
        way.request("GET", path, headers=dict([stamp] if stamp else []))
        reply = way.getresponse()
        return reply.status, reply.getheaders(), reply.read()

    def reply(self, path, port, stamp):
        with lock:
            first = first_stamps.setdefault(path, stamp)
            kept = store.get(path)
        is_repeat = first != stamp
        if mode == "everything" or mode == "repeats" and is_repeat:
            return self.fetch(second, path, first)
        if kept and mode != "forge":
            (status, headers, body), since = kept
            return status, [*headers, ("Age", str(int(time.time() - since)))], body
        fetched = self.fetch(port, path, stamp)
        may_be_kept = "public" in dict(fetched[1]).get("Cache-Control", "")
        if mode == "forge" and is_repeat and may_be_kept:
            said = first[1].split("=")[1]
            made = [(name, re.sub("=[0-9a-f]*", "=" + said, value, count=1)) for name, value in fetched[1] if name == first[0]]
            return fetched[0], [*(pair for pair in fetched[1] if pair[0] != first[0]), *made], fetched[2]
        if mode == "prefetch":
            with lock:
                other = next(iter(first_stamps))
            self.fetch(port, other, None)
        if mode == "twice":
            self.fetch(port, path, stamp)
        if may_be_kept and mode != "forge":
            with lock:
                store[path] = fetched, time.time()
        return fetched

    def do_GET(self):
        where = urlsplit(self.path)
        # Its name is drawn, its form is not.
        stamp = next(pair for pair in self.headers.items() if re.fullmatch("[a-z]+=[0-9a-f]{16}", pair[1]))
        status, headers, body = self.reply(where.path, where.port, stamp)
        self.send_response_only(status)
        for name, value in headers:
            if name not in ("Connection", "Transfer-Encoding", "Content-Length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Proxy)
print(f"listening: {server.server_port}", flush=True)
server.serve_forever()
