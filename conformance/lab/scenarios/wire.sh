# shellcheck shell=bash
about="the kernel's client and server in two guests, with a capture"
guests=2
limit=180
whole=yes
long=yes

scenario() {
  rdma_link "$KIND" 4096 || return
  if [ "$LAB_SIDE" = a ]; then ksmbd_start && capture_start wire || return; fi
  meet ready || return
  if [ "$LAB_SIDE" = b ]; then
    head -c 300000 /dev/urandom >/run/data
    check "mount" cifs_mount "$PEER" /mnt/share || return
    check "write" cp /run/data /mnt/share/data
    check "unmount" umount /mnt/share
    cp /run/data "$OUT/data"
  fi
  meet written || return
  if [ "$LAB_SIDE" = a ]; then
    check "the server has what was written" cmp /out/b/data "$SHARE/data"
    capture_stop
  fi
}
