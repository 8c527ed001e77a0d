#!/usr/bin/env python3
"""Writes vectors.txt: what OpenSSL (by the package `cryptography`) and `pyspnego` make of the same keys and messages.

How it was run, in a folder outside of the repository:

    python3 -m venv venv && venv/bin/pip install cryptography==50.0.2 pyspnego==0.12.4
    venv/bin/python .../smbd-smb2/tests/security/vectors.py > .../smbd-smb2/tests/security/vectors.txt

Nothing of smbd is used, but for two tokens of NTLM that the other side has to answer: CHALLENGE and NEGOTIATE below are what the tests
in ntlm.rs make, which say so if they make others one day. A line is a kind and values in hexadecimal. Plain data are not written down:
byte i of n is (31 * i + n) mod 256. pyspnego takes entropy of its own, so the lines of NTLM are others with every run.
"""

import hashlib
import os
import struct
import tempfile

from cryptography.hazmat.primitives import cmac, hashes, hmac
from cryptography.hazmat.primitives.ciphers import aead, algorithms
from cryptography.hazmat.primitives.kdf.kbkdf import KBKDFHMAC, CounterLocation, Mode

SESSION_ID = 0x1122334455667788
SIZES = (1, 15, 16, 17, 64, 333)


def some(name, size):
    return hashlib.shake_256(name.encode()).digest(size)


def plain(size):
    return bytes((31 * i + size) & 0xFF for i in range(size))


def line(kind, **values):
    print(kind, *(f"{name}={value.hex() or '-'}" for name, value in values.items()))


def kdf(key, label, context, size):
    return KBKDFHMAC(
        algorithm=hashes.SHA256(), mode=Mode.CounterMode, length=size, rlen=4, llen=4,
        location=CounterLocation.BeforeFixed, label=label, context=context, fixed=None,
    ).derive(key)


def keys(dialect, cipher, session_key, preauth):
    """Signing key, to the server, to the client, application key."""
    short = session_key[:16].ljust(16, b"\0")
    if dialect == 0x0300:
        names = ((b"SMB2AESCMAC\0", b"SmbSign\0"), (b"SMB2AESCCM\0", b"ServerIn \0"),
                 (b"SMB2AESCCM\0", b"ServerOut\0"), (b"SMB2APP\0", b"SmbRpc\0"))
    else:
        names = ((b"SMBSigningKey\0", preauth), (b"SMBC2SCipherKey\0", preauth),
                 (b"SMBS2CCipherKey\0", preauth), (b"SMBAppKey\0", preauth))
    full = cipher in (3, 4)
    sizes = (16, 32 if full else 16, 32 if full else 16, 16)
    return [kdf(session_key if size == 32 else short, *name, size) for name, size in zip(names, sizes)]


def encrypt(cipher, key, count, data, associated):
    """Nonce, ciphertext, tag."""
    nonce = struct.pack("<Q", count).ljust(11 if cipher in (1, 3) else 12, b"\0")
    box = aead.AESCCM(key, tag_length=16) if cipher in (1, 3) else aead.AESGCM(key)
    sealed = box.encrypt(nonce, data, associated or None)
    return nonce, sealed[:-16], sealed[-16:]


def message(cipher, key, count, data):
    rest = struct.pack("<IHHQ", len(data), 0, 1, SESSION_ID)
    nonce = struct.pack("<Q", count).ljust(16, b"\0")
    _, sealed, tag = encrypt(cipher, key, count, data, nonce + rest)
    return b"\xfdSMB" + tag + nonce + rest + sealed


