# shellcheck shell=bash
about="smbd-verbs as server of the kernel's client"
native="siw rxe"
guests=1
limit=1000
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect
resumes=live

scenario() { rdma_loopback "$KIND" 1024 && kernel_log && live cifs; }
