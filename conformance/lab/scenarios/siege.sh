# shellcheck shell=bash
about="hostile peers by the thousand against smbd-echo"
guests=1
limit=2400
long=yes

scenario() { rdma_loopback "$KIND" 4096 && honest_address && live hostile-long --limit 1200; }