def sessions():
    for dialect, cipher in ((0x0300, 1), (0x0311, 1), (0x0311, 2), (0x0311, 3), (0x0311, 4)):
        for side in (0, 1):
            for key_size in (16, 32, 8):
                name = f"{dialect} {cipher} {side} {key_size}"
                session_key, preauth = some("key " + name, key_size), some("preauth " + name, 64)
                signing, up, down, application = keys(dialect, cipher, session_key, preauth)
                key = (up, down)[side]
                sizes = SIZES if key_size == 16 else (64,)
                if key_size == 16 and side == 0:
                    sizes += (4100,)
                values = dict(
                    dialect=struct.pack(">H", dialect), cipher=struct.pack(">H", cipher), side=bytes([side]),
                    key=session_key, preauth=preauth, application=application, signing=signing,
                )
                for at, size in enumerate(sizes):
                    # A message and data by turns, which count together.
                    sealed = message(cipher, key, 2 * at, plain(size))
                    nonce, data, tag = encrypt(cipher, key, 2 * at + 1, plain(size), b"")
                    values |= {f"m{size}": sealed, f"n{size}": nonce, f"d{size}": data, f"t{size}": tag}
                line("session", **values)


def header(command, message_id, status, flags):
    return struct.pack(
        "<4sHHIHHIIQIIQ16s", b"\xfeSMB", 64, 1, status, command, 1, flags, 0, message_id, 0, 7, SESSION_ID, b"\0" * 16
    )


def signature(algorithm, key, data, nonce):
    if algorithm == 0:
        code = hmac.HMAC(key, hashes.SHA256())
        code.update(data)
        return code.finalize()[:16]
    if algorithm == 1:
        code = cmac.CMAC(algorithms.AES(key))
        code.update(data)
        return code.finalize()
    return aead.AESGCM(key).encrypt(nonce, b"", data)


def signatures():
    CANCEL, READ = 0x000C, 0x0008
    for algorithm in (0, 1, 2):
        for side in (0, 1):
            key = some(f"signing {algorithm} {side}", 16)
            values = dict(algorithm=bytes([algorithm]), side=bytes([side]), key=key)
            for at, (command, size) in enumerate(((READ, 0), (READ, 1), (READ, 16), (READ, 500), (CANCEL, 4))):
                if side == 1 and command == CANCEL:
                    continue
                message_id = some(f"id {algorithm} {side} {at}", 8)
                element = header(command, int.from_bytes(message_id, "little"), 0, 8 | side) + plain(size)
                nonce = message_id + struct.pack("<I", side | (2 if command == CANCEL else 0))
                values |= {f"e{at}": element, f"s{at}": signature(algorithm, key, element, nonce)}
            for at, size in enumerate((0, 1, 16, 4097)):
                # Of the nonce for data the text says nothing; this is smbd's.
                nonce = struct.pack("<QI", at, 1 << 31 | side)
                values |= {f"t{size}": signature(algorithm, key, plain(size), nonce), f"n{size}": nonce if algorithm == 2 else b""}
            line("signing", **values)


# What smbd's client says first, and what its server answers to pyspnego's first token: those of ntlm.rs.
NEGOTIATE = bytes.fromhex("")
CHALLENGE = bytes.fromhex("")
DOMAIN, USER, PASSWORD = "WORK", "Jörg", "pässword 1"


def ntlm():
    import spnego

    client = spnego.client(USER, PASSWORD, hostname="server", service="cifs", protocol="negotiate",
                           options=spnego.NegotiateOptions.use_negotiate | spnego.NegotiateOptions.session_key)
    first = client.step()
    if not CHALLENGE:
        line("client", first=first)
    else:
        last = client.step(CHALLENGE)
        line("client", first=first, challenge=CHALLENGE, last=last, key=client._context.session_key if hasattr(client, "_context") else client.session_key)
    if not NEGOTIATE:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as users:
        users.write(f"{DOMAIN}:{USER}:{PASSWORD}\n")
        users.flush()
        os.environ["NTLM_USER_FILE"] = users.name
        server = spnego.server(protocol="negotiate", options=spnego.NegotiateOptions.use_negotiate)
        line("server", first=NEGOTIATE, challenge=server.step(NEGOTIATE))


sessions()
signatures()
ntlm()
