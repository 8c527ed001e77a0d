# shellcheck shell=bash
about="the kernel's client and server over SMB Direct"
guests=1
limit=120
whole=yes
long=yes

scenario() {
  rdma_loopback "$KIND" 4096 || return
  head -c 3000000 /dev/urandom >/run/data
  local before
  before=$(rdma_counts)
  check "ksmbd starts" ksmbd_start || return
  check "SMB Direct is offered on port $(ksmbd_port)" offers_smb_direct
  check "mount" cifs_mount "$ADDRESS" /mnt/share || return
  check "write" cp /run/data /mnt/share/data
  check "the server has what was written" cmp /run/data "$SHARE/data"
  check "unmount" umount /mnt/share
  check "ksmbd stops" ksmbd_stop
  check "nothing is left on the device" await "$patience" rdma_is_at "$before"
}
offers_smb_direct() { rdma resource show cm_id | grep "LISTEN.*:$(ksmbd_port)"; }
