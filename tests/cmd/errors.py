# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""errors: every errno of every file that a command touches, once.

usage: errors.py LIBRARY PLACE

LIBRARY is one_fault.so, PLACE the directory that ODMDIR, SMC_R_RUNDIR and so on
are below. Each command of the table is run once to see which files it opens,
makes, reads, writes; then once for each of these files and each errno that a call
of it can have, half of them; with SMC_R_LONG for all, and for each of these calls. It may do its work all the same. If it does not, it must name the
file, the cause and a cure, and leave database and snapshot as they were.
"""
import errno
import hashlib
import os
import re
import subprocess
import sys

LIBRARY, PLACE = sys.argv[1:]
EVERY_CALL = bool(os.environ.get("SMC_R_LONG"))

# What happens to calls, by errno.
PATH = "EACCES EPERM ELOOP EIO"
if EVERY_CALL:
    PATH += " EROFS ENOTDIR ENAMETOOLONG ENOMEM"
ROOM = "ENOSPC EDQUOT"
CAN_HAVE = {
    "open": PATH + " " + ROOM + " EMFILE ENFILE EISDIR ENXIO ETXTBSY",
    "make": PATH + " " + ROOM,
    "move": "EACCES EPERM EROFS EIO EBUSY ENOSPC EXDEV",
    "read": "EIO EISDIR",
    "write": "EIO ENOSPC EDQUOT EFBIG",
    "change": "EIO EPERM EROFS",
    "lock": "ENOLCK",
    "map": "ENOMEM EACCES ENODEV",
}
KINDS = {
    "fopen": "open", "fopen64": "open", "mkostemp": "open",
    "mkdir": "make", "mkdirat": "make", "symlinkat": "make",
    "unlink": "move", "unlinkat": "move", "rename": "move",
    "renameat": "move", "pread": "read", "pread64": "read",
    "ftruncate": "write", "ftruncate64": "write", "fallocate": "write",
    "fallocate64": "write", "posix_fallocate": "write", "fsync": "write",
    "fchmod": "change", "fchown": "change",
    "faccessat": "change", "flock": "lock", "mmap": "map",
}

# What is said of those that the commands have words for.
WORDS = {
    "ENOSPC": ["is full or is out of inodes"],
    "EDQUOT": ["is full or is out of inodes"],
    "EBUSY": ["is in use by another command"],
    "EPERM": ["it belongs to somebody else"],
    "ELOOP": ["it is a link"],
}
CURE = re.compile(
    r"Run the command|Run it as root|Mount its|Make room|Make the|Move the|"
    r"Move away|Give it|Use a file system|Unmount|Raise the|Look for|"
    r"Free memory|Put a copy|Name another file|remove the file|correct the line")

# The command, what goes before it, what takes it back where it was done.
NOTHING = "rm -rf %s/odm %s/run" % (PLACE, PLACE)
DEVICE = "mkdev -q -c tcpip -t smc_r"
TABLE = [
    ("mkdev -c tcpip -t smc_r", NOTHING, NOTHING),
    ("chdev -l smc_r0 -a max_memory=64", DEVICE,
     "chdev -q -l smc_r0 -a max_memory=128"),
    ("rmdev -dl smc_r0", DEVICE, DEVICE),
    ("lsattr -E -l smc_r0", DEVICE, ""),
    ("lsdev -C", DEVICE, ""),
    ("odmget CuDv", DEVICE, ""),
    ("entstat smc_r0", DEVICE, ""),
    ("no -r -o roce_v2_mode=1", "no -r -o roce_v2_mode=0",
     "no -r -o roce_v2_mode=0"),
    ("no -a", "", ""),
    ("ofedctrl -c", "", ""),
    ("ofedctrl -l", "ofedctrl -u", "ofedctrl -u"),
    ("smc_run -v true", DEVICE, ""),
    ("cfgmgr", DEVICE, ""),
    ("netstat -s -p smc", DEVICE, ""),
    ("odmadd %s/new" % PLACE, DEVICE,
     "odmdelete -o CuAt -q attribute=max_memory"),
    ("odmchange -o CuDv -q name=smc_r0 %s/device" % PLACE, DEVICE, ""),
    ("odmdelete -o CuAt -q attribute=max_memory",
     "chdev -q -l smc_r0 -a max_memory=64",
     "chdev -q -l smc_r0 -a max_memory=64"),
    ("odmshow CuDv", "", ""),
    ("odmcreate -h %s/class.cre" % PLACE, "", ""),
    ("smit smcr", DEVICE, ""),
]

# Each errno of these, two of the others: they write the database in the way that
# these do, or only read, and a core takes a while to begin and to end. SMC_R_LONG
# has each errno of all.
WHOLE = ("mkdev", "chdev", "rmdev")
FEW = ("EACCES", "ENOSPC")

# What some of them read.
FILES = {
    "new": 'CuAt:\n\tname = "smc_r0"\n\tattribute = "max_memory"\n'
           '\tvalue = "64"\n\ttype = "R"\n\tgeneric = "DU+"\n\trep = "nr"\n',
    "device": 'CuDv:\n\tlocation = "00-00"\n',
    "class.cre": "class CuDep {\n\tchar name[16];\n};\n",
}


ESCAPE_0 = "\x1b0"  # F10 of a terminal: smit ends


def run(command, **environment):
    """Runs it: status, standard output, standard error as one line."""
    words = command.split()
    if words[0] == "smit":
        words = ["script", "-qec", command, "/dev/null"]
    done = subprocess.run(words, input=ESCAPE_0, cwd=PLACE,
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))
    # A terminal has both in one.
    said = done.stdout if words[0] == "script" else done.stderr
    return done.returncode, done.stdout, " ".join(said.split())


def picture():
    """What the commands keep, but for locks and what a reader sweeps."""
    parts = []
    for name in ("odm/attr.db", "run/smc_r0", "run/database", "etc/preload",
                 "tunables/nextboot"):
        path = os.path.join(PLACE, name)
        if os.path.islink(path):
            parts.append(os.readlink(path))
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                text = re.sub(rb"generation [0-9]*", b"", file.read())
            parts.append(hashlib.sha1(text).hexdigest())
        else:
            parts.append("")
    return parts


def named(path):
    """The file that a call is about: its last name, and the lock's too."""
    path = re.sub(r" \(deleted\)$", "", path)
    path = re.sub(r"(-lock|-new|-journal|-wal)$", "", path)
    path = re.sub(r"/\.lock$", "/nextboot", path)
    path = re.sub(r"/\.([a-z_0-9]+)\.(new|[0-9]+)$", r"/\1", path)
    return re.sub(r"\.smc_r-......$", "", path)


