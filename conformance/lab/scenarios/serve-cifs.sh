# shellcheck shell=bash
about="smbd-serve, mounted by the kernel over SMB Direct: files of all sizes, many files, names, locks, a minute of random operations"
guests=1
limit=7200
long=yes
# cifs.ko 6.12 crashes there now and then: docs/known-bugs.md, row 48.
crashes=rdma_disconnect
resumes=live

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-serve" ] || { skip "smbd-serve" "it is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && live serve --limit 3000
}
