# shellcheck shell=bash
about="smbd-verbs as server of the kernel's client"
guests=1
limit=720

scenario() { rdma_loopback "$KIND" 1024 && kernel_log && live cifs; }
