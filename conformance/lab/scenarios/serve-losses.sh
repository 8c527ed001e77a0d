# shellcheck shell=bash
about="smbd-cp and smbd-serve on two connections of one session, of which one is lost amid a copy: RDMA and TCP, then RDMA on two devices"
guests=1
limit=1800
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

size=200000000
# The connections by their addresses, and the interfaces of these.
first=10.9.1.9 second=10.9.0.9
declare -A interfaces=([$first]=lab2 [$second]=lab0) devices=() sent_before=()
logged=0

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
    ss -Htni "dst $1 and dport = :$(port_of "$1")" | grep -oE 'bytes_(sent|received):[0-9]+' | awk -F: '{ n += $2 } END { print n + 0 }'
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

# ended_at ADDRESS    what the server says of the end of the last connection there, behind those that had ended before
ended_at() { tail -n "+$((logged + 1))" "$OUT/serve.log" | grep "^client ended client=$1:" | tail -n 1; }
has_ended_at() { [ -n "$(ended_at "$1")" ]; }

# data_of LINE WAY    the bytes of data on a connection in a direction (in, out), as the server has counted them
data_of() {
  local number
  number=$(sed -nE "s/.* rdma_$2=([0-9]+) .*/\1/p" <<<"$1")
  [ -n "$number" ] || number=$(sed -nE "s/.* bytes_$2=([0-9]+) .*/\1/p" <<<"$1")
  echo "${number:-0}"
}

# same FROM TO    the two files have one sum
same() {
  local sums
  sums=$(sha256sum "$1" "$2" | cut -d' ' -f1) || return
  echo "$2: $(tail -n 1 <<<"$sums")" >>"$OUT/sums.txt"
  [ "$(uniq <<<"$sums" | wc -l)" = 1 ]
}

# loses HOW ADDRESS put|get FROM TO    the connection at ADDRESS is lost when it has carried a tenth of the file: smbd-cp ends well, with the
# one that is left. HOW is `break_off` or `silence`.
loses() {
  local how=$1 at=$2 way=$3 copy status=0 device began=$SECONDS
  shift 2
  for device in "${!devices[@]}"; do over_tcp "$device" || sent_before[$device]=$(sent_by "$device"); done
  logged=$(wc -l <"$OUT/serve.log")
  rm -f "$OUT/said"
  cp_says said "$@" --channels 2 --json "${options[@]}" &
  copy=$!
  await "$patience" has_carried "$at" $((size / 10)) && "$how" "$at" || { kill "$copy"; wait "$copy"; return 1; }
  wait "$copy" || status=$?
  echo "$how, $at, $*: $((SECONDS - began)) s" >>"$OUT/losses.txt"
  [ "$status" = 0 ] && grep -q '"connections":1,' "$OUT/said" && grep -q '"lost":1,' "$OUT/said" ||
    complain "smbd-cp: $status $(tail -n 3 "$OUT/said" "$OUT/cp.log")"
}

# lost_amid ADDRESS in|out    the server has seen both ends: that of the connection at ADDRESS with less than 45 % of the data, though it had some,
# and that of the other one with the rest
lost_amid() {
  local at=$1 other=$first lost left
  [ "$at" != "$first" ] || other=$second
  await "$patience" has_ended_at "$at" && await "$patience" has_ended_at "$other" || return
  printf '%s\n' "$(ended_at "$at")" "$(ended_at "$other")" >>"$OUT/losses.txt"
  lost=$(data_of "$(ended_at "$at")" "$2") left=$(data_of "$(ended_at "$other")" "$2")
  [ "$lost" -gt 0 ] && [ "$lost" -lt $((size * 45 / 100)) ] && [ $((lost + left)) -ge "$size" ] ||
    complain "$at had $lost bytes of $size, $other had $left"
}

# amid HOW ADDRESS NAME    a copy there and one back, each of which loses the connection at ADDRESS
amid() {
  rm -f "$SHARE/up" /run/back
  check "$3, a file goes there all the same" loses "$1" "$2" put /run/file "$url/up"
  mend "$2"
  check "$3, each byte is right" same /run/file "$SHARE/up"
  check "$3, it was in the middle" lost_amid "$2" in
  cp /run/file "$SHARE/up"
  check "$3, a file comes back all the same" loses "$1" "$2" get "$url/up" /run/back
  mend "$2"
  check "$3, each byte is right again" same /run/file /run/back
  check "$3, it was in the middle again" lost_amid "$2" out
}

# a_client_was_there    the first one leaves something of the device to the next: what it has then it has to have again
a_client_was_there() {
  cp_says said ls "rdma://tester@$second/share" && await "$patience" serves_nobody && unused=$(rdma_counts)
}
serves_nobody() { rdma_counts | grep -q 'qp=[01] .* mr=0'; }

# nothing_left    the device has what it had
nothing_left() { await "$patience" rdma_is_at "$unused" || complain "$unused before, $(rdma_counts) now"; }

scenario() {
  local programs=${SMBD_LIVE%/*} options=() unused
  [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-serve" "it or smbd-cp is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && second_interface && serve --listen "tcp:$first:445" || return
  url=smb://tester@$first/share devices[$second]=${KIND}0
  export SMBD_PASSWORD=test123
  check "a client is served" a_client_was_there
  head -c "$size" /dev/urandom >/run/file
  amid break_off "$second" "RDMA beside TCP is lost"
  amid break_off "$first" "TCP beside RDMA is lost"
  options=(--encrypt)
  amid break_off "$second" "RDMA beside TCP is lost, encrypted"
  options=()
  if [ "$KIND" = siw ]; then
    amid silence "$second" "RDMA beside TCP is silent"
  else
    skip "RDMA that is silent" "what goes from a guest to itself does not leave rxe, so nothing can be lost on its way"
  fi
  check "the device has what it had" nothing_left
  check "the server ends in good order" serve_ends
  mv "$OUT/serve.log" "$OUT/served.log"

  rdma link add "${KIND}1" type "$KIND" netdev lab2 && await "$patience" port_is_active "${KIND}1" && serve --listen "$first:445" || return
  url=rdma://tester@$first/share devices[$first]=${KIND}1
  amid break_off "$second" "one of two devices is lost"
  amid break_off "$first" "the other one of two devices is lost"
  check "the server ends in good order again" serve_ends
}
