# shellcheck shell=bash
about="smbd-gateway as a service: rights, status, readiness, reload, backends, the end"
guests=1
limit=600
whole=yes
long=yes

CONFIG=/run/gateway.toml

gateway_log() { grep -aq -- "$1" "$OUT/gateway.log"; }

# A server that knows TCP only: ksmbd on loopback. Started before there is a device, its own SMB Direct has port 445.
start_server() {
  export NETDEV=lo RDMA_KIND=none
  ip link set lo up && ksmbd_start
}

# configure LINE ...    writes the configuration: two listeners, of which the second leads to nobody, and these lines before
configure() {
  printf '%s\n' 'server = ["127.0.0.1:445"]' "$@" '[[backend]]' 'name = "gone"' 'server = ["127.0.0.1:9"]' \
    '[[listener]]' "device = \"$RDMA_DEVICE\"" 'port = 5445' \
    '[[listener]]' "address = \"$ADDRESS:446\"" 'backend = "gone"' >"$CONFIG"
}

start_gateway() {
  install -m 755 "${SMBD_LIVE%/*}/smbd-gateway" /run/gateway && install -d -o 65534 /run/smbd-gateway || return
  NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=2000000 as_nobody ,+net_bind_service /run/gateway run --config "$CONFIG" \
    >>"$OUT/gateway.log" 2>&1 &
  GATEWAY_PID=$!
  await "$patience" notified READY=1
}

status() { "${SMBD_LIVE%/*}/smbd-gateway" status "$@"; }
shows() { status --json | tee -a "$OUT/told.json" | grep -aq -- "$1"; }
reload() { kill -HUP "$GATEWAY_PID"; }

# Without the capability, at a port below 1024. That TCP would take it is not enough.
cure_is_told() {
  echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
  (as_nobody '' /run/gateway run --server 127.0.0.1:445 --status-socket '' --listen "$ADDRESS:444") >/run/third.log 2>&1
  [ $? = 1 ] && grep -q 'check: a port below 1024 takes CAP_NET_BIND_SERVICE' /run/third.log
}

first_half() {
  check "the gateway is not root's" test "$(stat -c %u "/proc/$GATEWAY_PID")" = 65534
  check "what is missing without its capability is told" cure_is_told
  check "systemd hears where it listens" notified "READY=1 STATUS=listening at $ADDRESS:446 $ADDRESS:5445"
  check "the watchdog is fed" await "$patience" notified WATCHDOG=1
  check "the socket is its user's only" test "$(stat -c %a /run/smbd-gateway/status.sock)" = 600
  check "another gateway does not take it" await "$patience" second_is_told
  check "cifs mounts through the gateway" cifs_mount "$ADDRESS" /mnt/share cache=none,vers=3.1.1 || return
  head -c 3145728 /dev/urandom >/mnt/share/file
  check "the status has the client, its session and its bytes" \
    await "$patience" shows "\"client\":\"$ADDRESS:[0-9]*\".*\"dialect\":\"3.1.1\",\"session\":\"rdma\".*\"rdma_in\":3145728"
  check "the table has it too" eval "status | grep -q '^$ADDRESS:[0-9]* .* rdma '"
}

# A second one, at another port: its log is looked at.
second_is_told() {
  "${SMBD_LIVE%/*}/smbd-gateway" run --server 127.0.0.1:445 --listen "$ADDRESS:5447" >/run/second.log 2>&1 &
  local second=$!
  await 10 grep -q 'no status socket.*another one answers there' /run/second.log
  local status=$?
  kill "$second" && wait "$second"
  return "$status"
}

second_half() {
  configure 'allow = ["fd09::/64"]' 'sever = []'
  reload
  check "a file with a fault changes nothing, and the log says what is wrong" \
    await "$patience" gateway_log 'not reloaded why=.*did you mean `server`'
  configure 'transparent = true'
  reload
  check "so does one that takes a capability" await "$patience" gateway_log 'not reloaded why=.*CAP_NET_RAW'
  configure
  printf '%s\n' '[log]' 'format = "json"' '[metrics]' 'address = "127.0.0.1:9445"' >>"$CONFIG"
  sed -i 's/:446"/:5448"/' "$CONFIG"
  reload
  check "a good one is taken" await "$patience" gateway_log '"what":"reloaded"'
  check "what takes a restart is told" await "$patience" gateway_log '"key":"metrics.address"'
  check "listeners come and go" await "$patience" notified "READY=1 STATUS=listening at $ADDRESS:5445 $ADDRESS:5448"
  check "the mount is the one that was there" cmp /mnt/share/file "$SHARE/file"
  check "nothing of it had to be done again" test "$(grep -ac 'client connected' "$OUT/gateway.log")" = 1
}

scenario() {
  start_server && rdma_loopback "$KIND" 1024 || return
  configure
  listen_for_notices && start_gateway || return
  first_half || return
  second_half || return
  kill "$GATEWAY_PID"
  check "with an idle client the gateway ends in order" wait "$GATEWAY_PID"
  check "systemd is told, and how long it may take" notified 'STOPPING=1 EXTEND_TIMEOUT_USEC=20000000'
  check "a connection without requests ends at once" gateway_log '"why":"the gateway stops"'
  check "all connections were over" gateway_log '"why":"all connections are over"'
  check "the socket is gone" test ! -e /run/smbd-gateway/status.sock
  umount -l /mnt/share
}
