#!/usr/bin/env python3
"""SMB Direct (MS-SMBD 12.0) with an upper layer that returns each message, written from the specification. An implementer's side for
`smbd-conformance run --target socket`: class Device speaks docs/socket-target.md, class Connection speaks MS-SMBD.

    python3 conformance/examples/socket_echo.py --listen /tmp/smbd.sock
    python3 conformance/examples/socket_echo.py --connect 127.0.0.1:5445
"""
import collections, os, select, socket, struct, sys, threading, time

HELLO, RECEIVES, READY, SEND, WRITE, READ, READ_DATA, END = range(1, 9)
LENGTHS = {HELLO: (16, 528), RECEIVES: (8, 8), READY: (0, 0), SEND: (8, 8 + 2**20), WRITE: (16, 16 + 2**20),
           READ: (16, 16), READ_DATA: (0, 2**20), END: (4, 516)}
MAGIC, INITIATOR, ACCEPTOR = b"SMBDSOCK", 0, 1


class Over(Exception):
    """The connection is over; the peer is told this reason of docs/socket-target.md."""

    def __init__(self, text, reason=0):
        super().__init__(text)
        self.text, self.reason = text, reason


class Device:
    """A queue pair over a socket. No memory is registered here, so every RDMA request of the peer is an access error."""

    def __init__(self, sock, role):
        self.sock, self.role, self.came, self.heard, self.ready = sock, role, b"", False, False
        self.posted, self.theirs = collections.deque(), collections.deque()  # lengths of receives: ours, the peer's
        sock.settimeout(5)

    def frame(self, kind, body):
        self.sock.sendall(struct.pack("<II", len(body), kind) + body)

    def begin(self):
        self.frame(HELLO, MAGIC + struct.pack("<HBBHH", 1, self.role, 0, 16, 16))
        self.post(1, 512)
        self.frame(READY, b"")

    def post(self, count, length):
        self.posted.extend([length] * count)
        self.frame(RECEIVES, struct.pack("<II", count, length))

    def send(self, message):
        if not self.theirs or self.theirs.popleft() < len(message):
            raise Over("a message without a receive that is long enough", 4)
        self.frame(SEND, bytes(8) + message)

    def receive(self, until):
        """The next message, or READY as b""; None when it is late."""
        while (frame := self.parse()) is None:
            left = max(0, until - time.monotonic())
            if not select.select([self.sock], [], [], left)[0]:
                return None
            got = self.sock.recv(1 << 16)
            if not got:
                raise Over("the peer has closed the socket")
            self.came += got
        return self.take(*frame)

    def parse(self):
        if len(self.came) < 8:
            return None
        length, kind = struct.unpack_from("<II", self.came)
        least, most = LENGTHS.get(kind, (1, 0))
        if not least <= length <= most:
            raise Over(f"a frame of kind {kind} and {length} bytes", 3)
        if len(self.came) < 8 + length:
            return None
        body, self.came = self.came[8:8 + length], self.came[8 + length:]
        return kind, body

    def take(self, kind, body):
        if kind == END:
            raise Over("the peer has ended the connection")
        if not self.heard:
            if kind != HELLO or body[:8] != MAGIC or body[10] != 1 - self.role:
                raise Over("no HELLO of the other role", 3)
            if struct.unpack_from("<H", body, 8) != (1,):
                raise Over("version 1 is spoken here", 2)
            self.heard = True
        elif kind == RECEIVES:
            count, length = struct.unpack("<II", body)
            if len(self.theirs) + count > 65536:
                raise Over("more than 65536 receives", 3)
            self.theirs.extend([length] * count)
        elif kind == READY and not self.ready:
            self.ready = True
            return b""
        elif kind == SEND and self.ready:
            if not self.posted:
                raise Over("a message without a receive", 4)
            if self.posted.popleft() < len(body) - 8:
                raise Over("a message longer than its receive", 5)
            if struct.unpack_from("<I", body)[0]:
                raise Over("no token is valid", 7)
            return body[8:]
        elif kind in (WRITE, READ) and self.ready:
            raise Over("no memory is registered", 6)
        else:
            raise Over(f"a frame of kind {kind} at this time", 3)
        return self.receive(0) if self.came else None


