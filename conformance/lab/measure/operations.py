#!/usr/bin/env python3
"""Tables of what programs do for one operation: the difference of a long run and a short one (operations.sh).

    operations.py calls|layers FOLDER SIZES
    operations.py functions FOLDER PROGRAM VERB SIZE    [LAYER]

FOLDER has what callgrind and strace (-f -yy) wrote for each program, verb, size and run (`few`, `many`), and how many operations it was:
TOOL-PROGRAM-VERB-SIZE-RUN.out and .operations. `calls` are calls of the system and instructions outside the kernel, `layers` whose these are;
`functions` lists the functions of a layer, or of all, with what they take.
"""

import collections
import re
import sys

PROGRAMS = {
    "gateway": "smbd-gateway", "cp": "smbd-cp", "serve": "smbd-serve, RDMA in its process", "owner": "smbd-serve on smbd-broker",
    "broker": "smbd-broker",
}
VERBS = ("read", "write")
# What is behind the name of one of them when so many operations are under way.
AT_ONCE = {"": "one", "-16": "16"}

# Where a source file or a library is says whose it is; the first that is found decides.
LAYERS = [
    ("smbd-core: endpoint", r"/smbd-core/src/endpoint/"),
    ("what drives it (`backend`, smbd-link)", r"/smbd-core/src/backend/|/smbd-link/src/"),
    ("smbd-core: connection", r"/smbd-core/src/"),
    ("smbd-verbs: reactor, engine", r"/smbd-verbs/src/(tokio|engine|wait|blocking|clock)"),
    ("smbd-verbs: `ffi`", r"/smbd-verbs/src/ffi/|/rdma-sys-"),
    ("smbd-verbs: connection", r"/smbd-verbs/src/"),
    ("the device's library (libibverbs, libsiw, librxe)", r"/lib(ibverbs|rdmacm|siw|rxe)[^/]*\.so"),
    ("SMB2 (`smbd-smb2`)", r"/smbd-smb2/src/"),
    ("the gateway's pump and streams", r"/smbd-gateway/src/|/smbd-daemon/src/"),
    ("smbd-client, smbd-serve", r"/smbd-(client|serve)/src/"),
    ("smbd-broker", r"/smbd-broker/src/"),
    ("tokio, mio, socket2", r"/(tokio|mio|socket2)-[0-9]"),
    ("the crate bytes", r"/bytes-[0-9]"),
]
MEMORY, LIBC, REST = "libc: allocator, copies", "libc: calls of the system, clock, locks", "the standard library, other crates"
ORDER = [name for name, _ in LAYERS] + [MEMORY, LIBC, REST]
# What a function of the standard library was made for, by a crate in its name.
CRATES = {
    "smbd_core::endpoint": 0, "smbd_core::backend": 1, "smbd_link": 1, "smbd_core": 2, "smbd_verbs::tokio": 3, "smbd_verbs::ffi": 4,
    "smbd_verbs": 5, "smbd_smb2": 7, "smbd_gateway": 8, "smbd_daemon": 8, "smbd_client": 9, "smbd_cp": 9, "smbd_serve": 9, "smbd_broker": 10, "tokio": 11,
    "mio": 11, "bytes": 12,
}
ALLOCATES = re.compile(r"malloc|free|calloc|realloc|memalign|^_int_|^mem(cpy|move|set|cmp|chr)|^__mem|bcmp|unlink_chunk|tcache|__rdl_|__rust_|sysmalloc")


def layer_of(path):
    """The layer that a file or library belongs to, if it says so."""
    return next((name for name, pattern in LAYERS if re.search(pattern, path)), None)


def layer(library, function, home, file):
    """Of an instruction: in which library, function, file of that function, and file that it was inlined from."""
    if "/libc" in library or "/vgpreload" in library or "/ld-linux" in library:
        return MEMORY if ALLOCATES.search(function) else LIBC
    found = layer_of(library) or layer_of(file) or layer_of(home)
    if found:
        return found
    if ALLOCATES.search(function):
        return MEMORY
    # Inlined code of the standard library belongs to who called it.
    crate = min(((function.find(crate), number) for crate, number in CRATES.items() if crate in function), default=None)
    return ORDER[crate[1]] if crate else REST


class Callgrind:
    """Own instructions of each function, by layer."""

    def __init__(self, path):
        self.by_layer, self.by_function = collections.Counter(), collections.Counter()
        names = collections.defaultdict(dict)
        library = function = home = file = ""
        called = False
        for line in open(path, errors="replace"):
            key, equals, value = line.rstrip("\n").partition("=")
            if equals and key in ("ob", "fl", "fi", "fe", "fn", "cob", "cfi", "cfl", "cfn", "calls"):
                if key == "calls":
                    called = True
                    continue
                number, _, name = value.partition(" ")
                known = names[key[-2:] if key[-2:] in ("ob", "fn") else "file"]
                if name:
                    known[number] = name
                value = known[number] if number.startswith("(") else value
                if key == "ob":
                    library = value
                elif key == "fl":
                    home = file = value
                elif key in ("fi", "fe"):
                    file = value
                elif key == "fn":
                    function = value
            elif line[:1].isdigit() or line[:1] in "+-*":
                if called:
                    called = False
                    continue
                cost = line.split()
                if len(cost) > 1:
                    at = layer(library, function, home, file)
                    self.by_layer[at] += int(cost[1])
                    self.by_function[at, function, file] += int(cost[1])


