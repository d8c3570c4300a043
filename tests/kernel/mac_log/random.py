"""Operations of all kinds, each in directories of its own, so that what became of one is nothing to the others."""
import os, random, socket, sys

random = random.Random(int(sys.argv[1]))
PLACES = ["open", "site", "secret"]


def tried(what, *words):
    try:
        result = what(*words)
    except OSError:
        return
    if what is os.open:
        os.close(result)


def executed(path):
    child = os.fork()
    if child == 0:
        try:
            os.execv(path, [path])
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def sockets(what):
    with socket.socket() as one:
        tried(getattr(one, what), ("127.0.0.1", random.choice([4001, 4002])))


def one(number):
    here, there = (f"{random.choice(PLACES)}/{number}" for _ in range(2))
    name = random.choice(["file", "program", "missing", "folder", "link"])
    path, other = f"{here}/{name}", f"{there}/{random.choice(['file', 'new'])}"
    access = random.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
    more = random.choice([0, 0, os.O_CREAT, os.O_TRUNC, os.O_CREAT | os.O_EXCL, os.O_NOFOLLOW, os.O_DIRECTORY, os.O_PATH])
    random.choice([
        lambda: tried(os.open, path, access | more),
        lambda: tried(os.open, path, access | more),
        lambda: tried(os.listdir, here),
        lambda: tried(os.unlink, path),
        lambda: tried(os.rmdir, path),
        lambda: tried(os.mkdir, path),
        lambda: tried(os.mkfifo, path),
        lambda: tried(os.symlink, "file", path),
        lambda: tried(os.rename, path, other),
        lambda: tried(os.link, path, other),
        lambda: tried(os.truncate, path, 0),
        lambda: tried(os.chmod, path, 0o600),
        lambda: executed(path),
        lambda: sockets("bind"),
        lambda: sockets("connect"),
    ])()


for number in range(int(sys.argv[2])):
    one(number)
