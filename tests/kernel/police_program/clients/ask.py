"""Asks 127.0.0.1 with Python's own client, kept and not kept: heads, a body of 10 MB whole and in chunks. Prints the statuses."""

import http.client
import sys
import urllib.request

body = open(sys.argv[1], "rb").read()
kept = http.client.HTTPConnection("127.0.0.1", 80)
statuses = set()
for method, path, said in [("GET", "/", None), ("PUT", "/put", body), ("POST", "/put", iter([body[:9000], body[9000:]]))] * 3:
    kept.request(method, path, said)
    reply = kept.getresponse()
    reply.read()
    statuses.add(reply.status)
for _ in range(40):
    statuses.add(urllib.request.urlopen("http://127.0.0.1/").status)
print(sorted(statuses))
