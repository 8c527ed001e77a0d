# shellcheck shell=bash
# Functions of scenarios that copy files with smbd-cp: $url is the share, $SHARE the folder behind it, `options` those of smbd-cp.

# cp_says FILE COMMAND ...    runs smbd-cp; what it says is in FILE
cp_says() {
  local said=$OUT/$1
  shift
  timeout 900 "${SMBD_LIVE%/*}/smbd-cp" "$@" >>"$said" 2>>"$OUT/cp.log"
}

# cp_fails STATUS TEXT COMMAND ...    smbd-cp ends with this status, and the last that it says matches TEXT
cp_fails() {
  local status=0 wanted=$1 text=$2
  shift 2
  cp_says fails "$@" || status=$?
  [ "$status" = "$wanted" ] && tail -n 1 "$OUT/cp.log" | grep -qE -- "$text" ||
    complain "exit status $status: $(tail -n 1 "$OUT/cp.log")"
}

# file_matches SIZE WAY    a file of this size is the same on both sides, by the way that the program says
file_matches() {
  head -c "$1" /dev/urandom >/run/file && rm -f /run/back "$OUT/said" &&
    cp_says said put /run/file "$url/up" --check "${options[@]}" && cmp /run/file "$SHARE/up" &&
    cp_says said get "$url/up" /run/back "${options[@]}" && cmp /run/file /run/back &&
    [ "$(grep -Ec " MB/s, $2(, xxh3 [0-9a-f]{16})?\$" "$OUT/said")" = 2 ] || complain "a file of $1 bytes: $(tail -n 3 "$OUT/cp.log")"
}

