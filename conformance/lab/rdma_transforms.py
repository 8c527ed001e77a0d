#!/usr/bin/env python3
"""Verifies and decrypts what went by RDMA signed or encrypted (MS-SMB2 2.2.43), with OpenSSL by the package `cryptography`.

    rdma_transforms.py CAPTURE KEYS FOLDER

CAPTURE is a pcap file of iWARP, as tcpdump writes it. KEYS has lines of Wireshark's table of SMB2 session keys, as `smbd-cp
--wireshark-keys` appends them. All data of WRITEs are put together to FOLDER/written, those of READs to FOLDER/read, each at its offset.
Nothing of smbd is used. It knows dialect 3.1.1, and data that go by RDMA with a transform; any without one are an error.

exit status: 0 all is right, and there was something; 1 something is wrong; 77 `cryptography` is not there
"""

import hashlib
import os
import struct
import sys

try:
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives import cmac, hashes, hmac
    from cryptography.hazmat.primitives.ciphers import aead, algorithms
    from cryptography.hazmat.primitives.kdf.kbkdf import KBKDFHMAC, CounterLocation, Mode
except ImportError:
    print("skipped: Python has no package cryptography (Debian: python3-cryptography)")
    sys.exit(77)

NEGOTIATE, SESSION_SETUP, READ, WRITE = 0, 1, 8, 9
ENCRYPTED, SIGNED = 1, 2
CIPHERS = {1: ("AES-128-CCM", aead.AESCCM, 16, 11), 2: ("AES-128-GCM", aead.AESGCM, 16, 12),
           3: ("AES-256-CCM", aead.AESCCM, 32, 11), 4: ("AES-256-GCM", aead.AESGCM, 32, 12)}
SIGNINGS = {0: "HMAC-SHA256", 1: "AES-CMAC", 2: "AES-GMAC"}


class Wrong(Exception):
    pass


def packets(path):
    """Ends and sequence number of each TCP segment with payload."""
    data = open(path, "rb").read()
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}.get(data[:4])
    if order is None:
        raise Wrong("no pcap file")
    link = struct.unpack_from(order + "I", data, 20)[0]
    if link != 1:
        raise Wrong(f"link type {link}, expected Ethernet")
    at = 24
    while at + 16 <= len(data):
        captured, length = struct.unpack_from(order + "II", data, at + 8)
        frame, at = data[at + 16:at + 16 + captured], at + 16 + captured
        if captured < length or frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        head = 14 + 4 * (frame[14] & 15)
        end = 14 + struct.unpack_from(">H", frame, 16)[0]
        source, target, sequence = struct.unpack_from(">HHI", frame, head)
        payload = frame[head + 4 * (frame[head + 12] >> 4):end]
        is_first = bool(frame[head + 13] & 2)
        yield (frame[26:30], source), (frame[30:34], target), (sequence + is_first) & 0xFFFFFFFF, is_first, payload


class Stream:
    """One direction of TCP, put in order; MPA's frames (RFC 5044), without markers."""

    def __init__(self):
        self.next, self.early, self.bytes, self.has_begun = None, {}, b"", False

    def take(self, sequence, is_first, payload):
        if is_first:
            self.next = sequence
        if self.next is None or not payload:
            return
        self.early[sequence] = max(payload, self.early.get(sequence, b""), key=len)
        while True:
            ready = [start for start in self.early if (self.next - start) & 0xFFFFFFFF < 1 << 31]
            if not ready:
                return
            for start in ready:
                fresh = self.early.pop(start)[(self.next - start) & 0xFFFFFFFF:]
                self.bytes += fresh
                self.next = (self.next + len(fresh)) & 0xFFFFFFFF

    def frames(self):
        if not self.has_begun:
            if len(self.bytes) < 20:
                return
            if not self.bytes.startswith((b"MPA ID Req", b"MPA ID Rep")):
                raise Wrong("no iWARP")
            end = 20 + struct.unpack_from(">H", self.bytes, 18)[0]
            if len(self.bytes) < end:
                return
            self.bytes, self.has_begun = self.bytes[end:], True
        while len(self.bytes) >= 2:
            length = struct.unpack_from(">H", self.bytes)[0]
            end = (2 + length + 3) // 4 * 4 + 4
            if len(self.bytes) < end:
                return
            yield self.bytes[2:2 + length]
            self.bytes = self.bytes[end:]


