# shellcheck shell=bash
about="smbd-cp copies over two connections of one session, TCP and SMB Direct, and goes on over TCP when the other one is lost"
guests=1
limit=900
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

size=200000000
url=

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && second_interface && NETDEV="$NETDEV lab2" ksmbd_start || return
  url=smb://tester@10.9.1.9/share options=()
  export SMBD_PASSWORD=test123
  head -c "$size" /dev/urandom >/run/file
  both_ways
  # What goes from a guest to itself does not leave rxe, so nothing can be lost on its way.
  [ "$KIND" = siw ] || { skip "a device that goes" "on rxe there is no link that could go" && return; }
  rm -f "$SHARE/up" /run/back
  check "a copy to the server goes on without SMB Direct" loses_rdma put /run/file "$url/up"
  check "each byte is right" cmp /run/file "$SHARE/up"
}
