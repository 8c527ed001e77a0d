#!/usr/bin/env python3
"""Writes vectors.txt: what OpenSSL (by the package `cryptography`) and `pyspnego` make of the same keys and messages.

How it was run, in a folder outside of the repository:

    python3 -m venv venv && venv/bin/pip install cryptography==50.0.2 pyspnego==0.12.4
    venv/bin/python .../smbd-smb2/tests/security/vectors.py > .../smbd-smb2/tests/security/vectors.txt

Nothing of smbd is used, but for tokens of NTLM that the other side has to answer, below. A line is a kind and values in hexadecimal. Plain
data are not written down: byte i of n is (31 * i + n) mod 256.
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


# Tokens of smbd, as foreign.rs makes them: what its server answers to pyspnego's first token, and both of its client's. When one of them
# is empty or another one, the test says what it is.
ANSWER = bytes.fromhex(
    "a181a030819da0030a0101a10c060a2b06010401823702020aa281870481844e544c4d53535000020000000c000c003800000035828ae22526272829"
    "2a2b2c00000000000000004000400044000000000000000000000f53004500520056004500520002000c0053004500520056004500520001000c0053"
    "004500520056004500520003000c0053004500520056004500520007000800000000003a5bdd0100000000"
)
FIRST = bytes.fromhex(
    "604806062b0601050502a03e303ca00e300c060a2b06010401823702020aa22a04284e544c4d53535000010000001582"
    "88e200000000280000000000000028000000000000000000000f"
)
LAST = bytes.fromhex(
    "a18201703082016ca2820154048201504e544c4d53535000030000001800180058000000b400b400700000000800080024010000080008002c010000"
    "0c000c00340100001000100040010000158288e2000000000000000fe1bab1bf2e4cd01b1dcb83e9dd690bb400000000000000000000000000000000"
    "00000000000000001f50c967e1611bdd4faacbda00a4e5ba01010000000000000060602a427bdd019495969798999a9b0000000001000e0046004f00"
    "52004500490047004e000200160057004f0052004b00530054004100540049004f004e0003000e0066006f0072006500690067006e00070008000060"
    "602a427bdd0106000400020000000a001000000000000000000000000000000000000900160063006900660073002f00730065007200760065007200"
    "000000000000000057004f0052004b004a00f6007200670043004c00490045004e00540099c6f328771f194007be2bddf953a6aca312041001000000"
    "99f7350473bb0c3300000000"
)
DOMAIN, USER, PASSWORD = "WORK", "Jörg", "pässword 1"


def ntlm():
    import datetime

    import socket

    socket.gethostname = lambda: "foreign"
    import spnego
    import spnego._ntlm_raw.messages as messages

    # The same tokens with every run.
    count = iter(range(1000))
    os.urandom = lambda size: some(f"entropy {next(count)}", size)
    time = messages.FileTime.from_datetime(datetime.datetime(2026, 11, 23, 12, 0, tzinfo=datetime.timezone.utc))
    messages.FileTime.now = classmethod(lambda cls, tz=None: time)
    options = spnego.NegotiateOptions.use_negotiate

    client = spnego.client(f"{DOMAIN}\\{USER}", PASSWORD, hostname="server", service="cifs", protocol="negotiate", options=options)
    values = dict(first=client.step())
    if ANSWER:
        values |= dict(answer=ANSWER, last=client.step(ANSWER), key=client._context.session_key)
    line("client", **values)

    if not FIRST:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as users:
        users.write(f"{DOMAIN}:{USER}:{PASSWORD}\n")
        users.flush()
        os.environ["NTLM_USER_FILE"] = users.name
        server = spnego.server(protocol="negotiate", options=options)
        values = dict(first=FIRST, answer=server.step(FIRST))
        if LAST:
            values |= dict(last=LAST, end=server.step(LAST), key=server.session_key)
            assert server.complete
        line("server", **values)


sessions()
signatures()
ntlm()
