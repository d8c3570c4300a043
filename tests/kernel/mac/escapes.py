"""What a confined process can still do: each attempt in a process of its own, without the layer and under it.

`escapes.py stage DIR LAYERS` runs in namespaces of its own (mount, ipc, uts, pid, net), as root. It lays out DIR, makes
every attempt without the layer, lays out another one and makes every attempt under it, and prints for each

    VERDICT  KIND  NAME  WITHOUT  UNDER

VERDICT is `ok`, `WRONG`, or `absent`: this machine lacks what the attempt is about. KIND says what is right:
`refused` is possible without and refused under; `barred` fails by its arguments without and is refused under (what
nobody wants to succeed); `remains` and `allowed` are possible both ways; `never` fails both ways.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time

X86 = platform.machine() == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
# Numbers by architecture; from 424 on they are the same.
NUMBERS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280),
    "chroot": (161, 51), "clock_settime": (227, 112), "clone": (56, 220), "delete_module": (176, 106),
    "execveat": (322, 281), "fanotify_init": (300, 262), "finit_module": (313, 273), "get_robust_list": (274, 100),
    "init_module": (175, 105), "inotify_add_watch": (254, 27), "inotify_init1": (294, 26), "ioperm": (173, None),
    "iopl": (172, None), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_load": (246, 104), "keyctl": (250, 219),
    "memfd_create": (319, 279), "mount": (165, 40), "mq_open": (240, 180), "msgget": (68, 186),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "perf_event_open": (298, 241),
    "pivot_root": (155, 41), "prctl": (157, 167), "prlimit64": (302, 261), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142),
    "renameat2": (316, 276), "request_key": (249, 218), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "semget": (64, 190), "sendmmsg": (307, 269), "setdomainname": (171, 162), "sethostname": (170, 161),
    "setns": (308, 268), "setpriority": (141, 140), "settimeofday": (164, 170), "shmat": (30, 196),
    "shmctl": (31, 195), "shmget": (29, 194), "swapoff": (168, 225), "swapon": (167, 224),
    "syslog": (103, 116), "tgkill": (234, 131), "truncate": (76, 45), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282), "pidfd_send_signal": (424, 424), "io_uring_setup": (425, 425),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fspick": (433, 433),
    "pidfd_open": (434, 434), "clone3": (435, 435), "openat2": (437, 437), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "mount_setattr": (442, 442), "quotactl_fd": (443, 443),
    "landlock_create_ruleset": (444, 444), "memfd_secret": (447, 447), "process_mrelease": (448, 448),
    "fchmodat2": (452, 452), "statmount": (457, 457), "listmount": (458, 458), "setxattrat": (463, 463),
    "file_setattr": (469, 469), "open_tree_attr": (467, 467),
}
AT_FDCWD = -100
MSG_FASTOPEN = 0x20000000


class Absent(Exception):
    """This machine lacks what the attempt is about."""


def call(name, *arguments):
    number = NUMBERS[name][0 if X86 else 1]
    if number is None:
        raise Absent
    words = [a.encode() if isinstance(a, str) else a for a in arguments]
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in words]
    ctypes.set_errno(0)
    answer = LIBC.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer


ATTEMPTS = []


def attempt(kind, name):
    def add(function):
        ATTEMPTS.append((kind, name, function))
        return function
    return add


def simple(kind, name, *words):
    """An attempt that is one system call."""
    ATTEMPTS.append((kind, name, lambda: call(*words)))


# What the stage tells the attempts, as NAME=VALUE words.
S = {}


def path(name):
    return os.path.join(S["dir"], name)


def number(name):
    return int(S[name])


def read(descriptor):
    if os.read(descriptor, 6) != b"secret":
        raise OSError(errno.EIO, "something else was read")


def peek(name, flags=os.O_RDONLY):
    read(os.open(name, flags))


def runs(*words):
    """Whether a program ran: it ends with 7."""
    child = os.fork()
    if child == 0:
        try:
            os.execv(words[0], words)
        except OSError as error:
            os._exit(100 if error.errno in (errno.EACCES, errno.EPERM) else 101)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended != 7:
        raise OSError(errno.EACCES if ended == 100 else errno.EIO, f"ended with {ended}")


# --- Files: reading ------------------------------------------------------------------------------------------------

SECRET = "secret/s"


@attempt("refused", "open")
def _():
    peek(path(SECRET))


@attempt("allowed", "open what is granted")
def _():
    peek(path("ok/f"))


@attempt("refused", "a symbolic link")
def _():
    os.symlink(path(SECRET), path("ok/symlink"))
    peek(path("ok/symlink"))


@attempt("refused", "a hard link out")
def _():
    os.link(path(SECRET), path("ok/hardlink"))
    peek(path("ok/hardlink"))


@attempt("refused", "rename out")
def _():
    os.rename(path("secret/r"), path("ok/r"))
    peek(path("ok/r"))


@attempt("refused", "rename by exchange")
def _():
    call("renameat2", AT_FDCWD, path("secret/x"), AT_FDCWD, path("ok/x"), 2)
    peek(path("ok/x"))


@attempt("refused", "rename of the directory")
def _():
    os.rename(path("secret2"), path("ok/secret2"))
    peek(path("ok/secret2/s"))


@attempt("refused", "..")
def _():
    peek(path("ok/../secret/s"))


@attempt("refused", "/proc/self/root")
def _():
    peek("/proc/self/root" + path(SECRET))


@attempt("refused", "chdir, then a relative path")
def _():
    os.chdir(path("secret"))
    peek("s")


@attempt("refused", "O_PATH, fchdir, then a relative path")
def _():
    os.fchdir(os.open(path("secret"), os.O_PATH))
    peek("s")


@attempt("refused", "openat below O_PATH")
def _():
    read(os.open("s", os.O_RDONLY, dir_fd=os.open(path("secret"), os.O_PATH)))


@attempt("refused", "O_PATH, opened again")
def _():
    peek(f"/proc/self/fd/{os.open(path(SECRET), os.O_PATH)}")


@attempt("refused", "openat2")
def _():
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    read(call("openat2", AT_FDCWD, path(SECRET), how, len(how)))


@attempt("refused", "/proc/OUTSIDER/root")
def _():
    peek(f"/proc/{S['outsider']}/root{path(SECRET)}")


@attempt("refused", "/proc/OUTSIDER/cwd")
def _():
    peek(f"/proc/{S['outsider']}/cwd/secret/s")


@attempt("refused", "/proc/OUTSIDER/fd")
def _():
    peek(f"/proc/{S['outsider']}/fd/{S['file']}")


@attempt("refused", "/proc/OUTSIDER/mem")
def _():
    os.open(f"/proc/{S['outsider']}/mem", os.O_RDONLY)


@attempt("refused", "/proc/OUTSIDER/environ")
def _():
    os.read(os.open(f"/proc/{S['outsider']}/environ", os.O_RDONLY), 1)


@attempt("refused", "openat in an inherited directory")
def _():
    read(os.open("s", os.O_RDONLY, dir_fd=number("folder")))


@attempt("refused", "read of an inherited descriptor")
def _():
    os.lseek(number("file"), 0, 0)
    read(number("file"))


@attempt("refused", "an inherited descriptor, opened again")
def _():
    try:
        peek(f"/proc/self/fd/{S['file']}")
    except FileNotFoundError:
        raise OSError(errno.EBADF, "it is closed") from None


@attempt("refused", "list a directory")
def _():
    os.listdir(path("secret"))


@attempt("refused", "open_by_handle_at")
def _():
    handle, mount = ctypes.create_string_buffer(struct.pack("II", 128, 0), 136), ctypes.create_string_buffer(4)
    call("name_to_handle_at", AT_FDCWD, path(SECRET), handle, mount, 0)
    read(call("open_by_handle_at", os.open(path("ok"), os.O_RDONLY), handle, os.O_RDONLY))


@attempt("refused", "inotify")
def _():
    call("inotify_add_watch", call("inotify_init1", 0), path("secret"), 0x100)


simple("refused", "fanotify", "fanotify_init", 0x200, 0)
simple("refused", "io_uring", "io_uring_setup", 4, ctypes.create_string_buffer(128))


@attempt("refused", "a disk through a node of one's own")
def _():
    device = os.stat("/").st_dev
    os.mknod(path("ok/disk"), stat.S_IFBLK | 0o600, device)


@attempt("refused", "a character device of one's own")
def _():
    os.mknod(path("ok/mem"), stat.S_IFCHR | 0o600, os.makedev(1, 1))


@attempt("refused", "/dev/mem")
def _():
    try:
        os.open("/dev/mem", os.O_RDONLY)
    except FileNotFoundError:
        raise Absent from None


@attempt("remains", "a descriptor sent over a socket")
def _():
    talk = socket.socket(fileno=os.dup(number("talk")))
    talk.send(b"f")
    _, descriptors, _, _ = socket.recv_fds(talk, 1, 1)
    os.lseek(descriptors[0], 0, 0)
    read(descriptors[0])


@attempt("remains", "stat")
def _():
    os.stat(path(SECRET))


@attempt("remains", "readlink")
def _():
    os.readlink(path("secret/link"))


@attempt("remains", "getxattr")
def _():
    try:
        os.getxattr(path(SECRET), "user.known")
    except OSError as error:
        raise Absent if error.errno in (errno.ENODATA, errno.EOPNOTSUPP) else error


@attempt("remains", "chdir")
def _():
    os.chdir(path("secret"))


@attempt("remains", "O_PATH")
def _():
    os.open(path(SECRET), os.O_PATH)


@attempt("remains", "locks and leases on a file that may be read")
def _():
    file = os.open(path("ro/lease"), os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)


# --- Files: changing -----------------------------------------------------------------------------------------------

@attempt("refused", "open for writing")
def _():
    os.open(path(SECRET), os.O_WRONLY)


@attempt("refused", "open for writing what may be read")
def _():
    os.open(path("ro/f"), os.O_WRONLY)


@attempt("refused", "append to what may be read")
def _():
    os.open(path("ro/f"), os.O_WRONLY | os.O_APPEND)


@attempt("refused", "a read descriptor, opened again for writing")
def _():
    file = os.open(path("ro/f"), os.O_RDONLY)
    os.open(f"/proc/self/fd/{file}", os.O_RDWR)


def empties(name, how):
    """Whether a file was cut off."""
    if os.stat(path(name)).st_size == 0:
        raise OSError(errno.EIO, "it is empty already")
    how(path(name))
    if os.stat(path(name)).st_size != 0:
        raise OSError(errno.EIO, "it is as it was")


for place in ("secret", "ro"):
    def cut(kind, name, file, how, place=place):
        ATTEMPTS.append((kind, f"{name} in {place}", lambda: empties(f"{place}/{file}", how)))

    cut("refused", "truncate", "t1", lambda name: call("truncate", name, 0))
    cut("refused", "O_RDONLY and O_TRUNC", "t2", lambda name: os.open(name, os.O_RDONLY | os.O_TRUNC))
    cut("refused", "access mode 3 and O_TRUNC", "t3", lambda name: os.open(name, 3 | os.O_TRUNC))
    cut("refused", "O_WRONLY and O_TRUNC", "t4", lambda name: os.open(name, os.O_WRONLY | os.O_TRUNC))
    cut("refused", "O_CREAT and O_TRUNC", "t5", lambda name: os.open(name, os.O_CREAT | os.O_TRUNC))


def of_read_descriptor(name, how):
    ATTEMPTS.append(("never", f"{name} of a read descriptor", lambda: how(os.open(path("ro/f"), os.O_RDONLY))))


of_read_descriptor("ftruncate", lambda file: os.ftruncate(file, 0))
of_read_descriptor("fallocate", lambda file: os.posix_fallocate(file, 0, 100))
of_read_descriptor("write", lambda file: os.write(file, b"x"))
of_read_descriptor("copy_file_range", lambda file: os.copy_file_range(os.open(path("ok/f"), 0), file, 6))
of_read_descriptor("splice", lambda file: os.splice(filled_pipe(), file, 1))
of_read_descriptor("sendfile", lambda file: os.sendfile(file, os.open(path("ok/f"), 0), 0, 1))
of_read_descriptor("shared mapping", lambda file: mmap.mmap(file, 1, mmap.MAP_SHARED, mmap.PROT_WRITE))


def filled_pipe():
    reader, writer = os.pipe()
    os.write(writer, b"x")
    return reader


@attempt("refused", "create")
def _():
    os.open(path("secret/new"), os.O_CREAT | os.O_WRONLY, 0o600)


@attempt("refused", "a nameless file")
def _():
    os.open(path("secret"), os.O_TMPFILE | os.O_RDWR, 0o600)


@attempt("refused", "make a directory")
def _():
    os.mkdir(path("secret/newdir"))


@attempt("refused", "make a link")
def _():
    os.symlink("x", path("secret/newlink"))


@attempt("refused", "make a FIFO")
def _():
    os.mkfifo(path("secret/fifo"))


@attempt("refused", "make a socket")
def _():
    socket.socket(socket.AF_UNIX).bind(path("secret/newsocket"))


@attempt("refused", "unlink")
def _():
    os.unlink(path("secret/u"))


@attempt("refused", "rmdir")
def _():
    os.rmdir(path("secret/empty"))


@attempt("refused", "rename inside")
def _():
    os.rename(path("secret/v"), path("secret/w"))


@attempt("refused", "rename in, over a file")
def _():
    os.rename(path("ok/over"), path("secret/over"))


def attribute(name, how):
    ATTEMPTS.append(("refused", f"{name} of a file outside", lambda: how(path(SECRET))))
    ATTEMPTS.append(("refused", f"{name} of a file that may be written", lambda: how(path("ok/f"))))


attribute("chmod", lambda name: os.chmod(name, 0o640))
attribute("chown", lambda name: os.chown(name, 0, 0))
attribute("lchown", lambda name: os.lchown(name, 0, 0))
attribute("utimes", lambda name: os.utime(name))
attribute("setxattr", lambda name: os.setxattr(name, "user.new", b"1"))
attribute("fchmodat2", lambda name: call("fchmodat2", AT_FDCWD, name, 0o640, 0))
attribute("setxattrat", lambda name: call("setxattrat", AT_FDCWD, name, 0, b"user.n", xattr_arguments(), 16))
attribute("file_setattr", lambda name: call("file_setattr", AT_FDCWD, name, bytes(24), 24, 0))

VALUE = ctypes.create_string_buffer(b"1")


def xattr_arguments():
    return struct.pack("QII", ctypes.addressof(VALUE), 1, 0)


@attempt("refused", "fchmod of a read descriptor")
def _():
    os.fchmod(os.open(path("ro/f"), os.O_RDONLY), 0o644)


@attempt("refused", "fchown of a read descriptor")
def _():
    os.fchown(os.open(path("ro/f"), os.O_RDONLY), 0, 0)


@attempt("refused", "futimens of a read descriptor")
def _():
    os.utime(os.open(path("ro/f"), os.O_RDONLY))


@attempt("refused", "fsetxattr of a read descriptor")
def _():
    os.setxattr(os.open(path("ro/f"), os.O_RDONLY), "user.new", b"1")


@attempt("refused", "flags by ioctl of a read descriptor")
def _():
    try:
        fcntl.ioctl(os.open(path("ro/f"), os.O_RDONLY), 0x40086602, struct.pack("Q", 0x40))
    except OSError as error:
        raise Absent if error.errno in (errno.ENOTTY, errno.EOPNOTSUPP) else error


@attempt("refused", "a kernel setting")
def _():
    os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


@attempt("refused", "/proc/sysrq-trigger")
def _():
    try:
        os.open("/proc/sysrq-trigger", os.O_WRONLY)
    except FileNotFoundError:
        raise Absent from None


@attempt("refused", "one's own memory through /proc")
def _():
    os.open("/proc/self/mem", os.O_RDWR)


@attempt("refused", "a file of shared memory")
def _():
    os.open("/dev/shm/outside", os.O_RDWR)


@attempt("refused", "a core dump")
def _():
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as pattern:
        if pattern.read(1) in "|/":
            raise Absent
    child = os.fork()
    if child == 0:
        import resource
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
        except ValueError:
            pass
        os.chdir(path("secret"))
        os.abort()
    os.waitpid(child, 0)
    answered(b"c")


# --- Other views of the file system --------------------------------------------------------------------------------

NEWNS, NEWUSER, NEWTIME = 0x20000, 0x10000000, 0x80


@attempt("refused", "bind mount")
def _():
    call("unshare", NEWNS) if S["layer"] == "0" else None
    call("mount", path("secret"), path("ok/m"), None, 0x1000, None)


simple("barred", "umount", "umount2", "/nonexistent", 0)
simple("barred", "pivot_root", "pivot_root", "/nonexistent", "/nonexistent")
simple("refused", "fsopen", "fsopen", "tmpfs", 0)
simple("barred", "fspick", "fspick", AT_FDCWD, "/nonexistent", 0)
simple("refused", "open_tree", "open_tree", AT_FDCWD, "/usr", 1)
simple("barred", "open_tree_attr", "open_tree_attr", AT_FDCWD, "/nonexistent", 1, None, 0)
simple("barred", "move_mount", "move_mount", -1, "", -1, "", 0)
simple("barred", "mount_setattr", "mount_setattr", AT_FDCWD, "/nonexistent", 1, bytes(32), 32)
simple("barred", "statmount", "statmount", None, None, 0, 0)
simple("barred", "listmount", "listmount", None, None, 0, 0)
simple("refused", "a mount namespace", "unshare", NEWNS)
simple("refused", "a user namespace", "unshare", NEWUSER)
simple("refused", "a time namespace", "unshare", NEWTIME)
simple("refused", "chroot", "chroot", "/usr")


@attempt("refused", "a user namespace by clone")
def _():
    child = call("clone", NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    os._exit(0) if child == 0 else os.waitpid(child, 0)


@attempt("refused", "a user namespace by clone3")
def _():
    arguments = struct.pack("11Q", NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    child = call("clone3", arguments, len(arguments))
    os._exit(0) if child == 0 else os.waitpid(child, 0)


@attempt("refused", "another's namespace")
def _():
    call("setns", os.open(f"/proc/{S['outsider']}/ns/uts", os.O_RDONLY), 0)


@attempt("refused", "another's namespace by its pidfd")
def _():
    call("setns", call("pidfd_open", number("outsider"), 0), 0x4000000)


# --- Code ----------------------------------------------------------------------------------------------------------

@attempt("allowed", "exec what is granted")
def _():
    runs("/bin/sh", "-c", "exit 7")


@attempt("refused", "exec without the right")
def _():
    runs(path("ok/prog"), "-c", "exit 7")


@attempt("refused", "a script without the right")
def _():
    runs(path("ok/script"))


def memfd():
    file = call("memfd_create", b"m", 0)
    with open(path("ok/prog"), "rb") as program:
        os.write(file, program.read())
    return file


@attempt("refused", "memfd, by its path")
def _():
    runs(f"/proc/self/fd/{memfd()}", "-c", "exit 7")


@attempt("refused", "memfd, by execveat")
def _():
    file, child = memfd(), os.fork()
    if child == 0:
        words = (ctypes.c_char_p * 4)(b"sh", b"-c", b"exit 7", None)
        try:
            call("execveat", file, b"", words, None, 0x1000)
        finally:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 7:
        raise OSError(errno.EACCES, "it did not run")


@attempt("refused", "a nameless file, by its path")
def _():
    file = os.open(path("ok"), os.O_TMPFILE | os.O_RDWR, 0o700)
    with open(path("ok/prog"), "rb") as program:
        os.write(file, program.read())
    readable = os.open(f"/proc/self/fd/{file}", os.O_RDONLY)
    os.close(file)
    runs(f"/proc/self/fd/{readable}", "-c", "exit 7")


@attempt("refused", "memfd_secret")
def _():
    try:
        call("memfd_secret", 0)
    except OSError as error:
        raise Absent if error.errno == errno.ENOSYS else error


@attempt("remains", "the loader with a program as argument")
def _():
    loader = "/lib64/ld-linux-x86-64.so.2" if X86 else "/lib/ld-linux-aarch64.so.1"
    if not os.path.exists(loader):
        raise Absent
    runs(loader, path("ok/prog"), "-c", "exit 7")


@attempt("remains", "a shell with a script as argument")
def _():
    runs("/bin/sh", path("ok/script"))


@attempt("remains", "a file mapped as code")
def _():
    mmap.mmap(os.open(path("ok/prog"), os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


@attempt("remains", "memory that is written and executed")
def _():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)


@attempt("refused", "set-user-id")
def _():
    said = subprocess.run([path("suid/id"), "-u"], stdout=subprocess.PIPE, check=False).stdout
    if said != b"65534\n":
        raise OSError(errno.EPERM, f"it is {said}")


@attempt("refused", "calls by another architecture's numbers")
def _():
    if not X86:
        raise Absent
    # mov eax, 20 (getpid); int 0x80; ret
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()


@attempt("barred", "calls by x32's numbers")
def _():
    if not X86:
        raise Absent
    if LIBC.syscall(ctypes.c_long(0x40000000 | 39)) < 0:
        # Few kernels know them.
        raise OSError(errno.EINVAL if ctypes.get_errno() == errno.ENOSYS else ctypes.get_errno(), "x32")


# --- Processes -----------------------------------------------------------------------------------------------------

@attempt("refused", "ptrace")
def _():
    call("ptrace", 0x4206, number("outsider"), 0, 0)


@attempt("refused", "process_vm_readv")
def _():
    word = ctypes.create_string_buffer(8)
    here = struct.pack("QQ", ctypes.addressof(word), 8)
    call("process_vm_readv", number("outsider"), here, 1, struct.pack("QQ", number("address"), 8), 1, 0)


@attempt("refused", "process_vm_writev")
def _():
    word = ctypes.create_string_buffer(8)
    here = struct.pack("QQ", ctypes.addressof(word), 8)
    call("process_vm_writev", number("outsider"), here, 1, struct.pack("QQ", number("address"), 8), 1, 0)


@attempt("refused", "pidfd_getfd")
def _():
    file = call("pidfd_getfd", call("pidfd_open", number("outsider"), 0), number("file"), 0)
    os.lseek(file, 0, 0)
    read(file)


@attempt("refused", "kcmp")
def _():
    try:
        call("kcmp", os.getpid(), number("outsider"), 1, 0, 0)
    except OSError as error:
        raise Absent if error.errno == errno.ENOSYS else error


simple("barred", "process_madvise", "process_madvise", -1, None, 0, 0, 0)
simple("barred", "process_mrelease", "process_mrelease", -1, 0)


@attempt("refused", "get_robust_list")
def _():
    head, size = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    call("get_robust_list", number("outsider"), head, size)


@attempt("remains", "pidfd_open")
def _():
    call("pidfd_open", number("outsider"), 0)


@attempt("refused", "kill")
def _():
    os.kill(number("outsider"), signal.SIGCONT)


@attempt("refused", "kill with signal 0")
def _():
    os.kill(number("outsider"), 0)


@attempt("refused", "kill of a group")
def _():
    os.killpg(number("outsider"), signal.SIGCONT)


@attempt("refused", "tgkill")
def _():
    call("tgkill", number("outsider"), number("outsider"), signal.SIGCONT)


def information():
    return struct.pack("iii", signal.SIGCONT, 0, -1) + bytes(116)


@attempt("refused", "rt_sigqueueinfo")
def _():
    call("rt_sigqueueinfo", number("outsider"), signal.SIGCONT, information())


@attempt("refused", "rt_tgsigqueueinfo")
def _():
    call("rt_tgsigqueueinfo", number("outsider"), number("outsider"), signal.SIGCONT, information())


@attempt("refused", "pidfd_send_signal")
def _():
    call("pidfd_send_signal", call("pidfd_open", number("outsider"), 0), signal.SIGCONT, None, 0)


def answered(question):
    """Whether the outsider has seen it: `s` a signal, as it blocks SIGUSR1 and looks; `c` a core dump."""
    talk = socket.socket(fileno=os.dup(number("talk")))
    talk.send(question)
    if talk.recv(1) != b"y":
        raise OSError(errno.EPERM, "nothing was seen")


@attempt("refused", "a signal of a pipe's readiness")
def _():
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, number("outsider"))
    fcntl.fcntl(reader, 10, signal.SIGUSR1)  # F_SETSIG
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")
    answered(b"s")


@attempt("refused", "a signal of a socket's readiness")
def _():
    one, other = socket.socketpair()
    fcntl.ioctl(one, 0x8902, struct.pack("i", number("outsider")))  # SIOCSPGRP
    fcntl.fcntl(one, 10, signal.SIGUSR1)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
    other.send(b"x")
    answered(b"s")


@attempt("refused", "setpriority of another")
def _():
    call("setpriority", 0, number("outsider"), 1)


@attempt("refused", "setpriority of a user's processes")
def _():
    call("setpriority", 2, 0, 1)


@attempt("allowed", "setpriority of oneself")
def _():
    call("setpriority", 0, 0, 1)


@attempt("refused", "sched_setaffinity of another")
def _():
    call("sched_setaffinity", number("outsider"), 8, struct.pack("Q", 3))


@attempt("refused", "sched_setscheduler of another")
def _():
    call("sched_setscheduler", number("outsider"), 3, struct.pack("i", 0))


@attempt("refused", "ioprio_set of another")
def _():
    call("ioprio_set", 1, number("outsider"), 2 << 13 | 4)


@attempt("refused", "prlimit of another")
def _():
    call("prlimit64", number("outsider"), 7, None, ctypes.create_string_buffer(16))


@attempt("refused", "PR_SET_MM")
def _():
    call("prctl", 35, 15, ctypes.create_string_buffer(4), 0, 0)


@attempt("refused", "perf_event_open")
def _():
    event = struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0) + bytes(64)
    call("perf_event_open", event, 0, -1, -1, 0)


@attempt("refused", "bpf")
def _():
    call("bpf", 0, struct.pack("IIIII", 2, 4, 8, 1, 0) + bytes(52), 72)


@attempt("refused", "userfaultfd")
def _():
    try:
        call("userfaultfd", 0)
    except OSError as error:
        raise Absent if error.errno == errno.ENOSYS else error


@attempt("allowed", "a process and a thread")
def _():
    import threading
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    runs("/bin/sh", "-c", "exit 7")


@attempt("allowed", "a ruleset of one's own")
def _():
    call("landlock_create_ruleset", struct.pack("QQQ", 4, 0, 0), 24, 0)


@attempt("refused", "a file from another thread")
def _():
    import threading
    found = []

    def tried():
        try:
            peek(path(SECRET))
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=tried)
    thread.start()
    thread.join()
    if found:
        raise found[0]


# --- Between processes ---------------------------------------------------------------------------------------------

@attempt("refused", "an abstract socket")
def _():
    socket.socket(socket.AF_UNIX).connect("\0outside")


@attempt("refused", "a datagram to an abstract socket")
def _():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\0outside-datagram")


@attempt("remains", "a Unix socket by its path")
def _():
    socket.socket(socket.AF_UNIX).connect(path("secret/socket"))


@attempt("remains", "a datagram to a Unix socket by its path")
def _():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", path("secret/datagram"))


simple("refused", "System V shared memory", "shmget", 0x5E1, 0, 0)
simple("refused", "System V shared memory, made", "shmget", 0, 4096, 0o1600)
simple("refused", "a System V semaphore", "semget", 0, 1, 0o1600)
simple("refused", "a System V message queue", "msgget", 0, 0o1600)


@attempt("refused", "System V shared memory by its number")
def _():
    call("shmctl", number("shm"), 2, ctypes.create_string_buffer(256))


simple("refused", "a POSIX message queue", "mq_open", b"outside", os.O_RDWR, 0, None)
simple("refused", "keyctl", "keyctl", 0, -4, 0)
simple("refused", "add_key", "add_key", b"user", b"bakeoff", b"x", 1, -2)
simple("barred", "request_key", "request_key", b"user", b"nonexistent", None, -2)


def typed(request, argument):
    return lambda: fcntl.ioctl(0, request, argument)


ATTEMPTS.append(("refused", "TIOCSTI", typed(termios.TIOCSTI, b"x")))
ATTEMPTS.append(("barred", "TIOCLINUX", typed(termios.TIOCLINUX, b"\x06")))

# --- Network -------------------------------------------------------------------------------------------------------

LOCAL = "127.0.0.1"


@attempt("allowed", "a TCP port that is granted")
def _():
    socket.create_connection((LOCAL, number("port")))


@attempt("refused", "another TCP port")
def _():
    socket.create_connection((LOCAL, number("other")))


@attempt("refused", "another TCP port over IPv6")
def _():
    socket.create_connection(("::1", number("other")))


@attempt("refused", "another TCP port over IPv6, mapped")
def _():
    socket.create_connection((f"::ffff:{LOCAL}", number("other")))


@attempt("allowed", "bind of a port that is granted")
def _():
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((LOCAL, number("listen")))
    server.listen()


@attempt("refused", "bind of another port")
def _():
    socket.socket().bind((LOCAL, number("unbound")))


@attempt("refused", "bind of any port")
def _():
    socket.socket().bind((LOCAL, 0))


@attempt("refused", "bind without a family")
def _():
    server = socket.socket()
    address = struct.pack("=HH4s8s", 0, socket.htons(number("unbound")), bytes(4), bytes(8))
    if LIBC.bind(server.fileno(), address, 16) < 0:
        raise OSError(ctypes.get_errno(), "bind")


@attempt("remains", "listen without bind")
def _():
    socket.socket().listen()


def fast_open(how):
    """A connection by sending, and the port it went to."""
    sender = socket.socket()
    how(sender, (LOCAL, number("other")))
    if sender.getpeername()[1] != number("other"):
        raise OSError(errno.EIO, "somewhere else")


@attempt("refused", "TCP fast open by sendto")
def _():
    fast_open(lambda sender, to: sender.sendto(b"x", MSG_FASTOPEN, to))


@attempt("refused", "TCP fast open by sendmsg")
def _():
    fast_open(lambda sender, to: sender.sendmsg([b"x"], [], MSG_FASTOPEN, to))


@attempt("refused", "TCP fast open by sendmmsg")
def _():
    def several(sender, to):
        word = ctypes.create_string_buffer(b"x")
        address = ctypes.create_string_buffer(
            struct.pack("=HH4s8s", socket.AF_INET, socket.htons(to[1]), socket.inet_aton(to[0]), bytes(8)))
        parts = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(word), 1))
        message = struct.pack("QIIQQQQiII", ctypes.addressof(address), 16, 0, ctypes.addressof(parts), 1, 0, 0, 0, 0, 0)
        call("sendmmsg", sender.fileno(), ctypes.create_string_buffer(message), 1, MSG_FASTOPEN)

    fast_open(several)


def deferred(port):
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, 30, 1)  # TCP_FASTOPEN_CONNECT
    sender.connect((LOCAL, number(port)))
    return sender


@attempt("refused", "TCP fast open by connect")
def _():
    deferred("other").send(b"x")


@attempt("never", "TCP fast open by connect, then sent elsewhere")
def _():
    sender = deferred("port")
    sender.sendto(b"x", (LOCAL, number("other")))
    if sender.getpeername()[1] != number("other"):
        raise OSError(errno.EIO, "somewhere else")


def kind_of_socket(name, family, kind, protocol=0):
    def made():
        try:
            socket.socket(family, kind, protocol)
        except OSError as error:
            lacking = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.ENOPROTOOPT)
            raise Absent if error.errno in lacking else error
    ATTEMPTS.append(("refused", name, made))


@attempt("refused", "another TCP port by MPTCP")
def _():
    try:
        sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    except OSError as error:
        raise Absent if error.errno in (errno.EPROTONOSUPPORT, errno.ENOPROTOOPT) else error
    sender.connect((LOCAL, number("other")))


STREAM, DATAGRAM, RAW = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW
kind_of_socket("UDP", socket.AF_INET, DATAGRAM)
kind_of_socket("UDP over IPv6", socket.AF_INET6, DATAGRAM)
kind_of_socket("UDP-Lite", socket.AF_INET, DATAGRAM, 136)
kind_of_socket("ping", socket.AF_INET, RAW, 1)
kind_of_socket("raw IPv6", socket.AF_INET6, RAW, 58)
kind_of_socket("SCTP", socket.AF_INET, STREAM, 132)
kind_of_socket("SMC as a protocol", socket.AF_INET, STREAM, 256)
kind_of_socket("SMC as a family", 43, STREAM)
kind_of_socket("packets", socket.AF_PACKET, RAW, 0x300)
kind_of_socket("vsock", 40, STREAM)
kind_of_socket("netlink", socket.AF_NETLINK, RAW)
kind_of_socket("the kernel's ciphers", 38, 5)
kind_of_socket("XDP", 44, RAW)
kind_of_socket("Bluetooth", 31, RAW, 1)
kind_of_socket("CAN", 29, RAW, 1)
kind_of_socket("TIPC", 30, 5)


@attempt("barred", "another protocol over TCP")
def _():
    socket.socket().setsockopt(socket.IPPROTO_TCP, 31, b"nonexistent")  # TCP_ULP


@attempt("refused", "an interface's flags")
def _():
    request = struct.pack("16sH14x", b"lo", 0x49)
    fcntl.ioctl(socket.socket(), 0x8914, request)  # SIOCSIFFLAGS: up, loopback, running, as it is


# --- The machine ---------------------------------------------------------------------------------------------------

simple("refused", "sethostname", "sethostname", b"h", 1)
simple("refused", "setdomainname", "setdomainname", b"d", 1)
simple("refused", "the kernel's log", "syslog", 10, None, 0)
simple("refused", "ports of devices", "ioperm", 0x80, 1, 0)
simple("refused", "all ports of devices", "iopl", 0)
simple("barred", "reboot", "reboot", 0, 0, 0, None)
simple("barred", "kexec_load", "kexec_load", 0, 0, None, 0xFFFF)
simple("barred", "init_module", "init_module", None, 0, None)
simple("barred", "finit_module", "finit_module", -1, None, 0)
simple("barred", "delete_module", "delete_module", b"nonexistent", 0x800)
simple("barred", "swapon", "swapon", "/nonexistent", 0)
simple("barred", "swapoff", "swapoff", "/nonexistent")
simple("barred", "settimeofday", "settimeofday", struct.pack("qq", 0, -1), None)
simple("barred", "clock_settime", "clock_settime", -100, bytes(16))
simple("barred", "acct", "acct", "/nonexistent")
simple("barred", "quotactl", "quotactl", -1, b"/nonexistent", 0, None)
simple("barred", "quotactl_fd", "quotactl_fd", -1, 0, 0, None)


# --- How it is done ------------------------------------------------------------------------------------------------

def outcome(function):
    """In a process of its own: `possible`, an error's name, `absent` or `killed`."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            function()
            said = "possible"
        except Absent:
            said = "absent"
        except OSError as error:
            said = errno.errorcode.get(error.errno, str(error.errno))
        except BaseException as error:  # a fault of the attempt
            said = f"fault:{error!r}".replace(" ", "_")
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    said = b""
    while part := os.read(reader, 1000):
        said += part
    os.close(reader)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said.decode() or f"killed-{-ended}"


