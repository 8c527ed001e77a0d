# shellcheck shell=bash
about="Samba behind smbd-gateway: who is let in, IPv6, two servers"
guests=1
limit=600
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect
resumes=live

scenario() { live_samba samba-access; }