class Memory:
    """What was moved by RDMA, by token and address."""

    def __init__(self):
        self.parts = {}

    def put(self, token, address, data):
        self.parts.setdefault(token, []).append((address, data))

    def take(self, descriptors, length):
        whole = b""
        for address, token, size in descriptors:
            size = min(size, length - len(whole))
            room, covered = bytearray(size), 0
            for start, data in self.parts.get(token, []):
                low, high = max(start, address), min(start + len(data), address + size)
                if low < high:
                    room[low - address:high - address] = data[low - start:high - start]
                    covered += high - low
            if covered < size:
                raise Wrong(f"{size} bytes by token {token:#x}, of which {covered} were captured")
            whole += bytes(room)
        for _, token, _ in descriptors:
            self.parts.pop(token, None)
        return whole


class Connection:
    """One connection of SMB Direct over iWARP (RFC 5040, RFC 5041), and the SMB2 session in it."""

    def __init__(self, keys, out):
        self.keys, self.out = keys, out
        self.streams = (Stream(), Stream())
        self.sends, self.fragments, self.has_negotiated = [b"", b""], [b"", b""], [False, False]
        self.reads, self.memory = {}, (Memory(), Memory())
        self.preauth, self.cipher, self.signing = bytes(64), None, 1
        self.session, self.asked = None, {}

    def take(self, way, sequence, is_first, payload):
        self.streams[way].take(sequence, is_first, payload)
        for frame in self.streams[way].frames():
            self.segment(way, frame)

    def segment(self, way, frame):
        """`way` 0: from the client, 1: from the server."""
        opcode = frame[1] & 15
        if frame[0] & 0x80:
            token, address = struct.unpack_from(">IQ", frame, 2)
            data = frame[14:]
            if opcode == 0:
                self.memory[1 - way].put(token, address, data)
            elif opcode == 2:
                for start, size, source, place in self.reads.get((1 - way, token), []):
                    if start <= address < start + size:
                        self.memory[way].put(source, place + address - start, data)
        elif opcode == 1:
            sink, start, size, source, place = struct.unpack_from(">IQIIQ", frame, 18)
            # A sink is used again when what came into it was taken.
            others = [read for read in self.reads.get((way, sink), [])
                      if read[0] + read[1] <= start or start + size <= read[0]]
            self.reads[way, sink] = [*others, (start, size, source, place)]
        elif opcode in (3, 4, 5, 6):
            self.sends[way] += frame[18:]
            if frame[0] & 0x40:
                send, self.sends[way] = self.sends[way], b""
                self.direct(way, send)

    def direct(self, way, send):
        """A message of SMB Direct; the first is its negotiation."""
        if not self.has_negotiated[way]:
            self.has_negotiated[way] = True
            return
        remaining, offset, length = struct.unpack_from("<III", send, 8)
        self.fragments[way] += send[offset:offset + length]
        if length and not remaining:
            message, self.fragments[way] = self.fragments[way], b""
            self.message(way, message)

    def message(self, way, message):
        is_sealed = message[:4] == b"\xfdSMB"
        if is_sealed:
            name, cipher, _, nonce_len = CIPHERS[self.cipher]
            nonce, tag = message[20:20 + nonce_len], message[4:20]
            message = cipher(self.session[1 + way]).decrypt(nonce, message[52:] + tag, message[20:52])
        if message[12:14] in (b"\0\0", b"\1\0") and not is_sealed and self.session is None:
            self.hear(way, message)
        at = 0
        while True:
            follows = struct.unpack_from("<I", message, at + 20)[0]
            self.element(way, message[at:at + follows if follows else None])
            if not follows:
                return
            at += follows

    def hear(self, way, message):
        """What the keys of the session depend on (3.1.5.2)."""
        command, status = struct.unpack_from("<H", message, 12)[0], struct.unpack_from("<I", message, 8)[0]
        if command == NEGOTIATE and way == 1:
            count, at = struct.unpack_from("<H", message, 70)[0], struct.unpack_from("<I", message, 124)[0]
            for _ in range(count):
                kind, length = struct.unpack_from("<HH", message, at)
                if kind in (2, 8):
                    chosen = struct.unpack_from("<H", message, at + 10)[0]
                    if kind == 2:
                        self.cipher = chosen
                    else:
                        self.signing = chosen
                at += (8 + length + 7) // 8 * 8
        if command == SESSION_SETUP and way == 1 and status == 0:
            session_id = message[40:48]
            if session_id not in self.keys:
                raise Wrong(f"there is no key for session {session_id.hex()}")
            # ksmbd gives a new session the id of one that is over: their keys are in the order of their logins.
            known = self.keys[session_id]
            key = known.pop(0) if len(known) > 1 else known[0]
            long = CIPHERS[self.cipher][2] if self.cipher else 16
            self.session = [self.derive(key, label, length) for label, length in
                            ((b"SMBSigningKey\0", 16), (b"SMBC2SCipherKey\0", long), (b"SMBS2CCipherKey\0", long))]
            return
        self.preauth = hashlib.sha512(self.preauth + message).digest()

    def derive(self, key, label, length):
        return KBKDFHMAC(hashes.SHA256(), Mode.CounterMode, length, 4, 4, CounterLocation.BeforeFixed,
                         label, self.preauth, None).derive(key)

    def element(self, way, element):
        status, command = struct.unpack_from("<I", element, 8)[0], struct.unpack_from("<H", element, 12)[0]
        message_id = element[24:32]
        if way == 0 and command == READ:
            offset, channel = struct.unpack_from("<Q", element, 72)[0], struct.unpack_from("<I", element, 100)[0]
            at, length = struct.unpack_from("<HH", element, 108)
            if channel:
                self.asked[message_id] = (offset, None, descriptors(element[at:at + length]))
        elif way == 0 and command == WRITE:
            offset, channel = struct.unpack_from("<Q", element, 72)[0], struct.unpack_from("<I", element, 96)[0]
            size, at, length = struct.unpack_from("<IHH", element, 100)
            if channel:
                if channel != 3:
                    raise Wrong(f"a WRITE by channel {channel}, without a transform")
                info = element[at:at + length]
                start, length = struct.unpack_from("<HH", info)
                self.asked[message_id] = (offset, (size, transform(info)), descriptors(info[start:start + length]))
        elif way == 1 and status == 0 and message_id in self.asked and command in (READ, WRITE):
            offset, stated, where = self.asked.pop(message_id)
            if command == WRITE:
                size, said = stated
                self.keep("written", offset, self.open(0, said, self.memory[0].take(where, size)))
            else:
                size, flags = struct.unpack_from("<II", element, 72)
                if size and flags != 1:
                    raise Wrong("data of a READ have no transform")
                if size:
                    said = transform(element[element[66]:])
                    self.keep("read", offset, self.open(1, said, self.memory[0].take(where, size)))

    def open(self, way, said, data):
        kind, signature, nonce = said
        if kind == ENCRYPTED:
            name, cipher, _, length = CIPHERS[self.cipher]
            if len(nonce) != length:
                raise Wrong(f"a nonce of {len(nonce)} bytes")
            data = cipher(self.session[1 + way]).decrypt(nonce, data + signature, b"")
        elif kind == SIGNED:
            name, key = SIGNINGS[self.signing], self.session[0]
            if name == "AES-GMAC":
                aead.AESGCM(key).decrypt(nonce, signature, data)
            elif name == "AES-CMAC":
                mac = cmac.CMAC(algorithms.AES(key))
                mac.update(data)
                mac.verify(signature)
            else:
                mac = hmac.HMAC(key, hashes.SHA256())
                mac.update(data)
                if mac.finalize()[:16] != signature:
                    raise InvalidSignature
        else:
            raise Wrong(f"TransformType {kind}")
        self.out.counts[name] = self.out.counts.get(name, 0) + 1
        return data

    def keep(self, name, offset, data):
        self.out.keep(name, offset, data)


