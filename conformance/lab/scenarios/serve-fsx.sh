# shellcheck shell=bash
about="smbd-serve, mounted by the kernel over SMB Direct: fsx, with the cache of the client and without"
guests=1
limit=2400
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# fsx_on WEIGHTS OPERATIONS CACHE    fsx on a mount of its own; in the end both sides have the same file, and it is unmounted
fsx_on() {
  local weights=$1 count=$2 name="cache=$3"
  check "mounted, $name" cifs_mount "$ADDRESS" /mnt/share "$name" || return 0
  check "fsx, $name: $count operations, and each byte is right" fsx_plays /mnt/share/fsx "$count" "$weights"
  check "the server has the same file, $name" cmp /mnt/share/fsx "$SHARE/fsx"
  check "unmounted, $name" timeout 60 umount /mnt/share
  rm -f "$SHARE/fsx"
}

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-serve" ] || { skip "smbd-serve" "it is not among the programs" && return; }
  with_fsx || return 0
  rdma_loopback "$KIND" 1024 && serve || return
  fsx_on uncached 1500 none
  # Not with cache=strict, in which cifs of 6.12 fails with any server that gives no oplocks: docs/linux-6.12.md.
  fsx_on cached 3000 loose
  check "it has served all of it by RDMA" grep -q 'client ended .*over=rdma .*rdma_in=[0-9]\{7\}.*rdma_out=[0-9]\{7\}' "$OUT/serve.log"
  check "it ends in good order" serve_ends
}
