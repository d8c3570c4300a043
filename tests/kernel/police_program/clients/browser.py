"""A browser uploads 10 MB by a form and speaks 40 messages of 20 KB with a web socket, on port 81. Prints the length and the number."""

import base64
import hashlib
import http.server
import os
import signal
import socketserver
import struct
import subprocess
import sys
import threading
import urllib.parse

PAGE = b"""<form method=post enctype=multipart/form-data action=/put><input type=file name=file></form><script>
document.cookie = 'c=' + 'c'.repeat(2000);
const random = (length) => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
};
const socket = new WebSocket('ws://127.0.0.1:81/chat');
let turns = 0, sent = random(20000);
socket.binaryType = 'arraybuffer';
socket.onopen = () => socket.send(sent);
socket.onclose = () => { location = '/broken-off?' + turns };
socket.onmessage = ({ data }) => {
  const back = new Uint8Array(data);
  if (back.length != sent.length || back.some((byte, at) => byte != sent[at])) location = '/other-bytes';
  turns += 1;
  if (turns < 40) return socket.send(sent = random(20000));
  socket.onclose = null;
  const files = new DataTransfer();
  files.items.add(new File([random(10000000)], 'file'));
  document.forms[0].action = '/put?turns=' + turns;
  document.forms[0].file.files = files.files;
  document.forms[0].submit();
};
</script>"""
done = threading.Event()


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/chat":
            return self.chat()
        if self.path.startswith(("/broken", "/other")):
            print(self.path)
            done.set()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def do_POST(self):
        said = len(self.rfile.read(int(self.headers["Content-Length"])))
        print(urllib.parse.urlsplit(self.path).query, "uploaded" if said > 10_000_000 else said)
        done.set()

    def chat(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while len(head := self.rfile.read(8)) == 8 and head[0] == 0x82:
            length, mask = struct.unpack(">H", head[2:4])[0], head[4:]
            masked = int.from_bytes(self.rfile.read(length), "big")
            said = masked ^ int.from_bytes((mask * (length // 4 + 1))[:length], "big")
            self.wfile.write(struct.pack(">BBH", 0x82, 126, length) + said.to_bytes(length, "big"))
        self.close_connection = True

    def log_message(self, *words):
        pass


socketserver.BaseServer.handle_error = lambda *words: None  # a browser that hangs up
server = http.server.ThreadingHTTPServer(("127.0.0.1", 81), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
flags += f" --disable-sync --disable-dev-shm-usage --user-data-dir={sys.argv[1]}/browser"
browser = subprocess.Popen(["chromium", *flags.split(), "http://127.0.0.1:81/"], start_new_session=True, stdout=2, stderr=subprocess.DEVNULL)
done.wait(120)
os.killpg(browser.pid, signal.SIGKILL)
browser.wait()