class Connection:
    """MS-SMBD 3.1: the names are those of 3.1.1.1."""

    CREDIT_MAX, RESPONSE_REQUESTED, KEEPALIVE, ANSWER = 255, 1, 120, 5

    def __init__(self, sock, role, up=lambda: None):
        self.device, self.up = Device(sock, role), up
        self.max_send_size, self.max_receive_size, self.max_fragmented_recv_size = 1364, 8192, 131072
        self.send_credits = self.receive_credits = self.receive_credit_target = 0
        self.send_queue, self.parts, self.remaining = collections.deque(), [], 0
        self.send_immediate, self.keepalive = False, "NONE"

    def run(self):
        try:
            self.device.begin()
            until = time.monotonic() + (5 if self.device.role == ACCEPTOR else 120)  # 3.1.2.1, 3.1.7.2
            self.await_message(until, b"")
            self.up()
            if self.device.role == ACCEPTOR:
                self.on_request(self.await_message(until))
            else:
                self.device.send(struct.pack("<HHHHIII", 0x100, 0x100, 0, self.CREDIT_MAX, self.max_send_size,
                                             self.max_receive_size, self.max_fragmented_recv_size))
                self.on_response(self.await_message(until))
            self.established()
        except Over as over:
            try:
                self.device.frame(END, struct.pack("<I", over.reason) + over.text.encode())
                self.device.sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        except OSError:
            pass
        finally:
            self.up()
            self.device.sock.close()

    def await_message(self, until, empty=None):
        """READY if that is to come, or else the message of a negotiation."""
        while time.monotonic() < until:
            message = self.device.receive(until)
            if message is not None:
                return message
        raise Over("the negotiation timer has expired")  # 3.1.6.1

    def on_request(self, message):  # 3.1.5.6
        if len(message) < 20:
            raise Over("a Negotiate Request of less than 20 bytes")
        low, high, _, credits, preferred, receive, fragmented = struct.unpack_from("<HHHHIII", message)
        if not low <= 0x100 <= high:
            self.device.send(struct.pack("<HHHHHHIIIII", 0x100, 0x100, 0, 0, 0, 0, 0xC00000BB, 0, 0, 0, 0))
            raise Over("a version that is not spoken")
        if credits < 1 or receive < 128 or fragmented < 131072:
            raise Over("a Negotiate Request with values that are too small")
        self.settle(preferred, receive, fragmented, credits)
        granted = self.grant()
        self.device.send(struct.pack("<HHHHHHIIIII", 0x100, 0x100, 0x100, 0, self.CREDIT_MAX, granted, 0, 1 << 20,
                                     self.max_send_size, self.max_receive_size, self.max_fragmented_recv_size))

    def on_response(self, message):  # 3.1.5.7
        if len(message) < 32:
            raise Over("a Negotiate Response of less than 32 bytes")
        (_, _, version, _, credits, granted, status, _, preferred, receive,
         fragmented) = struct.unpack_from("<HHHHHHIIIII", message)
        if status or version != 0x100 or credits < 1 or granted < 1:
            raise Over("a Negotiate Response that is no success")
        if preferred > self.max_receive_size or receive < 128 or fragmented < 131072:
            raise Over("a Negotiate Response with values out of range")
        self.settle(preferred, receive, fragmented, credits)
        self.send_credits = granted

    def settle(self, preferred, receive, fragmented, credits):
        self.max_receive_size = max(128, min(self.max_receive_size, preferred))
        self.max_send_size = min(self.max_send_size, receive)
        self.max_fragmented_send_size, self.receive_credit_target = fragmented, credits

    def grant(self):  # 3.1.5.9
        new = min(self.receive_credit_target, self.CREDIT_MAX) - self.receive_credits
        if new <= 0 and self.send_credits == 1 and self.receive_credits < self.CREDIT_MAX:
            new = 1
        if new <= 0:
            return 0
        self.device.post(new, self.max_receive_size)
        self.receive_credits += new
        return new

    def established(self):
        idle = time.monotonic() + self.KEEPALIVE
        while True:
            self.send()
            message = self.device.receive(idle)
            if message:
                idle, self.keepalive = time.monotonic() + self.KEEPALIVE, "NONE"
                self.on_data(message)
            elif message is None and time.monotonic() >= idle:  # 3.1.6.2
                if self.keepalive != "NONE":
                    raise Over("no answer to a keepalive")
                idle, self.keepalive, self.send_immediate = time.monotonic() + self.ANSWER, "PENDING", True

    def on_data(self, message):  # 3.1.5.8
        if len(message) < 20:
            raise Over("a Data Transfer message of less than 20 bytes")
        requested, granted, flags, _, remaining, offset, length = struct.unpack_from("<HHHHIII", message)
        if requested < 1 or offset % 8 or offset + length > len(message) or (length and offset < 20):
            raise Over("a Data Transfer message with wrong values")
        if self.send_credits + granted > 65535:
            raise Over("more than 65535 credits")
        if length + remaining > self.max_fragmented_recv_size:
            raise Over("a message longer than MaxFragmentedSize")
        self.receive_credits -= 1
        self.receive_credit_target = requested
        self.send_credits += granted
        if flags & self.RESPONSE_REQUESTED:
            self.send_immediate = True
        if length == 0 and remaining == 0 and not self.remaining:
            return
        if self.remaining and length + remaining != self.remaining:
            raise Over("a fragment that does not continue its message")
        self.parts.append(message[offset:offset + length])
        self.remaining = remaining
        if not remaining:
            whole, self.parts = b"".join(self.parts), []
            self.message(whole)

    def message(self, whole):  # the upper layer; 3.1.5.4
        if len(whole) > self.max_fragmented_send_size:
            return
        size = self.max_send_size - 24
        for at in range(0, len(whole), size):
            piece = whole[at:at + size]
            self.send_queue.append((len(whole) - at - len(piece), piece))

    def send(self):  # 3.1.5.1
        low = min(self.receive_credit_target, self.CREDIT_MAX) // 4
        while self.send_queue or self.send_immediate or self.receive_credits <= low:
            if self.send_credits == 0:
                return
            granted = self.grant()
            if self.send_credits == 1 and granted == 0:
                return
            remaining, piece = self.send_queue.popleft() if self.send_queue else (0, b"")
            flags, self.send_immediate = 0, False
            if self.keepalive == "PENDING":
                flags, self.keepalive = self.RESPONSE_REQUESTED, "SENT"
            offset = 24 if piece else 0
            self.send_credits -= 1
            header = struct.pack("<HHHHIII", self.CREDIT_MAX, granted, flags, 0, remaining, offset, len(piece))
            self.device.send(header + (bytes(4) + piece if piece else b""))


def address(text):
    if "/" in text:
        return socket.AF_UNIX, text
    host, port = text.rsplit(":", 1)
    return socket.AF_INET6 if ":" in host else socket.AF_INET, (host.strip("[]"), int(port))


def accept(family, at):
    if family == socket.AF_UNIX and os.path.exists(at):
        os.unlink(at)
    listener = socket.create_server(at, family=family) if family != socket.AF_UNIX else socket.socket(family)
    if family == socket.AF_UNIX:
        listener.bind(at)
        listener.listen()
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=Connection(sock, ACCEPTOR).run, daemon=True).start()


def connect(family, to):
    """Connects again and again; the next one when the last is up or was refused, because cases may need several."""
    while True:
        sock, up = socket.socket(family), threading.Event()
        try:
            sock.connect(to)
        except OSError:
            sock.close()
            time.sleep(0.02)
            continue
        threading.Thread(target=Connection(sock, INITIATOR, up.set).run, daemon=True).start()
        up.wait()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("--listen", "--connect"):
        sys.exit("usage: socket_echo.py --listen ADDR:PORT|PATH, or --connect ADDR:PORT|PATH")
    (accept if sys.argv[1] == "--listen" else connect)(*address(sys.argv[2]))
