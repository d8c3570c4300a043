"""What a launcher finds when it starts: `before.py WHAT ... -- WORDS` prepares this process, and executes WORDS.

`answer CALL NUMBER` has a system call fail with that error number, or seem to succeed where it is 0; `layers N` puts N
Landlock rulesets on it, which grant what they judge.
"""

import ctypes
import os
import platform
import struct
import sys

X86 = platform.machine() == "x86_64"
# Name: number by architecture, and the first argument that is meant, if there is one.
CALLS = {
    "capset": (126, 91, None),
    "prctl-no-new-privileges": (157, 167, 38),
    "close_range": (436, 436, None),
    "landlock_create_ruleset": (444, 444, None),
    "landlock_add_rule": (445, 445, None),
    "landlock_restrict_self": (446, 446, None),
    "seccomp": (317, 277, None),
}
LIBC = ctypes.CDLL(None, use_errno=True)


def checked(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), "cannot prepare")
    return answer


def answer(name, error):
    x86, arm, argument = CALLS[name]
    allow, otherwise = struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), struct.pack("HBBI", 6, 0, 0, 0x50000 | error)
    steps = [struct.pack("HBBI", 0x20, 0, 0, 0), struct.pack("HBBI", 0x15, 1, 0, x86 if X86 else arm), allow]
    if argument is not None:
        steps += [struct.pack("HBBI", 0x20, 0, 0, 16), struct.pack("HBBI", 0x15, 1, 0, argument), allow]
    text = ctypes.create_string_buffer(b"".join(steps + [otherwise]))
    program = struct.pack("HxxxxxxQ", len(steps) + 1, ctypes.addressof(text))
    # As root, so that no_new_privs is left to the launcher.
    checked(LIBC.prctl(22, 2, program, 0, 0))


def layers(count):
    root = os.open("/", os.O_PATH)
    for _ in range(count):
        ruleset = checked(LIBC.syscall(444, struct.pack("Q", 4), 8, 0))
        rule = struct.pack("=Qi", 4, root)
        checked(LIBC.syscall(445, ruleset, 1, rule, 0))
        checked(LIBC.syscall(446, ruleset, 0))
        os.close(ruleset)


words = sys.argv[1:]
while words[0] != "--":
    if words[0] == "answer":
        answer(words[1], int(words[2]))
        words = words[3:]
    else:
        layers(int(words[1]))
        words = words[2:]
os.execv(words[1], words[1:])
