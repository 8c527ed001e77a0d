# shellcheck shell=bash
about="smbd-broker as a service: doctor, rights, status, metrics, readiness, reload, the end"
guests=1
limit=900
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

CONFIG=/run/broker.toml
SOCKET=/run/smbd-broker/socket

broker() { "${SMBD_LIVE%/*}/smbd-broker" "$@"; }
broker_log() { grep -aq -- "$1" "$OUT/broker.log"; }
reload() { kill -HUP "$BROKER_PID"; }
shows() { broker status --json | tee -a "$OUT/told.json" | grep -aq -- "$1"; }
measures() { exec 9<>/dev/tcp/127.0.0.1/9446 && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&9 && timeout 10 cat <&9 | tee "$OUT/metrics.txt" | grep -aqE -- "$1"; }

# finds [ID ...]    what the doctor finds, and nothing else
finds() {
  local status=0 expected=0 found
  [ $# = 0 ] || expected=1
  broker doctor --json --config "$CONFIG" >"$OUT/doctor.json" || status=$?
  found=$(grep -o '"id": "[^"]*"' "$OUT/doctor.json" | cut -d'"' -f4 | sort | xargs)
  [ "$status" = "$expected" ] && [ "$found" = "$(printf '%s\n' "$@" | sort | xargs)" ] || complain "status $status: $found"
}

# from a guest without a device to one that has all it needs
doctor_finds() {
  ip link set lo up && : >"$CONFIG" || return
  check "the doctor: without a device" finds no-device
  ip link add lab0 type veth peer name lab1 && rdma link add "${KIND}0" type "$KIND" netdev lab0 || return
  check "the doctor: with a port that is not active" finds no-active-port
  ip link set lab1 up && ip link set lab0 up && await "$patience" port_is_active "${KIND}0" || return
  check "the doctor: without an address" finds no-address
  ip address add 10.9.0.1/24 dev lab0 || return
  check "the doctor: nothing where all is well" finds
  printf '[owners]\nsocket = "/nowhere/at/all"\n' >"$CONFIG"
  check "the doctor: without a folder for the socket" finds socket-no-folder
  printf 'x' >/run/file && printf '[owners]\nsocket = "/run/file"\n' >"$CONFIG"
  check "the doctor: with a file in the place of the socket" finds socket-other
  printf '[owners]\nsokcet = ""\n' >"$CONFIG"
  check "a file with a fault: exit status 2, and what was meant" eval \
    "broker doctor --config $CONFIG 2>/run/said; [ \$? = 2 ] && grep -q 'did you mean .socket' /run/said"
  rdma link delete "${KIND}0" && ip link delete lab0
}

start_broker() {
  install -m 755 "${SMBD_LIVE%/*}/smbd-broker" /run/broker && install -d -o 65534 /run/smbd-broker || return
  NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=2000000 as_nobody ,+net_bind_service /run/broker run --config "$CONFIG" \
    >>"$OUT/broker.log" 2>&1 &
  BROKER_PID=$!
  await "$patience" notified READY=1
}

attach() {
  export SHARE=/run/share
  mkdir -p "$SHARE" && (umask 077 && printf 'tester:password:test123\n' >/run/users) || return
  "${SMBD_LIVE%/*}/smbd-serve" "$SHARE" --broker "$SOCKET" --users /run/users >>"$OUT/serve.log" 2>&1 &
  SERVE_PID=$!
  await "$patience" grep -q 'INFO attached ' "$OUT/serve.log"
}

# Another user has no way in.
other_user_is_refused() {
  chmod 755 /run/share
  timeout 10 setpriv --reuid 1234 --regid 1234 --clear-groups "${SMBD_LIVE%/*}/smbd-serve" /run/share --broker "$SOCKET" --users /run/users \
    >/run/other_user.log 2>&1
  [ $? != 0 ] && ! broker_log 'uid=1234'
}

second_broker_is_told() {
  broker run --socket "$SOCKET" --status-socket '' >/run/second.log 2>&1
  [ $? = 1 ] && grep -q 'another one answers there' /run/second.log
}

configure() { printf '%s\n' "$@" '[[listener]]' "device = \"$RDMA_DEVICE\"" "port = $(cifs_port)" '[metrics]' 'address = "127.0.0.1:9446"' >"$CONFIG"; }

scenario() {
  local programs=${SMBD_LIVE%/*} url options=()
  [ -x "$programs/smbd-broker" ] && [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-broker" "it, smbd-serve or smbd-cp is not among the programs" && return; }
  doctor_finds
  rdma_loopback "$KIND" 1024 && configure && listen_for_notices && start_broker || return
  export SMBD_PASSWORD=test123
  url=rdma://tester@$ADDRESS/share
  check "the broker is not root's" test "$(stat -c %u "/proc/$BROKER_PID")" = 65534
  check "systemd hears where it listens" notified "READY=1 STATUS=listening at $ADDRESS:$(cifs_port)"
  check "the watchdog is fed" await "$patience" notified WATCHDOG=1
  check "both sockets are its user's only" test "$(stat -c %a "$SOCKET" /run/smbd-broker/status.sock | xargs)" = "600 600"
  # It asks by connecting, so it is the first who does.
  check "another broker does not take its socket" second_broker_is_told
  attach || return
  check "another user cannot attach" other_user_is_refused
  check "a server is told with its process" await "$patience" shows "\"name\":\"smbd-serve.*\",\"pid\":$SERVE_PID,\"uid\":0,.*\"is_acceptor\":true"
  check "smbd-cp copies through the broker" file_matches 3145728 rdma
  check "metrics have what has passed by RDMA" measures '^smbd_broker_bytes_total\{way="rdma_read"\} 3145728'
  timeout 60 mkdir -p /mnt/share && timeout 60 mount -t cifs "//$ADDRESS/share" /mnt/share -o "rdma,vers=3.1.1,username=tester,password=test123,cache=none" || return
  head -c 1048576 /dev/urandom >/mnt/share/file
  check "the status has the client, its server and its bytes" await "$patience" \
    shows "\"client\":\"$ADDRESS:[0-9]*\",\"owner\":2,\"by\":\"default\",\"state\":\"held\".*\"rdma_in\":1048576"
  check "the table has it too" eval "broker status | grep -q '^ *[0-9]* *$ADDRESS:[0-9]* *2 *default '"
  configure 'allow = ["fd09::/129"]'
  reload
  check "a file with a fault changes nothing, and the log says what is wrong" await "$patience" broker_log 'not reloaded why=.*prefix of 129 bits'
  configure
  printf '%s\n' '[log]' 'format = "json"' '[limits]' 'connections = 1' '[slots]' 'per_owner = 9' >>"$CONFIG"
  reload
  check "a good one is taken" await "$patience" broker_log '"connections_max":1,"what":"reloaded"'
  check "what takes a restart is told" await "$patience" broker_log '"key":"slots.per_owner"'
  check "a new limit holds for who comes" cp_fails 1 . get "$url/file" /run/refused
  check "and the log says which" await "$patience" broker_log '"what":"client refused","why":"too many connections'
  check "the mount is the one that was there" cmp /mnt/share/file "$SHARE/file"
  kill "$BROKER_PID"
  check "the broker ends in order" wait "$BROKER_PID"
  check "systemd is told" notified 'STOPPING=1'
  check "the sockets are gone" test ! -e "$SOCKET" -a ! -e /run/smbd-broker/status.sock
  check "its server knows" await "$patience" grep -q 'WARN broker lost ' "$OUT/serve.log"
  umount -l /mnt/share
  kill "$SERVE_PID"
}
