"""What this process may do: `probe.py NAME=PATH ...` makes each operation at the directory, file or device of its name
(`dir`, `other`, `file`, `device`), and prints a line `OPERATION yes` or `OPERATION ERROR` each. `other` is a second
directory, for what moves. With `@` before a path every line of that file is `read PATH`, `list PATH`, ..."""

import errno
import fcntl
import os
import socket
import struct
import sys


def runs(program):
    child = os.fork()
    if child == 0:
        try:
            os.execv(program, [program])
        except OSError as error:
            os._exit(error.errno)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended:
        raise OSError(ended, program)


def opened(flags):
    return lambda path: os.close(os.open(path, flags, 0o600))


def entropy(path):
    fcntl.ioctl(os.open(path, os.O_RDONLY), 0x80045200, struct.pack("i", 0))  # RNDGETENTCNT


def ftruncate(path):
    os.ftruncate(os.open(path, os.O_WRONLY), 0)


FILE = {
    "read": opened(os.O_RDONLY),
    "write": opened(os.O_WRONLY),
    "both": opened(os.O_RDWR),
    "append": opened(os.O_WRONLY | os.O_APPEND),
    "run": runs,
    "truncate": lambda path: os.truncate(path, 0),
    "cut-reading": opened(os.O_RDONLY | os.O_TRUNC),
    "cut-neither": opened(3 | os.O_TRUNC),
    "cut-creating": opened(os.O_RDONLY | os.O_CREAT | os.O_TRUNC),
    "cut-writing": opened(os.O_WRONLY | os.O_TRUNC),
    "cut-both": opened(os.O_RDWR | os.O_TRUNC),
    "cut-open": ftruncate,
}
DIRECTORY = {
    "list": os.listdir,
    "make": lambda path: os.close(os.open(path + "/new", os.O_CREAT | os.O_RDONLY, 0o600)),
    "make-writing": lambda path: os.close(os.open(path + "/newer", os.O_CREAT | os.O_WRONLY, 0o600)),
    "mkdir": lambda path: os.mkdir(path + "/newdir"),
    "symlink": lambda path: os.symlink("x", path + "/newlink"),
    "mkfifo": lambda path: os.mkfifo(path + "/newfifo"),
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(path + "/newsocket"),
    "unlink": lambda path: os.unlink(path + "/u"),
    "rmdir": lambda path: os.rmdir(path + "/empty"),
    "rename-inside": lambda path: os.rename(path + "/v", path + "/w"),
}
BETWEEN = {
    "rename-between": lambda one, other: os.rename(one + "/move", other + "/moved"),
    "link-between": lambda one, other: os.link(one + "/f", other + "/linked"),
    "link-inside": lambda one, other: os.link(one + "/f", one + "/linked"),
}


def say(name, function, *arguments):
    try:
        function(*arguments)
        answer = "yes"
    except OSError as error:
        answer = errno.errorcode[error.errno]
    print(name, answer)


for word in sys.argv[1:]:
    if word.startswith("@"):
        with open(word[1:], encoding="ascii") as lines:
            for line in lines.read().splitlines():
                how, path = line.split(" ", 1)
                say(line, {**FILE, **DIRECTORY}[how], path)
given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
for name, function in DIRECTORY.items() if "dir" in given else ():
    say(name, function, given["dir"])
for name, function in BETWEEN.items() if "other" in given else ():
    say(name, function, given["dir"], given["other"])
for name, function in FILE.items() if "file" in given else ():
    say(name, function, given["file"])
if "device" in given:
    say("ioctl", entropy, given["device"])
