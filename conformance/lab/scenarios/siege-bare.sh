# shellcheck shell=bash
about="TCP connections without a word of MPA, by the thousand, against smbd-echo"
guests=1
limit=900
long=yes
only=siw
crashes=siw_destroy_listen

scenario() { rdma_loopback "$KIND" 4096 && honest_address && live bare-long --limit 600; }