# other_ways_match SIGNED    a file is the same on both sides signed, by this way, and over TCP, encrypted too; smb:// finds RDMA unless it is
# told not to look
other_ways_match() {
  local url=$url options=(--sign)
  check "signed, a file is the same on both sides" file_matches 65537 "$1"
  url=smb:${url#rdma:} options=()
  check "by smb:// a file is the same on both sides, by RDMA" file_matches 3000001 'rdma, 2 connections'
  options=(--channels 1)
  check "over TCP, a file is the same on both sides" file_matches 3000001 plain
  options=(--channels 1 --encrypt)
  check "encrypted over TCP, a file is the same on both sides" file_matches 3000001 'tcp encrypted'
}

# --- smbd-serve ---------------------------------------------------------------------------------------------------

# serve OPTION ...    smbd-serve with the share $SHARE, at all that it listens on
serve() {
  export SHARE=/run/share
  mkdir -p "$SHARE" && (umask 077 && printf 'tester:password:test123\n' >/run/users) || return
  "${SMBD_LIVE%/*}/smbd-serve" "$SHARE" --listen "$ADDRESS:445" --users /run/users "$@" >"$OUT/serve.log" 2>&1 &
  SERVE_PID=$!
  await "$patience" grep -q 'over=rdma' "$OUT/serve.log"
}

# serve_ends    SIGTERM ends it in good order, and it says so
serve_ends() {
  kill -TERM "$SERVE_PID" && wait "$SERVE_PID" && grep -q 'INFO ended$' "$OUT/serve.log"
}

# --- smbd-broker -------------------------------------------------------------------------------------------------------

# broker [OPTION ...]    listens on the device, at $port if there is one, and for owners at /run/broker
broker() {
  local port=${port:-}
  [ -n "$port" ] || { [ "$KIND" = siw ] && port=5445; } || port=445
  "${SMBD_LIVE%/*}/smbd-broker" run --listen "$ADDRESS:$port" --socket /run/broker "$@" >>"$OUT/broker.log" 2>&1 &
  BROKER_PID=$!
  await "$patience" grep -q 'over=rdma' "$OUT/broker.log"
}

# broker_for_many    the same for test after test: a device may count connections for a minute that have ended. Its port is the one that
# cifs.ko tries first
broker_for_many() {
  printf '[limits]\nconnections = 1000\nper_client = 1000\nper_owner = 1000\n' >/run/broker.toml
  port=$(cifs_port) broker --config /run/broker.toml
}

# --- all ways -----------------------------------------------------------------------------------------------------------

# Sizes around which something changes: nothing, the threshold of RDMA, 64 KiB, the longest message of ksmbd (MaxFragmentedSize 173910), the
# longest READ of smbd-cp in a message (1 MiB less 256 bytes), a request (1 MiB, as its longest message), four of them.
edges=(0 1 4095 4096 4097 65535 65536 65537 173909 173910 173911 1048319 1048320 1048321 1048575 1048576 1048577
  4194303 4194304 4194305 16777216)

# How a session may be protected. 3.0 and 3.0.2 know the first three only.
protections=(unprotected 'signed aes-cmac' 'encrypted aes-128-ccm' 'signed hmac-sha256' 'signed aes-gmac' 'encrypted aes-128-gcm'
  'encrypted aes-256-ccm' 'encrypted aes-256-gcm')

# edges_made    files of these sizes, in /run/edges
edges_made() {
  local size
  mkdir -p /run/edges && mkdir -m 777 "$SHARE/edges" || return
  for size in "${edges[@]}"; do head -c "$size" /dev/urandom >"/run/edges/$size" || return; done
}

# edges_match WAY DIALECT ALGORITHM    they are the same on both sides, this way, with what was negotiated so
edges_match() {
  rm -rf "$SHARE"/edges/* /run/back "$OUT/said" && mkdir /run/back &&
    cp_says said put /run/edges/* "$url/edges/" --files 8 --json "${options[@]}" && diff -r /run/edges "$SHARE/edges" &&
    cp_says said get "${edges[@]/#/$url/edges/}" /run/back --files 8 --json "${options[@]}" && diff -r /run/edges /run/back &&
    [ "$(grep -F "\"way\":\"$1\"" "$OUT/said" | grep -F "\"dialect\":\"$2\"" | grep -ciF "\"$3\"")" = 2 ] ||
    complain "$1, $2, $3: $(tail -n 3 "$OUT/cp.log") $(cut -c1-200 "$OUT/said")"
}

# protected WAY DIALECT KIND ALGORITHM    edges_match with a protection, if the server has it
protected() {
  local way=$1 dialect=$2 kind=$3 algorithm=${4:-} name="$2, $3${4:+ $4}, $1" options
  options=(--dialect "$dialect")
  case "$kind" in
    signed) options+=(--sign --signing "$algorithm") ;;
    encrypted) options+=(--encrypt --cipher "$algorithm") ;;
  esac
  # Where data of protected sessions cannot go by RDMA, nothing has to be said.
  if [ "$way" != rdma ] && { [ "$kind" = unprotected ] || [[ " $transforms " == *" $dialect "* ]]; }; then options+=(--rdma-messages); fi
  if [[ " $lacks " == *" $algorithm "* && -n $algorithm ]]; then
    skip "$name" "$server has no $algorithm"
  elif [[ $kind = "${breaks:-}" ]]; then
    skip "$name" "$why_broken"
  elif [[ $way = rdma && $kind != unprotected && " $transforms " != *" $dialect "* ]]; then
    skip "$name" "without RDMA transforms of both sides, in 3.1.1, data of such a session go in messages"
  else
    [ "$kind" = unprotected ] || way+=" $kind"
    check "$name: files of 0 bytes to 16 MiB are the same on both sides" edges_match "$way" "$dialect" "${algorithm:-$dialect}"
  fi
}

# all_ways    every dialect, protection and way over SMB Direct. `server` is its name, `lacks` are algorithms that it has not, `transforms`
# the dialects in which it has RDMA transforms; `breaks` is a protection with which it does not work, and `why_broken` says why.
all_ways() {
  local dialect protection way last
  edges_made || return
  for dialect in 3.1.1 3.0.2 3.0; do
    last=${#protections[@]}
    [ "$dialect" = 3.1.1 ] || last=3
    for protection in "${protections[@]:0:last}"; do
      # shellcheck disable=SC2086
      for way in rdma 'rdma messages'; do protected "$way" "$dialect" $protection; done
    done
  done
}

# lacks_are_told    for each algorithm that the server has not, smbd-cp ends and says what the server does instead
lacks_are_told() {
  local algorithm text
  for algorithm in $lacks; do
    case "$algorithm" in
      aes-?mac | hmac-*)
        text="the server signs with AES-CMAC, and --signing has $algorithm only|SMB2_SIGNING_CAPABILITIES has 0x0001, which was not offered"
        cp_fails 1 "$text" ls "$url" --signing "$algorithm"
        ;;
      *) cp_fails 1 'the server does not encrypt' ls "$url" --encrypt --cipher "$algorithm" ;;
    esac || return
  done
}

# --- another library ----------------------------------------------------------------------------------------------------

# others_verify ALGORITHM OPTION ...    what smbd-cp moves by RDMA with these options is what another library decrypts and verifies with this
# algorithm, and no other: `cryptography` of Python, of a capture and the keys
others_verify() {
  local algorithm=$1 keys=$OUT/$1.keys to=/run/$1 verified=$OUT/$1.verified options=("${@:2}")
  rm -rf /run/back && capture_start "$algorithm" && head -c 3000001 /dev/urandom >/run/file &&
    cp_says said put /run/file "$url/up" "${options[@]}" --wireshark-keys "$keys" &&
    cp_says said get "$url/up" /run/back "${options[@]}" --wireshark-keys "$keys" && capture_stop &&
    python3 "$LAB/rdma_transforms.py" "$OUT/$algorithm.pcap" "$keys" "$to" >"$verified" 2>&1 &&
    cmp /run/file "$to/written" && cmp /run/file "$to/read" && grep -q "^verified: [0-9]* transfers ${algorithm^^}; " "$verified" ||
    complain "$(tail -n 1 "$verified")"
}

# has_other_library NAME    whether what goes by RDMA can be captured here, and read by that library; if not, NAME is skipped
has_other_library() {
  if [ "$KIND" != siw ]; then
    skip "$1" "within one guest nothing of rxe can be captured"
  elif ! python3 -c 'import cryptography' 2>/dev/null; then
    skip "$1" "Python has no package cryptography (python3-cryptography)"
  else
    return 0
  fi
  return 1
}

# in_clear FILE CAPTURE    how many of 100 parts of a file are in a capture as they are
in_clear() {
  python3 -c 'import sys
file, capture = (open(path, "rb").read() for path in sys.argv[1:])
print(sum(file[at:at + 32] in capture for at in range(0, len(file) - 32, len(file) // 100)))' "$1" "$2"
}

# --- what can go wrong --------------------------------------------------------------------------------------------------

# big_file_matches [WAY]    1 GiB, 8 pieces of it under way, is the same on both sides, by the way that the program says (rdma)
big_file_matches() {
  local way=${1:-rdma}
  rm -f "$OUT/said" && head -c 1073741824 /dev/urandom >/run/big &&
    cp_says said put /run/big "$url/big" --pieces 8 "${options[@]}" && cmp /run/big "$SHARE/big" && rm /run/big &&
    cp_says said get "$url/big" /run/big --pieces 8 "${options[@]}" && cmp /run/big "$SHARE/big" && cat "$OUT/said" >>"$OUT/big.txt" &&
    [ "$(grep -c ": 1073741824 bytes, .* MB/s, $way\$" "$OUT/said")" = 2 ] || complain "1 GiB: $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}

# with_lock COMMAND ...    while a client over TCP holds a lock of the first MiB of `locked` in the share `small`, which is /run/small and has
# no oplocks: with one, a client keeps its locks to itself
with_lock() {
  local holder status=0
  mkdir -p /mnt/lock && head -c 3000000 /dev/urandom >/run/small/locked && chmod 666 /run/small/locked &&
    timeout 60 mount -t cifs "//${lock_host:-$ADDRESS}/small" /mnt/lock -o username=tester,password=test123,vers=3.1.1,cache=none || return
  rm -f /run/locks
  python3 -c 'import fcntl, time
with open("/mnt/lock/locked", "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1 << 20)
    open("/run/locks", "w").close()
    time.sleep(600)' &
  holder=$!
  await "$patience" test -e /run/locks || status=$?
  [ "$status" != 0 ] || "$@" || status=$?
  kill "$holder" && wait "$holder"
  umount /mnt/lock
  return "$status"
}

# locks_are_told    what another client has locked is not read, nor written, and what is told names it
locks_are_told() {
  local text='locked: STATUS_FILE_LOCK_CONFLICT'
  cp_fails 1 "$text" get "${url%share}small/locked" /run/back &&
    cp_fails 1 "$text" perf write "${url%share}small/locked" --time 0 --size 64K --at-once 1
}

# server_goes COMMAND ...    COMMAND ends the server while 1 GiB is read: smbd-cp says why the connection is over, in time
server_goes() {
  local copy status=0 began before
  # That is what it is called until it is whole.
  local partial=/run/back.smbd-partial
  rm -f /run/back "$partial"
  before=$(wc -l <"$OUT/cp.log")
  cp_says gone get "$url/big" /run/back --quiet &
  copy=$!
  await "$patience" is_long "$partial" 50000000 && began=$SECONDS && "$@" || return
  wait "$copy" || status=$?
  echo "smbd-cp ended $((SECONDS - began)) s after the server: $status, $(tail -n 1 "$OUT/cp.log")" | tee -a "$OUT/gone.txt"
  [ "$status" = 1 ] && [ "$(wc -l <"$OUT/cp.log")" -gt "$before" ] && tail -n 1 "$OUT/cp.log" | grep -q 'big: the connection is over: ' &&
    [ $((SECONDS - began)) -lt 90 ]
}
is_long() { [ -e "$1" ] && [ "$(stat -c %s "$1")" -gt "$2" ]; }

# --- several connections ------------------------------------------------------------------------------------------------
# The addresses of two connections of one session, the interfaces of these, and the devices of those that are SMB Direct.

first=10.9.1.9 second=10.9.0.9
declare -A interfaces=([$first]=lab2 [$second]=lab0) devices=() sent_before=()

# second_interface    one without a device, at $first: it stays when the other one goes
second_interface() {
  ip link add lab2 type veth peer name lab3 && ip link set lab3 up && ip address add "$first/24" dev lab2 && ip link set lab2 up
}

# both put|get FROM TO    a file goes over two connections, by the ways that the program says ($way, a pattern; those without protection otherwise)
both() {
  local how=$1
  shift
  rm -f "$OUT/said" && cp_says said "$how" "$@" --channels 2 --check "${options[@]}" &&
    grep -q " MB/s, ${way:-plain and rdma}, 2 connections, xxh3 " "$OUT/said" || complain "$how: $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}

# both_ways    /run/file goes over both connections, and comes back
both_ways() {
  check "a file goes over both connections" both put /run/file "$url/up"
  check "it is the same" cmp /run/file "$SHARE/up"
  check "it comes back over both" both get "$url/up" /run/back
  check "it is the same again" cmp /run/file /run/back
}

# over_tcp ADDRESS    whether the connection there has a socket: direct TCP, or siw, which is iWARP over TCP
over_tcp() { [ "$KIND" = siw ] || [ -z "${devices[$1]:-}" ]; }

# port_of ADDRESS    the port of that socket
port_of() { if [ -n "${devices[$1]:-}" ]; then ksmbd_port; else echo 445; fi; }

# sent_by ADDRESS    packets that the device there has sent
sent_by() { cat "/sys/class/infiniband/${devices[$1]}/ports/1/hw_counters/sent_pkts"; }

# carried ADDRESS    bytes that the connection there has carried both ways, as its socket says; on rxe as the packets of its device say, which
# are full
carried() {
  if over_tcp "$1"; then
    ss -Htni state established "dst $1 and dport = :$(port_of "$1")" | grep -oE 'bytes_(sent|received):[0-9]+' | awk -F: '{ n += $2 } END { print n + 0 }'
  else
    echo $((($(sent_by "$1") - sent_before[$1]) * 1024))
  fi
}
has_carried() { [ "$(carried "$1")" -ge "$2" ]; }

# What ends a connection at once. A device that is removed (`rdma link delete`) does not: that waits until no program has it open
# (docs/linux-6.12.md). A socket can be aborted; siw tells both of its ends then. rxe cannot send any more without the address that it sends
# from, and its queue pairs fail.
#
# break_off ADDRESS    the connection there is lost
break_off() {
  if over_tcp "$1"; then
    ss -HK "src $1 and sport = :$(port_of "$1")" | grep -q ESTAB
  else
    ip address del "$1/24" dev "${interfaces[$1]}"
  fi
}

# silence ADDRESS    what is sent there is lost without a word: siw's TCP tries again and again, for as long as its peer may take
silence() { ip address del "$1/24" dev "${interfaces[$1]}"; }

# mend ADDRESS    the next connection there can be made
mend() { ip address replace "$1/24" dev "${interfaces[$1]}"; }

# devices_speak NAME    whether the connection manager of each rxe can still send; if not, NAME is skipped. Now and then it cannot behind the
# loss of an address (docs/linux-6.12.md).
devices_speak() {
  local address
  for address in "${!devices[@]}"; do
    if ! over_tcp "$address" && rdma resource show qp link "${devices[$address]}/1" | grep -q 'type GSI state ERR'; then
      skip "$1" "${devices[$address]} makes no connection any more: its special queue pair was to send without the address, and has failed"
      return 1
    fi
  done
}

# loses HOW ADDRESS put|get FROM TO    the connection at ADDRESS is lost when it has carried a tenth of the file ($size bytes): smbd-cp ends
# well, with the one that is left. HOW is `break_off` or `silence`.
loses() {
  local how=$1 at=$2 copy status=0 device began=$SECONDS
  shift 2
  for device in "${!devices[@]}"; do over_tcp "$device" || sent_before[$device]=$(sent_by "$device"); done
  rm -f "$OUT/said"
  cp_says said "$@" --channels 2 --json "${options[@]}" &
  copy=$!
  await "$patience" has_carried "$at" $((size / 10)) && "$how" "$at" || { kill "$copy"; wait "$copy"; return 1; }
  wait "$copy" || status=$?
  echo "$how, $at, $*: $((SECONDS - began)) s" >>"$OUT/losses.txt"
  [ "$status" = 0 ] && grep -q '"connections":1,' "$OUT/said" && grep -q '"lost":1,' "$OUT/said" ||
    complain "smbd-cp: $status $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}
