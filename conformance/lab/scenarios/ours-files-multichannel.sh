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

# rdma_is_used    whether there is a connection on the device
rdma_is_used() { [[ $(rdma_counts) =~ qp=[1-9] ]]; }

# both put|get FROM TO    a file goes over both connections
both() {
  local how=$1
  shift
  rm -f "$OUT/said" && cp_says said "$how" "$@" --channels 2 --check && grep -q ' MB/s, plain, 2 connections, xxh3 ' "$OUT/said" ||
    complain "$how: $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}

# second_interface    one without a device, at 10.9.1.9: it stays when the other one goes
second_interface() {
  ip link add lab2 type veth peer name lab3 && ip link set lab3 up && ip address add 10.9.1.9/24 dev lab2 && ip link set lab2 up
}

# loses_rdma put|get FROM TO    the interface below the device goes down while a file is copied
loses_rdma() {
  local how=$1 status=0 copy
  shift
  rm -f "$OUT/said"
  cp_says said "$how" "$@" --channels 2 --json &
  copy=$!
  await "$patience" rdma_is_used && sleep 1 || return
  ip link set "$NETDEV" down
  wait "$copy" || status=$?
  [ "$status" = 0 ] && grep -q '"connections":1,' "$OUT/said" && grep -q '"lost":1,' "$OUT/said" ||
    complain "$how: $status $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && second_interface && NETDEV="$NETDEV lab2" ksmbd_start || return
  url=smb://tester@10.9.1.9/share
  export SMBD_PASSWORD=test123
  head -c "$size" /dev/urandom >/run/file
  check "a file goes over both connections" both put /run/file "$url/up"
  check "it is the same" cmp /run/file "$SHARE/up"
  check "it comes back over both" both get "$url/up" /run/back
  check "it is the same again" cmp /run/file /run/back
  # What goes from a guest to itself does not leave rxe, so nothing can be lost on its way.
  [ "$KIND" = siw ] || { skip "a device that goes" "on rxe there is no link that could go" && return; }
  rm -f "$SHARE/up" /run/back
  check "a copy to the server goes on without SMB Direct" loses_rdma put /run/file "$url/up"
  check "each byte is right" cmp /run/file "$SHARE/up"
}
