# shellcheck shell=bash
about="smbd-verbs as server of the kernel's client"
guests=1
limit=720
# cifs.ko 6.12 ends connections twice when it is slow: docs/known-bugs.md, row 48.
crashes=rdma_disconnect

scenario() { rdma_loopback "$KIND" 1024 && kernel_log && live cifs; }
