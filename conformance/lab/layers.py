#!/usr/bin/env python3
"""Tables of what programs do for one operation, by layer: the difference of a long run and a short one.

    layers.py instructions|copies|calls|time FOLDER
    layers.py functions FOLDER gateway|cp read|write    [LAYER]

FOLDER has, for each program, verb and run (`few`, `many`), what callgrind, DHAT (--mode=copy) and strace (-f -yy) wrote, and how many operations
it was: TOOL-PROGRAM-VERB-RUN.out and .operations; and spent.txt. The second form lists the functions of a layer, or of all, with what they take.
"""

import collections
import json
import re
import sys

CELLS = [(program, verb) for program in ("gateway", "cp") for verb in ("read", "write")]
HEADS = ["gateway, READ", "gateway, WRITE", "smbd-cp, READ", "smbd-cp, WRITE"]

# Where a source file or a library is says whose it is; the first that is found decides.
LAYERS = [
    ("smbd-core: endpoint", r"/smbd-core/src/endpoint/"),
    ("smbd-core: what drives it (`backend`, `runtime`)", r"/smbd-core/src/(backend|runtime)/"),
    ("smbd-core: connection", r"/smbd-core/src/"),
    ("smbd-verbs: reactor, engine", r"/smbd-verbs/src/(tokio|engine|wait|blocking|clock)"),
    ("smbd-verbs: `ffi`", r"/smbd-verbs/src/ffi/|/rdma-sys-"),
    ("smbd-verbs: connection", r"/smbd-verbs/src/"),
    ("the device's library (libibverbs, libsiw, librxe)", r"/lib(ibverbs|rdmacm|siw|rxe)[^/]*\.so"),
    ("SMB2 (`smbd-smb2`)", r"/smbd-smb2/src/"),
    ("the gateway's pump and streams", r"/smbd-gateway/src/|/smbd-daemon/src/"),
    ("smbd-files and smbd-cp", r"/smbd-files/src/"),
    ("tokio, mio, socket2", r"/(tokio|mio|socket2)-[0-9]"),
    ("the crate bytes", r"/bytes-[0-9]"),
]
MEMORY, LIBC, REST = "libc: allocator, copies", "libc: calls of the system, clock, locks", "the standard library, other crates"
ORDER = [name for name, _ in LAYERS] + [MEMORY, LIBC, REST]
# What a function of the standard library was made for, by a crate in its name.
CRATES = {
    "smbd_core::endpoint": 0, "smbd_core::backend": 1, "smbd_core::runtime": 1, "smbd_core": 2, "smbd_verbs::tokio": 3, "smbd_verbs::ffi": 4,
    "smbd_verbs": 5, "smbd_smb2": 7, "smbd_gateway": 8, "smbd_daemon": 8, "smbd_files": 9, "smbd_cp": 9, "tokio": 10, "mio": 10, "bytes": 11,
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


class Dhat:
    """Bytes copied by calls of memcpy and the like, by the layer of the innermost caller: neither of libc, nor of the standard library, nor
    of the crate bytes, which copy for others."""

    def __init__(self, path):
        self.by_layer, self.by_function = collections.Counter(), collections.Counter()
        told = json.load(open(path))
        for point in told["pps"]:
            frames = [told["ftbl"][at] for at in point["fs"]]
            callers = ((layer_of(frame), frame) for frame in frames)
            at, frame = next((caller for caller in callers if caller[0] not in (None, "the crate bytes")), (REST, frames[-1]))
            self.by_layer[at] += point["tb"]
            self.by_function[at, frame.partition(": ")[2], ""] += point["tb"]


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
    """Calls, and the bytes of those on TCP."""

    def __init__(self, path):
        self.calls, self.bytes = collections.Counter(), collections.Counter()
        begun = {}
        for line in open(path, errors="replace"):
            process, _, text = line.rstrip("\n").partition(" ")
            text = text.strip()
            resumed = re.match(r"<\.\.\. (\w+) resumed>", text)
            if resumed:
                name, kind = begun.pop((process, resumed[1]), (resumed[1], ""))
            else:
                call = re.match(r"(\w+)\((.*)", text)
                if not call:
                    continue
                name, kind = call[1], what(call[2])
                if text.endswith("<unfinished ...>"):
                    begun[process, name] = name, kind
                    continue
            self.calls[name, kind] += 1
            result = re.search(r"= (-?\d+)(?: |$)", text[text.rfind(" = ") :])
            if result and kind == "TCP" and int(result[1]) > 0 and name != "getsockopt":
                self.bytes[name, kind] += int(result[1])


def operations(folder, tool, program, verb, run):
    return int(open(f"{folder}/{tool}-{program}-{verb}-{run}.operations").read())


def each(folder, tool, reader, part, program, verb):
    """What one operation has: the long run less the short one."""
    runs = ("few", "many")
    few, many = (getattr(reader(f"{folder}/{tool}-{program}-{verb}-{run}.out"), part) for run in runs)
    count = operations(folder, tool, program, verb, "many") - operations(folder, tool, program, verb, "few")
    return {key: (many[key] - few[key]) / count for key in many | few}


def number(value, digits=0):
    return "-" if abs(value) < 0.5 * 10**-digits else f"{value:,.{digits}f}"


def table(first, cells, order, digits=0, total="all"):
    lines = [f"| {first} | {' | '.join(HEADS)} |", "|---" * (len(HEADS) + 1) + "|"]
    for name in order:
        values = [number(cell.get(name, 0), digits) for cell in cells]
        if any(value != "-" for value in values):
            lines.append(f"| {name} | {' | '.join(values)} |")
    if total:
        lines.append(f"| {total} | {' | '.join(number(sum(cell.values()), digits) for cell in cells)} |")
    return "\n".join(lines)


def calls_table(folder):
    cells = [each(folder, "strace", Strace, "calls", *cell) for cell in CELLS]
    cells = [{f"{name}{', ' + kind if kind else ''}": count for (name, kind), count in cell.items()} for cell in cells]
    order = sorted({name for cell in cells for name in cell}, key=lambda name: -sum(cell.get(name, 0) for cell in cells))
    rare = [name for name in order if all(abs(cell.get(name, 0)) < 0.1 for cell in cells)]
    for cell in cells:
        cell["others"] = sum(cell.pop(name, 0) for name in rare)
    return table("calls of the system", cells, [name for name in order if name not in rare] + ["others"], 1)


def copies_table(folder):
    own = [each(folder, "dhat", Dhat, "by_layer", *cell) for cell in CELLS]
    kernel = [each(folder, "strace", Strace, "bytes", *cell) for cell in CELLS]
    kernel = [{f"{name}, {kind}": count for (name, kind), count in cell.items()} for cell in kernel]
    order = sorted({name for cell in kernel for name in cell})
    return (table("bytes copied by the program", own, ORDER) + "\n\n"
            + table("bytes copied by the kernel in its calls", kernel, order))


def time_table(folder):
    spent = [line.strip().split(";") for line in open(f"{folder}/spent.txt")]
    spent = {(program, verb): (int(whole) / 1000, int(own) / 1000) for program, verb, whole, own in spent}
    cells = []
    for cell in CELLS:
        outside = sum(each(folder, "callgrind", Callgrind, "by_layer", *cell).values()) / 1000
        whole, own = spent[cell]
        cells.append({"the program": outside, "the kernel for it": own - outside, "all else": whole - own})
    return table("thousand instructions", cells, list(cells[0]))


def functions(folder, program, verb, wanted=None):
    for tool, reader in (("callgrind", Callgrind), ("dhat", Dhat)):
        cell = each(folder, tool, reader, "by_function", program, verb)
        for (at, function, file), count in sorted(cell.items(), key=lambda entry: -entry[1])[:80]:
            if wanted is None or wanted in at:
                print(f"{count:9.1f}  {at[:28]:28}  {function[-120:]}  {file[-50:]}")
        print()


def main():
    kind, folder = sys.argv[1:3]
    if kind == "functions":
        functions(folder, *sys.argv[3:])
    elif kind == "instructions":
        print(table("instructions", [each(folder, "callgrind", Callgrind, "by_layer", *cell) for cell in CELLS], ORDER))
    else:
        print({"copies": copies_table, "calls": calls_table, "time": time_table}[kind](folder))


if __name__ == "__main__":
    main()
