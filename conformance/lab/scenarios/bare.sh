# shellcheck shell=bash
about="TCP connections without a word of MPA against smbd-echo"
guests=1
limit=200
only=siw
# It may fall over its list of such connections when the listener goes: docs/hostile.md.
crashes=siw_destroy_listen

scenario() { rdma_loopback "$KIND" 4096 && honest_address && live bare; }