def attempts(words):
    S.update(word.split("=", 1) for word in words)
    for _, name, function in ATTEMPTS:
        print(f"{name}\t{outcome(function)}")


# EBADF: what was inherited is closed.
REFUSALS = ("EACCES", "EPERM", "EXDEV", "ENOSYS", "EBADF", f"killed-{int(signal.SIGSYS)}")


def judged(kind, without, under):
    if without == "absent" or (kind in ("refused", "barred") and without == "ENOSYS"):
        return "absent" if under in REFUSALS + ("absent",) else "WRONG"
    good = {
        "refused": without == "possible" and under in REFUSALS,
        "barred": without not in ("possible", "EPERM", "EACCES") and under == "EPERM",
        "remains": without == under == "possible",
        "allowed": without == under == "possible",
        "never": "possible" not in (without, under),
    }[kind]
    if "fault" in without + under:
        good = False
    return "ok" if good else "WRONG"


def lay_out(place):
    for folder in ("ok/m", "ro", "secret/empty", "secret2", "suid"):
        os.makedirs(os.path.join(place, folder))
    texts = ["ok/f", "ok/x", "ok/over", "ro/f", "ro/lease", "secret2/s"]
    texts += [f"secret/{name}" for name in ("s", "r", "u", "v", "x", "over")]
    texts += [f"{folder}/t{number}" for folder in ("secret", "ro") for number in range(1, 6)]
    for name in texts:
        with open(os.path.join(place, name), "w", encoding="ascii") as file:
            file.write("secret\n")
    os.symlink("s", os.path.join(place, "secret/link"))
    try:
        os.setxattr(os.path.join(place, SECRET), "user.known", b"1")
    except OSError:
        pass  # its attempt says that it is absent
    shutil.copy(shutil.which("dash") or "/bin/sh", os.path.join(place, "ok/prog"))
    with open(os.path.join(place, "ok/script"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 7\n")
    os.chmod(os.path.join(place, "ok/script"), 0o755)
    shutil.copy(shutil.which("id"), os.path.join(place, "suid/id"))
    os.chown(os.path.join(place, "suid/id"), 65534, 65534)
    os.chmod(os.path.join(place, "suid/id"), 0o4755)


# The outsider's descriptor of the secret file, and the one that the attempts inherit.
FILE = 50


def outside(place, talk):
    """What lies outside: servers, and a process that sends a descriptor and looks for signals when it is asked."""
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.dup2(os.open(os.path.join(place, SECRET), os.O_RDONLY), FILE)
    os.chdir(place)
    word = ctypes.create_string_buffer(b"outside!")
    talk.send(struct.pack("Q", ctypes.addressof(word)))
    while asked := talk.recv(1):
        if asked == b"f":
            socket.send_fds(talk, [b"f"], [FILE])
        elif asked == b"c":
            talk.send(b"y" if any(name.startswith("core") for name in os.listdir("secret")) else b"n")
        else:
            pending = signal.SIGUSR1 in signal.sigpending()
            if pending:
                signal.sigwait([signal.SIGUSR1])
            talk.send(b"y" if pending else b"n")
    os._exit(0)


def servers(place):
    """Ports and sockets of somebody else, as long as they are referred to."""
    held = []
    for _ in range(2):
        server = socket.create_server(("::", 0), family=socket.AF_INET6, backlog=500, dualstack_ipv6=True)
        server.setsockopt(socket.IPPROTO_TCP, 23, 100)  # TCP_FASTOPEN
        held.append(server)
    for name in ("\0outside", os.path.join(place, "secret/socket")):
        server = socket.socket(socket.AF_UNIX)
        server.bind(name)
        server.listen(500)
        held.append(server)
    for name in ("\0outside-datagram", os.path.join(place, "secret/datagram")):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        server.bind(name)
        held.append(server)
    return held


def free_ports():
    found = [socket.create_server((LOCAL, 0)) for _ in range(2)]
    return [server.getsockname()[1] for server in found]


def one_side(place, layers, under):
    lay_out(place)
    held = servers(place)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        outside(place, theirs)
    theirs.close()
    (address,) = struct.unpack("Q", ours.recv(8))
    listen, unbound = free_ports()
    shm = call("shmget", 0x5E1, 4096, 0o1600 | 0o1000 if under == "0" else 0)
    master, terminal = os.openpty()
    os.dup2(os.open(os.path.join(place, SECRET), os.O_RDONLY), FILE)
    folder = os.open(os.path.join(place, "secret"), os.O_RDONLY)
    known = {
        "dir": place, "outsider": child, "file": FILE, "folder": folder, "address": address,
        "talk": ours.fileno(), "port": held[0].getsockname()[1], "other": held[1].getsockname()[1],
        "listen": listen, "unbound": unbound, "shm": shm, "layer": under,
    }
    words = ["/usr/bin/python3", __file__, "attempts"] + [f"{name}={value}" for name, value in known.items()]
    if under == "1":
        lets = [f"--let={name}={known[name]}" for name in ("dir", "port", "listen")]
        policy = os.path.join(os.path.dirname(__file__), "escapes.toml")
        words = [layers, "mac", "run", policy, "--domain", "caged", f"--let=here={os.path.dirname(__file__)}",
                 *lets, f"--keep-fd={ours.fileno()}", "--"] + words
    kept = (FILE, folder, ours.fileno())
    done = subprocess.run(words, stdin=terminal, stdout=subprocess.PIPE, pass_fds=kept, check=False, text=True)
    del master
    ours.close()
    os.waitpid(child, 0)
    if done.returncode != 0:
        sys.exit(f"the attempts ended with {done.returncode}")
    return dict(line.split("\t") for line in done.stdout.splitlines())


def interface_up():
    fcntl.ioctl(socket.socket(socket.AF_INET, DATAGRAM), 0x8914, struct.pack("16sH14x", b"lo", 0x49))


def stage(place, layers):
    interface_up()
    call("mount", b"none", "/dev/shm", b"tmpfs", 0, None)
    with open("/dev/shm/outside", "w", encoding="ascii"):
        pass
    queue = call("mq_open", b"outside", os.O_RDWR | os.O_CREAT, 0o600, None)
    without = one_side(os.path.join(place, "without"), layers, "0")
    under = one_side(os.path.join(place, "under"), layers, "1")
    os.close(queue)
    for kind, name, _ in ATTEMPTS:
        verdict = judged(kind, without[name], under[name])
        print(f"{verdict}\t{kind}\t{name}\t{without[name]}\t{under[name]}")


if __name__ == "__main__":
    stage(*sys.argv[2:]) if sys.argv[1] == "stage" else attempts(sys.argv[2:])