def what(arguments):
    """What the first descriptor of a call is."""
    first = re.match(r"\d+<(.*?)>(,|\)|$| <unf)", arguments)
    if not first:
        return ""
    name = first[1]
    for pattern, kind in (("^TCP|^socket", "TCP"), ("uverbs|rdma_cm", "device"), ("infinibandevent", "notices of the device"),
                          ("eventpoll", ""), ("eventfd", "eventfd"), ("NETLINK", "netlink")):
        if re.search(pattern, name):
            return kind
    return "other"


class Strace:
    """Calls of the system, by what they are for."""

    def __init__(self, path):
        self.calls = collections.Counter()
        begun = {}
        for line in open(path, errors="replace"):
            process, _, text = line.rstrip("\n").partition(" ")
            text = text.strip()
            resumed = re.match(r"<\.\.\. (\w+) resumed>", text)
            call = resumed or re.match(r"(\w+)\((.*)", text)
            # A native guest has no vDSO: reading the clock is a call there, and on no other machine.
            if not call or call[1] == "clock_gettime":
                continue
            if resumed:
                self.calls[begun.pop((process, resumed[1]), (resumed[1], ""))] += 1
                continue
            named = call[1], what(call[2])
            if text.endswith("<unfinished ...>"):
                begun[process, call[1]] = named
            else:
                self.calls[named] += 1


def each(folder, tool, reader, part, program, verb, size):
    """What one operation has: the long run less the short one."""
    paths = [f"{folder}/{tool}-{program}-{verb}-{size}-{run}" for run in ("few", "many")]
    few, many = (getattr(reader(f"{path}.out"), part) for path in paths)
    fewer, more = (int(open(f"{path}.operations").read()) for path in paths)
    # Under a tool the long run may have had no time for more.
    if fewer == more:
        return {}
    return {key: (many[key] - few[key]) / (more - fewer) for key in many | few}


def number(value, digits=0):
    return "-" if abs(value) < 0.5 * 10**-digits else f"{value:,.{digits}f}"


def bytes_of(size):
    return f"{int(size) >> 20} MiB" if int(size) >= 1 << 20 else f"{int(size) >> 10} KiB"


def table(heads, rows):
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def calls_table(folder, sizes):
    """A row for each operation and program."""
    cells = {}
    for size in sizes:
        for verb in VERBS:
            for program in (name + at_once for name in PROGRAMS for at_once in AT_ONCE):
                calls = each(folder, "strace", Strace, "calls", program, verb, size)
                instructions = sum(each(folder, "callgrind", Callgrind, "by_layer", program, verb, size).values())
                cells[size, verb, program] = instructions, {f"{name}{', ' + kind if kind else ''}": n for (name, kind), n in calls.items()}
    worth = collections.Counter()
    for _, calls in cells.values():
        for name, count in calls.items():
            worth[name] = max(worth[name], count)
    columns = [name for name, count in worth.most_common() if count >= 0.4]
    rows = []
    for (size, verb, program), (instructions, calls) in cells.items():
        rest = sum(count for name, count in calls.items() if name not in columns)
        counts = [number(calls.get(name, 0), 1) for name in columns]
        name, dash, at_once = program.partition("-")
        rows.append([f"{verb} {bytes_of(size)}", PROGRAMS[name], AT_ONCE[dash + at_once], number(instructions), number(sum(calls.values()), 1), *counts, number(rest, 1)])
    return table(["operation", "program", "under way", "instructions", "calls", *columns, "others"], rows)


def layers_table(folder, sizes):
    """A table for each size: whose the instructions are."""
    tables = []
    for size in sizes:
        cells = [each(folder, "callgrind", Callgrind, "by_layer", program, verb, size) for program in PROGRAMS for verb in VERBS]
        heads = [f"{PROGRAMS[program].split(',')[0]}, {verb.upper()}" for program in PROGRAMS for verb in VERBS]
        rows = [[name, *(number(cell.get(name, 0)) for cell in cells)] for name in ORDER]
        rows = [row for row in rows if any(value != "-" for value in row[1:])]
        rows.append(["all", *(number(sum(cell.values())) for cell in cells)])
        tables.append(table([f"instructions, {bytes_of(size)}", *heads], rows))
    return "\n\n".join(tables)


def functions(folder, program, verb, size, wanted=None):
    cell = each(folder, "callgrind", Callgrind, "by_function", program, verb, size)
    for (at, function, file), count in sorted(cell.items(), key=lambda entry: -entry[1])[:80]:
        if wanted is None or wanted in at:
            print(f"{count:9.1f}  {at[:28]:28}  {function[-120:]}  {file[-50:]}")


def main():
    kind, folder, *rest = sys.argv[1:]
    if kind == "functions":
        functions(folder, *rest)
    else:
        print({"calls": calls_table, "layers": layers_table}[kind](folder, rest[0].split(",")))


if __name__ == "__main__":
    main()