def pattern(path):
    """A name that is another one each time, in words of fnmatch(3)."""
    path = re.sub(r"(\.smc_r-)......$", r"\1??????", path)
    return re.sub(r"(/\.[a-z]+\.)[0-9]+$", r"\1*", path)


def kind(path):
    """The hundreds of files that show a device are as one."""
    return re.sub(r"/sysfs-[0-9]*/.*", "/sysfs", path)


def places(path, name):
    """What may stand for the file in a message."""
    found = [named(path)]
    # One temporary name serves the link to the database, too.
    if path.endswith("/run/.smc_r0.new"):
        found.append(os.path.join(PLACE, "run/database"))
    # It is the working directory.
    if os.path.dirname(path) == PLACE:
        found.append(" %s:" % os.path.basename(path))
    if path.startswith(PLACE + "/core/"):
        found.append(PLACE + "/core:")
    # Among the files of all processes, and where it is room that is missing,
    # the directory says what is to be said.
    if path.startswith(PLACE + "/run/users/"):
        found.append(PLACE + "/run/users:")
    if name in ("ENOSPC", "EDQUOT"):
        found.append("the %s filesystem" % "/".join(
            path.split("/")[:len(PLACE.split("/")) + 1]))
    return found


def complaint(call, path, name, result):
    """What is wrong with what a command that failed has said, or None."""
    said = result[2]
    causes = [os.strerror(getattr(errno, name))] + WORDS.get(name, [])
    if result[0] < 0:
        return "killed by signal %d" % -result[0]
    if not any(place in said for place in places(path, name)):
        return "the file is not named"
    if not any(cause in said for cause in causes):
        return "the cause is not said"
    if not CURE.search(said):
        return "no cure is said"
    return None


def check(command, before, back):
    """One command: how many runs, how many failed, complaints."""
    log = os.path.join(PLACE, "log")
    runs = failed = 0
    wrong = []
    if before:
        run(before)
    run(command, LD_PRELOAD=LIBRARY, FAULT_BELOW=PLACE, FAULT_LOG=log)
    with open(log, encoding="utf-8") as file:
        calls = [line.rstrip("\n").split(" ", 1) for line in file]
    os.unlink(log)
    if back:
        run(back)
    seen = set()
    assert calls, command
    start = picture()
    for call, path in calls:
        for name in CAN_HAVE[KINDS.get(call, call)].split():
            if (command.split()[0] not in WHOLE and name not in FEW and
                    not EVERY_CALL):
                continue
            key = (kind(path), name) + ((call,) if EVERY_CALL else ())
            if key in seen:
                continue
            seen.add(key)
            result = run(command, LD_PRELOAD=LIBRARY, FAULT_BELOW=PLACE,
                         FAULT_AT=call + " " + pattern(path),
                         FAULT_ERRNO=str(getattr(errno, name)))
            runs += 1
            if result[0] == 0:
                if back:
                    run(back)
                start = picture()
                continue
            failed += 1
            what = complaint(call, path, name, result)
            if command.startswith("mkdev"):
                run(back)
            elif picture() != start:
                what = what or "something was changed"
                for way in (back, before):
                    if way:
                        run(way)
                start = picture()
            if what:
                wrong.append("%s: %s of %s: %s: %s\n    %s" % (
                    command, call, path, name, what, result[2]))
    return runs, failed, wrong


def main():
    """All of the table."""
    bad = 0
    for name, text in FILES.items():
        with open(os.path.join(PLACE, name), "w", encoding="ascii") as file:
            file.write(text)
    for command, before, back in TABLE:
        runs, failed, wrong = check(command, before, back)
        print("%s: %d runs, %d failed" % (command, runs, failed))
        for line in wrong:
            print("  " + line)
        bad += len(wrong)
        if not runs:
            bad += 1
    run("rmdev -q -dl smc_r0")
    sys.exit(1 if bad else 0)


main()
