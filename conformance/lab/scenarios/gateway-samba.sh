# shellcheck shell=bash
about="Samba behind smbd-gateway: files of all sizes, at the edges of what goes by RDMA"
native="siw rxe"
guests=1
limit=900
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect
resumes=live

scenario() { live_samba samba; }
