# shellcheck shell=bash
# Functions of scenarios that copy files with smbd-cp: $url is the share, $SHARE the folder behind it, `options` those of smbd-cp.

# cp_says FILE COMMAND ...    runs smbd-cp; what it says is in FILE
cp_says() {
  local said=$OUT/$1
  shift
  timeout 120 "${SMBD_LIVE%/*}/smbd-cp" "$@" >>"$said" 2>>"$OUT/cp.log"
}

# file_matches SIZE WAY    a file of this size is the same on both sides, by the way that the program says
file_matches() {
  head -c "$1" /dev/urandom >/run/file && rm -f /run/back "$OUT/said" &&
    cp_says said put /run/file "$url/up" --check "${options[@]}" && cmp /run/file "$SHARE/up" &&
    cp_says said get "$url/up" /run/back "${options[@]}" && cmp /run/file /run/back &&
    [ "$(grep -Ec " MB/s, $2(, xxh3 [0-9a-f]{16})?\$" "$OUT/said")" = 2 ] || complain "a file of $1 bytes: $(tail -n 3 "$OUT/cp.log")"
}

# other_ways_match SIGNED    a file is the same on both sides signed, by this way, and over TCP, encrypted too
other_ways_match() {
  local url=$url options=(--sign)
  check "signed, a file is the same on both sides" file_matches 65537 "$1"
  url=smb:${url#rdma:} options=()
  check "over TCP, a file is the same on both sides" file_matches 3000001 plain
  options=(--encrypt)
  check "encrypted over TCP, a file is the same on both sides" file_matches 3000001 'tcp encrypted'
}

# rdma_is_used    whether there is a connection on the device
rdma_is_used() { [[ $(rdma_counts) =~ qp=[1-9] ]]; }

# rdma_carries    whether what is copied has begun to go there
rdma_carries() { rdma_is_used && sleep 1; }

# device_goes    the interface below the device goes down
device_goes() { ip link set "$NETDEV" down; }

# second_interface    one without a device, at 10.9.1.9: it stays when the other one goes
second_interface() {
  ip link add lab2 type veth peer name lab3 && ip link set lab3 up && ip address add 10.9.1.9/24 dev lab2 && ip link set lab2 up
}

# both put|get FROM TO    a file goes over two connections, by the way that the program says ($way, a pattern; plain without it)
both() {
  local how=$1
  shift
  rm -f "$OUT/said" && cp_says said "$how" "$@" --channels 2 --check "${options[@]}" &&
    grep -q " MB/s, ${way:-plain}, 2 connections, xxh3 " "$OUT/said" || complain "$how: $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}

# both_ways    /run/file goes over both connections, and comes back
both_ways() {
  check "a file goes over both connections" both put /run/file "$url/up"
  check "it is the same" cmp /run/file "$SHARE/up"
  check "it comes back over both" both get "$url/up" /run/back
  check "it is the same again" cmp /run/file /run/back
}

# loses_rdma put|get FROM TO    the device goes while a file is copied
loses_rdma() {
  local how=$1 status=0 copy
  shift
  rm -f "$OUT/said"
  cp_says said "$how" "$@" --channels 2 --json &
  copy=$!
  await "$patience" rdma_carries || return
  device_goes || return
  wait "$copy" || status=$?
  [ "$status" = 0 ] && grep -q '"connections":1,' "$OUT/said" && grep -q '"lost":1,' "$OUT/said" ||
    complain "$how: $status $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}
