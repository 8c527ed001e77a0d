# shellcheck shell=bash
about="smbd-verbs with itself"
native="siw rxe"
guests=1
limit=1800

scenario() { rdma_loopback "$KIND" 4096 && live ours; }
