# shellcheck shell=bash
about="hostile clients of Samba behind smbd-gateway on smbd-broker, while another one works"
guests=1
limit=7200
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect
resumes=live

scenario() { live_samba_on_broker samba-hostile --limit 900; }
