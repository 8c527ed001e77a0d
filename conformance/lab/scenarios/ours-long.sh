# shellcheck shell=bash
about="smbd-verbs with itself: a gigabyte each way, and the kit of the core as tokio waits"
guests=1
limit=900
long=yes

scenario() { rdma_loopback "$KIND" 4096 && live ours-long; }
