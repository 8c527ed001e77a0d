# shellcheck shell=bash
about="smbd-cp to Samba through smbd-gateway: 1 GiB in one file, locks of another client, a full disk, Samba and the gateway killed"
guests=1
limit=3600
whole=yes
long=yes
memory=6144

# shellcheck source=ours-gateway.sh
. "$LAB/scenarios/ours-gateway.sh"
# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  with_samba || return 0
  rdma_loopback "$KIND" 1024 && disk small 8 &&
    samba_start '[small]' 'path = /run/small' 'read only = no' 'oplocks = no' && start_gateway || return
  local url=rdma://tester@$ADDRESS:$(cifs_port)/share lock_host=127.0.0.1
  export SMBD_PASSWORD=test123
  check "1 GiB in one file, 8 pieces under way, is the same on both sides" big_file_matches
  check "what another client has locked is told" with_lock locks_are_told
  head -c 16777216 /dev/urandom >/run/file
  check "a full disk is told" cp_fails 1 'f(\.smbd-partial)?: STATUS_DISK_FULL' put /run/file "${url%share}small/f"
  check "Samba is killed amid a copy, and that is told" server_goes samba_stop KILL
  samba_start '[small]' 'path = /run/small' 'read only = no' 'oplocks = no' || return
  check "the gateway is killed amid a copy, and that is told" server_goes kill -KILL "$GATEWAY_PID"
}