class Output:
    def __init__(self, folder):
        self.folder, self.counts, self.bytes = folder, {}, {}
        os.makedirs(folder, exist_ok=True)

    def keep(self, name, offset, data):
        path = os.path.join(self.folder, name)
        with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
            file.seek(offset)
            file.write(data)
        self.bytes[name] = self.bytes.get(name, 0) + len(data)


def descriptors(info):
    return list(struct.iter_unpack("<QII", info))


def transform(structure):
    """The one transform of SMB2_RDMA_TRANSFORM."""
    count = struct.unpack_from("<H", structure, 8)[0]
    if count != 1:
        raise Wrong(f"TransformCount is {count}")
    kind, signature, nonce = struct.unpack_from("<HHH", structure, 16)
    return kind, structure[24:24 + signature], structure[24 + signature:24 + signature + nonce]


def main(capture, keys, folder):
    known = {}
    for line in open(keys):
        session_id, key = line.split(",")[:2]
        known.setdefault(bytes.fromhex(session_id), []).append(bytes.fromhex(key))
    out, connections = Output(folder), {}
    for source, target, sequence, is_first, payload in packets(capture):
        for way, pair in ((0, (source, target)), (1, (target, source))):
            if pair in connections:
                connections[pair].take(way, sequence, is_first, payload)
                break
        else:
            if is_first:
                connections[(source, target)] = Connection(known, out)
                connections[(source, target)].take(0, sequence, is_first, payload)
    if not out.counts:
        raise Wrong("nothing went by RDMA with a transform")
    counts = ", ".join(f"{count} transfers {name}" for name, count in sorted(out.counts.items()))
    sizes = ", ".join(f"{size} bytes {name}" for name, size in sorted(out.bytes.items()))
    print(f"verified: {counts}; {sizes}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Wrong, InvalidTag, InvalidSignature) as wrong:
        print(f"wrong: {type(wrong).__name__}: {wrong}")
        sys.exit(1)
