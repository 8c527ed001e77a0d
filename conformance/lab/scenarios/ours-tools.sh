# shellcheck shell=bash
about="smbd-ping against ksmbd, held against a capture; smbd-perf against smbd-echo"
native="siw rxe"
guests=2
limit=720
whole=yes

# ping_peer OPTION ...    the numbers that smbd-ping received; the whole of what it says is kept
ping_peer() {
  "$tools/smbd-ping" "$PEER" "$@" >>"$OUT/ping.txt" || return
  "$tools/smbd-ping" "$PEER" "$@" --json >"$OUT/ping.json" || return
  sed -nE 's/.*"(CreditsGranted|MaxReceiveSize|MaxFragmentedSize|MaxReadWriteSize)": ([0-9]+).*/\1 \2/p' "$OUT/ping.json" |
    head -n 4 | awk '{ of[$1] = $2 } END { print of["CreditsGranted"], of["MaxReceiveSize"], of["MaxFragmentedSize"], of["MaxReadWriteSize"] }'
}

# says NUMBERS OPTION ...    smbd-ping received these; notes them twice, because it connects twice
says() {
  local expected=$1 got
  shift
  got=$(ping_peer "$@") || return
  printf '%s\n%s\n' "$got" "$got" >>"$OUT/received"
  echo "received $got, expected $expected"
  [ "$got" = "$expected" ]
}

# shown    the same numbers, of every Negotiate Response of the capture
shown() {
  "$tools/smbd-sim" decode --json "$OUT/ping.pcap" | sed -nE \
    's/.*"credits_granted":([0-9]+),.*"max_fragmented_size":([0-9]+),"max_read_write_size":([0-9]+),"max_receive_size":([0-9]+),.*"message":"negotiate_response".*/\1 \4 \2 \3/p'
}

fails_with() {
  local status=0
  "${@:2}" || status=$?
  [ "$status" = "$1" ]
}

# row_is NAME    every device of this guest has this row of the quirk table
row_is() {
  local device
  for device in /sys/class/infiniband/*; do
    "$tools/smbd-ping" --device "${device##*/}" --json >"$OUT/device.json" || return
    grep -q "\"quirks\": \"$1\"" "$OUT/device.json" || return
  done
}

scenario() {
  local grants ordinary shorter
  tools=$(dirname "$SMBD_LIVE")
  # What ksmbd answers: CreditsGranted, MaxReceiveSize, MaxFragmentedSize, MaxReadWriteSize.
  grants=$(ksmbd_grants) && ordinary="$grants 1364 173910 8388608" shorter="$grants 1100 140250 8388608" || return
  rdma_link "$KIND" 4096 || return
  if [ "$LAB_SIDE" = a ]; then
    ksmbd_start && capture_start ping || return
    meet ready && meet pinged && capture_stop || return
    shown >"$OUT/shown"
    check "the capture shows what smbd-ping received" diff /out/b/received "$OUT/shown"
    "$tools/smbd-echo" --listen "$ADDRESS:7000" >"$OUT/echo.txt" 2>&1 &
    await "$patience" grep -q listening "$OUT/echo.txt" && meet echo && meet measured || return
    kill -INT "$!" && wait "$!"
  else
    meet ready || return
    check "smbd-ping, defaults" says "$ordinary"
    check "smbd-ping, MaxSendSize 1100" says "$shorter" --max-send-size 1100
    check "smbd-ping, MaxSendSize 2048" says "$ordinary" --max-send-size 2048
    check "smbd-ping --device names the row of $KIND" row_is "$KIND"
    check "smbd-ping where nobody listens" fails_with 1 "$tools/smbd-ping" "$PEER:7001"
    meet pinged && meet echo || return
    for what in send read write; do
      check "smbd-perf $what" "$tools/smbd-perf" "$PEER:7000" "$what" --time 1 --warm-up 0.2 --verify --json
    done
    check "smbd-perf latency" "$tools/smbd-perf" "$PEER:7000" latency --time 1 --warm-up 0.2 --json
    meet measured || return
  fi
}
