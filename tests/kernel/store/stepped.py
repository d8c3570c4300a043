"""Runs a program again and again, and exchanges two names before its first, second, third ... system call.

    stepped.py USER ONE TWO PROGRAM...

The exchange is made with the rights of USER. Prints each exit code that came, the runs, and the exchanges that USER
could make. A run in which the program ended before its turn is the last. Calls that it makes for `--version`, too, come
before it reads its arguments.
"""

import ctypes
import os
import sys

TRACEME, SYSCALL, SETOPTIONS = 0, 24, 0x4200
GOOD_AND_EXITKILL = 1 | 1 << 20
AT_FDCWD, EXCHANGE = -100, 2
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]


def exchange(user, one, two):
    libc.setfsuid(user)
    done = libc.renameat2(AT_FDCWD, one, AT_FDCWD, two, EXCHANGE) == 0
    libc.setfsuid(0)
    return done


def started(program):
    child = os.fork()
    if child == 0:
        nowhere = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        libc.ptrace(TRACEME, 0, None, None)
        os.execv(program[0], program)
    os.waitpid(child, 0)
    libc.ptrace(SETOPTIONS, child, None, GOOD_AND_EXITKILL)
    return child


def run(program, turn, at_turn):
    """The exit code, and the number of system calls."""
    child, stops, signal = started(program), 0, 0
    while True:
        libc.ptrace(SYSCALL, child, None, signal)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status), stops // 2
        signal = os.WSTOPSIG(status)
        if signal & 0x80:
            stops, signal = stops + 1, 0
            # It stops before each call, and after it.
            if stops == 2 * turn - 1:
                at_turn()


def main(user, one, two, *program):
    user, one, two = int(user), one.encode(), two.encode()
    codes, exchanged = set(), 0
    _, turn = run([program[0], "--version"], 0, None)
    first = turn = turn * 3 // 4
    while True:
        turn += 1
        done = []
        code, stops = run(list(program), turn, lambda: done.append(exchange(user, one, two)))
        codes.add(code)
        if any(done):
            exchanged += 1
            exchange(user, one, two)
        if stops < turn:
            print(*sorted(codes), turn - first, exchanged)
            return


main(*sys.argv[1:])
