# shellcheck shell=bash
about="hostile peers against smbd-echo"
native="siw"
guests=1
limit=1200
long=rxe

scenario() { rdma_loopback "$KIND" 4096 && honest_address && live hostile; }
