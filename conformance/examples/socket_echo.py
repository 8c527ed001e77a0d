#!/usr/bin/env python3
"""SMB Direct below an upper layer that returns each message, an implementer's side for `smbd-conformance run --target socket`.
Written from MS-SMBD 12.0, with its names; socket_device.py takes the place of an RDMA device.

    python3 conformance/examples/socket_echo.py --listen /tmp/smbd.sock
    python3 conformance/examples/socket_echo.py --connect 127.0.0.1:5445
"""
import os, socket, struct, sys, threading, time
from collections import deque
from socket_device import ACCEPTOR, END, INITIATOR, Device, Over


class Connection:
    CREDIT_MAX, RESPONSE_REQUESTED, KEEPALIVE_INTERVAL, ANSWER = 255, 1, 120, 5

    def __init__(self, sock, role, up=lambda: None):
        self.device, self.up = Device(sock, role), up
        self.max_send_size, self.max_receive_size, self.max_fragmented_recv_size = 1364, 8192, 131072
        self.send_credits = self.receive_credits = self.remaining = 0
        self.send_queue, self.parts, self.send_immediate, self.keepalive = deque(), [], False, "NONE"

    def run(self):
        try:
            self.negotiate()
            self.established()
        except (Over, OSError) as why:
            try:
                text, reason = why.args if isinstance(why, Over) else ("the socket failed", 8)
                self.device.frame(END, struct.pack("<I", reason) + text.encode())
                self.device.sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        self.up()
        self.device.sock.close()

    def negotiate(self):
        until = time.monotonic() + (5 if self.device.role == ACCEPTOR else 120)  # 3.1.7.2, 3.1.4.1
        self.device.begin()
        ready = self.device.receive(until)
        self.up()
        if self.device.role == INITIATOR and ready is not None:  # 3.1.5.2
            self.device.send(struct.pack("<HHHHIII", 0x100, 0x100, 0, self.CREDIT_MAX, self.max_send_size,
                                         self.max_receive_size, self.max_fragmented_recv_size))
        message = self.device.receive(until)
        if message is None:
            raise Over("the Negotiation Timer has expired", 0)  # 3.1.6.1
        (self.on_request if self.device.role == ACCEPTOR else self.on_response)(message)

    def respond(self, version, requested, granted, status, *sizes):  # 3.1.5.3
        self.device.send(struct.pack("<HHHHHHIIIII", 0x100, 0x100, version, 0, requested, granted, status, *sizes))

    def on_request(self, message):  # 3.1.5.6
        if len(message) < 20:
            raise Over("a Negotiate Request of less than 20 bytes", 0)
        low, high, _, requested, preferred, receive, fragmented = struct.unpack_from("<HHHHIII", message)
        if not low <= 0x100 <= high:
            self.respond(0, 0, 0, 0xC00000BB, 0, 0, 0, 0)
            raise Over("a version that is not spoken", 0)
        self.settle(requested, preferred, receive, fragmented)
        self.respond(0x100, self.CREDIT_MAX, self.grant(), 0, 1 << 20, self.max_send_size, self.max_receive_size,
                     self.max_fragmented_recv_size)

    def on_response(self, message):  # 3.1.5.7
        if len(message) < 32:
            raise Over("a Negotiate Response of less than 32 bytes", 0)
        _, _, version, _, requested, granted, status, _, *sizes = struct.unpack_from("<HHHHHHIIIII", message)
        if status or version != 0x100 or granted < 1 or sizes[0] > self.max_receive_size:
            raise Over("a Negotiate Response that is no success", 0)
        self.settle(requested, *sizes)
        self.send_credits = granted

    def settle(self, requested, preferred, receive, fragmented):
        if requested < 1 or receive < 128 or fragmented < 131072:
            raise Over("a negotiation with values that are too small", 0)
        self.receive_credit_target, self.max_fragmented_send_size = requested, fragmented
        self.max_receive_size = max(128, min(self.max_receive_size, preferred))
        self.max_send_size = min(self.max_send_size, receive)

    def grant(self):  # 3.1.5.9
        new = min(self.receive_credit_target, self.CREDIT_MAX) - self.receive_credits
        if new <= 0:
            new = int(self.send_credits == 1 and self.receive_credits < self.CREDIT_MAX)
        if new:
            self.device.post(new, self.max_receive_size)
        self.receive_credits += new
        return new

    def established(self):
        idle = time.monotonic() + self.KEEPALIVE_INTERVAL
        while True:
            self.send()
            message = self.device.receive(idle)
            if message is not None:
                idle, self.keepalive = time.monotonic() + self.KEEPALIVE_INTERVAL, "NONE"
                self.on_data(message)
            elif self.keepalive != "NONE":  # 3.1.6.2
                raise Over("no answer to a keepalive", 0)
            else:
                idle, self.keepalive, self.send_immediate = time.monotonic() + self.ANSWER, "PENDING", True

    def on_data(self, message):  # 3.1.5.8
        if len(message) < 20:
            raise Over("a Data Transfer message of less than 20 bytes", 0)
        requested, granted, flags, _, remaining, offset, length = struct.unpack_from("<HHHHIII", message)
        if requested < 1 or offset % 8 or offset + length > len(message) or (length and offset < 20):
            raise Over("a Data Transfer message with wrong values", 0)
        if length + remaining > self.max_fragmented_recv_size or self.send_credits + granted > 65535:
            raise Over("a message longer than MaxFragmentedSize, or more credits than there are", 0)
        self.receive_credits, self.receive_credit_target = self.receive_credits - 1, requested
        self.send_credits += granted
        self.send_immediate |= bool(flags & self.RESPONSE_REQUESTED)
        if length or remaining or self.remaining:
            if self.remaining and length + remaining != self.remaining:
                raise Over("a fragment that does not continue its message", 0)
            self.parts.append(message[offset:offset + length])
            self.remaining = remaining
            if not remaining:
                whole, self.parts = b"".join(self.parts), []
                self.send_message(whole)  # the upper layer

    def send_message(self, whole):  # 3.1.5.4
        size = self.max_send_size - 24
        for at in range(0, len(whole) if len(whole) <= self.max_fragmented_send_size else 0, size):
            piece = whole[at:at + size]
            self.send_queue.append((len(whole) - at - len(piece), piece))

    def send(self):  # 3.1.5.1
        few = min(self.receive_credit_target, self.CREDIT_MAX) // 4
        while self.send_credits and (self.send_queue or self.send_immediate or self.receive_credits <= few):
            granted = self.grant()
            if self.send_credits == 1 and granted == 0:
                return
            remaining, piece = self.send_queue.popleft() if self.send_queue else (0, b"")
            flags = self.RESPONSE_REQUESTED if self.keepalive == "PENDING" else 0
            self.keepalive = "SENT" if flags else self.keepalive
            self.send_immediate, self.send_credits = False, self.send_credits - 1
            offset, body = (24, bytes(4) + piece) if piece else (0, b"")
            self.device.send(struct.pack("<HHHHIII", self.CREDIT_MAX, granted, flags, 0, remaining, offset, len(piece)) + body)


def accept(family, at):
    if family == socket.AF_UNIX and os.path.exists(at):
        os.unlink(at)
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(at)
    listener.listen()
    while True:
        threading.Thread(target=Connection(listener.accept()[0], ACCEPTOR).run, daemon=True).start()


def connect(family, to):
    """Connects again and again; the next one when the last is up or was refused, because cases may need several."""
    while True:
        sock, up = socket.socket(family), threading.Event()
        if sock.connect_ex(to):
            sock.close()
            time.sleep(0.02)
            continue
        threading.Thread(target=Connection(sock, INITIATOR, up.set).run, daemon=True).start()
        up.wait()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("--listen", "--connect"):
        sys.exit("usage: socket_echo.py --listen ADDR:PORT|PATH, or --connect ADDR:PORT|PATH")
    host, _, port = sys.argv[2].rpartition(":")
    place = (socket.AF_UNIX, sys.argv[2]) if "/" in sys.argv[2] else (socket.AF_INET, (host, int(port)))
    (accept if sys.argv[1] == "--listen" else connect)(*place)
