"""Makes the link of two native guests, a pair of sockets, and becomes a program that has both in LAB_LINK: `link.py PROGRAM [ARGUMENT ...]`."""

import os
import socket
import sys

ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
for end in ends:
    end.set_inheritable(True)
    # Bursts of a few hundred frames.
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
os.environ["LAB_LINK"] = " ".join(str(end.detach()) for end in ends)
os.execv(sys.argv[1], sys.argv[1:])
