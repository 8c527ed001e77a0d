# shellcheck shell=bash
about="Samba behind smbd-gateway: what Samba refuses, a slow disk, processes that are killed"
guests=1
limit=7200
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect
resumes=live

scenario() { live_samba samba-errors --limit 3000; }
