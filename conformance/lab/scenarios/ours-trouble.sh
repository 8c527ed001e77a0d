# shellcheck shell=bash
about="smbd-cp to ksmbd: 1 GiB in one file, locks of another client, a full disk, a server that is ended amid a copy"
guests=1
limit=3600
whole=yes
long=yes
memory=6144

# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && disk small 8 && ksmbd_start '[small]' 'path = /run/small' 'read only = no' 'oplocks = no' 'guest ok = yes' || return
  local url=rdma://tester@$ADDRESS/share
  export SMBD_PASSWORD=test123
  check "1 GiB in one file, 8 pieces under way, is the same on both sides" big_file_matches
  check "what another client has locked is told" with_lock locks_are_told
  head -c 16777216 /dev/urandom >/run/file
  check "a full disk is told" cp_fails 1 'f(\.smbd-partial)?: STATUS_DISK_FULL' put /run/file "${url%share}small/f"
  check "the server is ended amid a copy, and that is told" server_goes ksmbd_stop
}
