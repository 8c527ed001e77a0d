# shellcheck shell=bash
about="smbd-serve, mounted by the kernel over SMB Direct: fsx, with the cache of the client and without"
guests=1
limit=2400
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# fsx_on cached|uncached OPERATIONS [OPTIONS]    fsx on a mount of its own; in the end both sides have the same file, and it is unmounted
fsx_on() {
  local how=$1 count=$2
  check "mounted, $how" cifs_mount "$ADDRESS" /mnt/share "${3:-}" || return 0
  check "fsx, $how: $count operations, and each byte is right" fsx_plays /mnt/share/fsx "$count" "$how"
  check "the server has the same file, $how" cmp /mnt/share/fsx "$SHARE/fsx"
  check "unmounted, $how" timeout 60 umount /mnt/share
  rm -f "$SHARE/fsx"
}

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-serve" ] || { skip "smbd-serve" "it is not among the programs" && return; }
  with_fsx || return 0
  rdma_loopback "$KIND" 1024 && serve || return
  fsx_on uncached 3000 cache=none
  fsx_on cached 6000
  check "it has served all of it by RDMA" grep -q 'client ended .*over=rdma .*rdma_in=[0-9]\{7\}.*rdma_out=[0-9]\{7\}' "$OUT/serve.log"
  check "it ends in good order" serve_ends
}
