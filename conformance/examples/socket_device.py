"""The protocol of docs/socket-target.md for an implementer's side in Python: what a queue pair does, over a stream socket."""
import socket, struct, time
from collections import deque

HELLO, RECEIVES, READY, SEND, WRITE, READ, READ_DATA, END = range(1, 9)
LENGTHS = {HELLO: (16, 528), RECEIVES: (8, 8), READY: (0, 0), SEND: (8, 8 + 2**20), WRITE: (16, 16 + 2**20),
           READ: (16, 16), READ_DATA: (0, 2**20), END: (4, 516)}
INITIATOR, ACCEPTOR = 0, 1


class Over(Exception):
    """The connection is over. Arguments: why, and the reason of an END frame."""


class Device:
    """A queue pair over a socket. No memory is registered here: RDMA of the peer is an access error."""

    def __init__(self, sock, role):
        self.sock, self.role, self.came, self.stage = sock, role, b"", HELLO
        self.posted, self.theirs = deque(), deque()  # lengths of receives: ours, the peer's

    def frame(self, kind, body=b""):
        self.sock.settimeout(5)
        self.sock.sendall(struct.pack("<II", len(body), kind) + body)

    def begin(self):
        self.frame(HELLO, struct.pack("<8sHBBHH", b"SMBDSOCK", 1, self.role, 0, 16, 16))
        self.post(1, 512)
        self.frame(READY)

    def post(self, count, length):
        self.posted.extend([length] * count)
        self.frame(RECEIVES, struct.pack("<II", count, length))

    def send(self, message):
        if not self.theirs or self.theirs.popleft() < len(message):
            raise Over("a message without a receive that is long enough", 4)
        self.frame(SEND, bytes(8) + message)

    def receive(self, until):
        """The next message; b"" when the peer is ready; None when it is late."""
        while True:
            length, kind = struct.unpack_from("<II", self.came) if len(self.came) >= 8 else (0, READY)
            least, most = LENGTHS.get(kind, (1, 0))
            if not least <= length <= most:
                raise Over(f"a frame of kind {kind} with {length} bytes", 3)
            if len(self.came) >= 8 + length:
                body, self.came = self.came[8:8 + length], self.came[8 + length:]
                message = self.take(kind, body)
                if message is not None:
                    return message
                continue
            self.sock.settimeout(max(0.001, until - time.monotonic()))
            try:
                got = self.sock.recv(1 << 16)
            except TimeoutError:
                return None
            if not got:
                raise Over("the peer has closed the socket", 0)
            self.came += got

    def take(self, kind, body):
        if kind == END:
            raise Over("the peer has ended the connection", 0)
        if self.stage == HELLO:
            magic, version, role = struct.unpack_from("<8sHB", body.ljust(11))
            if kind != HELLO or magic != b"SMBDSOCK" or role != 1 - self.role:
                raise Over("no HELLO of the other role", 3)
            if version != 1:
                raise Over("version 1 is spoken here", 2)
            self.stage = READY
        elif kind == RECEIVES and len(self.theirs) + struct.unpack_from("<I", body)[0] <= 65536:
            count, length = struct.unpack("<II", body)
            self.theirs.extend([length] * count)
        elif kind == READY and self.stage == READY:
            self.stage = SEND
            return b""
        elif kind == SEND and self.stage == SEND:
            if not self.posted:
                raise Over("a message without a receive", 4)
            if self.posted.popleft() < len(body) - 8:
                raise Over("a message longer than its receive", 5)
            if body[0]:
                raise Over("no token is valid", 7)
            return body[8:]
        else:
            raise Over(f"a frame of kind {kind} at this time", 6 if kind in (WRITE, READ) else 3)
