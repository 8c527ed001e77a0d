# shellcheck shell=bash
about="smbd-gateway with the addresses of its clients, in two guests: the rules of its README, IPv4 and IPv6"
guests=2
limit=600
whole=yes
long=yes

CONFIG=/run/gateway.toml

gateway_log() { grep -aq -- "$1" "$OUT/gateway.log"; }

# peer_is CLIENT SERVER    whether the gateway connects to the server with the client's address
peer_is() { ss -Htn state established '( dport = :445 )' | tee -a "$OUT/peers" | grep -q " $1:[0-9]* *$2:445"; }

# start_server    one that knows TCP only: ksmbd on loopback. Started before there is a device, its own SMB Direct has port 445.
start_server() {
  export NETDEV=lo RDMA_KIND=none
  ip link set lo up && ksmbd_start
}

# ask CLIENT    what can be asked of the server itself: of ksmbd nothing
ask() { :; }

# serve    the gateway
serve() {
  printf '%s\n' 'server = ["127.0.0.2:445", "[::1]:445"]' 'transparent = true' \
    '[[listener]]' "device = \"$RDMA_DEVICE\"" "port = $(cifs_port)" >"$CONFIG"
  # Word for word as in smbd-gateway/README.md.
  ip rule add from 127.0.0.2 iif lo lookup 445
  ip route add local default dev lo table 445
  ip -6 rule add from ::1 iif lo lookup 445
  ip -6 route add local default dev lo table 445
  "${SMBD_LIVE%/*}/smbd-gateway" run --config "$CONFIG" >"$OUT/gateway.log" 2>&1 &
  GATEWAY_PID=$!
  await "$patience" gateway_log "INFO listening address=\[$ADDRESS6\]:$(cifs_port)"
}

server_side() {
  meet listening || return
  meet mounted4 || return
  check "the server sees the client's address" peer_is "$PEER" 127.0.0.2
  ask "$PEER"
  check "its file is there" test "$(stat -c %s "$SHARE/file4")" = 3000000
  meet seen4 && meet mounted6 || return
  check "the server sees the client's address of IPv6" peer_is "\[$PEER6\]" '\[::1\]'
  ask "$PEER6"
  check "its file is there, too" test "$(stat -c %s "$SHARE/file6")" = 3000000
  meet seen6 || return
  kill "$GATEWAY_PID"
  check "the gateway ends in order" wait "$GATEWAY_PID"
}

# client NUMBER ADDRESS    one mount, with a file written and read
client() {
  check "cifs mounts at $2" cifs_mount "$2" /mnt/share cache=none,vers=3.1.1 || return
  head -c 3000000 /dev/urandom >/run/file && cp /run/file "/mnt/share/file$1"
  check "what was written at $2 can be read" cmp "/mnt/share/file$1" /run/file
  meet "mounted$1" && meet "seen$1" && umount /mnt/share
}

both_sides() {
  [ "$LAB_SIDE" = b ] || start_server || return
  rdma_link "$KIND" 4096 || return
  if [ "$LAB_SIDE" = a ]; then
    serve && server_side
  else
    meet listening && client 4 "$PEER" && client 6 "$PEER6"
  fi
}

scenario() { both_sides; }
