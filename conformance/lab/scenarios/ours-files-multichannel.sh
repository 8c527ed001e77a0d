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
  url=smb://tester@$first/share options=() devices[$second]=${KIND}0
  export SMBD_PASSWORD=test123
  head -c "$size" /dev/urandom >/run/file
  both_ways
  rm -f "$SHARE/up"
  check "a copy to the server goes on without SMB Direct" loses break_off "$second" put /run/file "$url/up"
  mend "$second"
  check "each byte is right" cmp /run/file "$SHARE/up"
}
