"""The link of two native guests: `link.py SOCKET`. Each frame that one of them sends goes to the other; when nobody is there, it is lost.

A guest connects when its interface goes up, and leaves when it goes down. It prints a line when guests can connect."""

import selectors
import socket
import sys

# Bursts of a few hundred frames of the longest MTU that the lab has.
ROOM = 4 << 20
FRAME = 16 << 10

listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ)
guests = []


def leave(guest):
    selector.unregister(guest)
    guests.remove(guest)
    guest.close()


def forward(guest):
    """What has come from a guest, in one turn no more than a burst."""
    for _ in range(64):
        try:
            frame = guest.recv(FRAME)
        except BlockingIOError:
            return
        except OSError:
            frame = b""
        if not frame:
            leave(guest)
            return
        for other in guests:
            if other is not guest:
                try:
                    other.send(frame)
                except OSError:
                    pass  # No room, as in a switch whose queue is full; or it has left, which its own turn tells.


while True:
    for key, _ in selector.select():
        if key.fileobj is not listener:
            forward(key.fileobj)
            continue
        guest, _ = listener.accept()
        guest.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            guest.setsockopt(socket.SOL_SOCKET, option, ROOM)
        guests.append(guest)
        selector.register(guest, selectors.EVENT_READ)
