"""Runs a command and records, in order, when it syncs a file and what it writes to its standard output.

    python3 trace.py <file for the record> [--images <directory> <into>] <command> <word>...

Each line of the record is one system call of any thread of the command:

    sync <path>      an fsync or fdatasync of that file has returned without an error
    print <text>     a write to the standard output is about to begin; the first bytes of it

With `--images`, a directory is copied to <into>/1, <into>/2 and so on, each time before the command changes a file in it:
these are the states in which a kill can leave it.

A seccomp filter stops the threads for these calls only, so that all others run at full speed.
"""

import ctypes
import os
import platform
import shutil
import signal
import struct
import sys

WRITE, FSYNC, FDATASYNC = {"x86_64": (1, 74, 75), "aarch64": (64, 82, 83)}[platform.machine()]
# pwrite64 and ftruncate, which are given an open file.
CHANGES = {"x86_64": (18, 77), "aarch64": (67, 46)}[platform.machine()]
# rename, mkdir and unlink in all their forms, which are given a path.
MOVES = {
    "x86_64": (82, 83, 84, 87, 258, 263, 264, 316),
    "aarch64": (34, 35, 38, 276),
}[platform.machine()]

PTRACE_TRACEME, PTRACE_CONT, PTRACE_SYSCALL = 0, 7, 24
PTRACE_SETOPTIONS, PTRACE_GET_SYSCALL_INFO = 0x4200, 0x420E
# Stops at the end of a system call are told apart from signals, threads and child processes are followed, calls that
# the filter selects stop, and all is killed if this process ends.
OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000
SYSCALL_STOP = signal.SIGTRAP | 0x80
EVENT_SECCOMP = 7
WAIT_FOR_THREADS = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 2
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread, address=0, data=0):
    # A thread may be killed at any time. It is then reported by wait.
    return libc.ptrace(request, thread, address, data)


def install_filter(calls):
    """The kernel reports these calls to the tracer and lets all others pass."""
    allow, trace = 0x7FFF0000, 0x7FF00000
    load_number = struct.pack("HBBI", 0x20, 0, 0, 0)
    compare = [
        struct.pack("HBBI", 0x15, len(calls) - index, 0, call) for index, call in enumerate(calls)
    ]
    answer = [struct.pack("HBBI", 0x06, 0, 0, action) for action in (allow, trace)]
    program = load_number + b"".join(compare + answer)
    steps = ctypes.create_string_buffer(program)
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))
    set_no_new_privileges, set_seccomp, mode_filter = 38, 22, 2
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    if libc.prctl(set_seccomp, mode_filter, ctypes.create_string_buffer(filter_), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


def call_of(thread):
    """Number and arguments of the call that the thread is about to make."""
    info = ctypes.create_string_buffer(88)
    ptrace(PTRACE_GET_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
    number, *arguments = struct.unpack_from("7Q", info, 24)
    return number, arguments


def result_of(thread):
    info = ctypes.create_string_buffer(88)
    ptrace(PTRACE_GET_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
    (result,) = struct.unpack_from("q", info, 24)
    return result


def text_of(thread, arguments):
    _, address, length, *_ = arguments
    with open(f"/proc/{thread}/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(min(length, 200)).decode("utf8", "replace").rstrip("\n")


def path_of(thread, file):
    return os.readlink(f"/proc/{thread}/fd/{file}")


class Images:
    def __init__(self, directory, into):
        self.directory, self.into, self.count = directory, into, 0

    def take(self, thread, number, arguments):
        if number not in MOVES and not path_of(thread, arguments[0]).startswith(self.directory):
            return
        self.count += 1
        shutil.copytree(self.directory, f"{self.into}/{self.count}")


def follow(first, record, images):
    syncing = {}
    known = {first}
    exit_code = 1
    while True:
        try:
            thread, status = os.waitpid(-1, WAIT_FOR_THREADS)
        except ChildProcessError:
            return exit_code
        if not os.WIFSTOPPED(status):
            if thread == first:
                exit_code = os.waitstatus_to_exitcode(status)
            continue
        stop, event = os.WSTOPSIG(status), status >> 16
        request, passed_on = PTRACE_CONT, 0
        if event == EVENT_SECCOMP:
            number, arguments = call_of(thread)
            if images:
                images.take(thread, number, arguments)
            if number in (FSYNC, FDATASYNC):
                syncing[thread] = path_of(thread, arguments[0])
                request = PTRACE_SYSCALL
            elif number == WRITE and arguments[0] == 1:
                for line in text_of(thread, arguments).split("\n"):
                    print("print", line, file=record, flush=True)
        elif stop == SYSCALL_STOP:
            path = syncing.pop(thread)
            if result_of(thread) == 0:
                print("sync", path, file=record, flush=True)
        elif event == 0 and (thread in known or stop != signal.SIGSTOP):
            passed_on = stop
        known.add(thread)
        ptrace(request, thread, 0, passed_on)


def main():
    path, *command = sys.argv[1:]
    calls = [WRITE, FSYNC, FDATASYNC]
    images = None
    if command[0] == "--images":
        _, directory, into, *command = command
        images = Images(directory, into)
        calls += [*CHANGES, *MOVES]
    child = os.fork()
    if child == 0:
        ptrace(PTRACE_TRACEME, 0)
        # The tracer must be ready before the filter is: a call that nobody traces fails.
        os.kill(os.getpid(), signal.SIGSTOP)
        install_filter(calls)
        os.execvp(command[0], command)
    os.waitpid(child, 0)
    if ptrace(PTRACE_SETOPTIONS, child, 0, OPTIONS) != 0:
        raise OSError(ctypes.get_errno(), "PTRACE_SETOPTIONS")
    with open(path, "w", encoding="utf8") as record:
        ptrace(PTRACE_CONT, child)
        sys.exit(follow(child, record, images))


main()
