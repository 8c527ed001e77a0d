# shellcheck shell=bash
about="smbd-cp and smbd-serve on two connections of one session, of which one is lost amid a copy: RDMA and TCP, then RDMA on two devices"
guests=1
limit=1800
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

size=200000000
logged=0

# ended_at ADDRESS    what the server says of the end of the last connection there, behind those that had ended before
ended_at() { tail -n "+$((logged + 1))" "$OUT/serve.log" | grep "INFO client ended client=$1:" | tail -n 1; }
has_ended_at() { [ -n "$(ended_at "$1")" ]; }

# data_of LINE WAY    the bytes of data on a connection in a direction (in, out), as the server has counted them
data_of() {
  local number
  number=$(sed -nE "s/.* rdma_$2=([0-9]+) .*/\1/p" <<<"$1")
  [ -n "$number" ] || number=$(sed -nE "s/.* bytes_$2=([0-9]+) .*/\1/p" <<<"$1")
  echo "${number:-0}"
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
  devices_speak "$3, there" || return 0
  rm -f "$SHARE/up" /run/back
  logged=$(wc -l <"$OUT/serve.log")
  check "$3, a file goes there all the same" loses "$1" "$2" put /run/file "$url/up"
  mend "$2"
  check "$3, each byte is right" cmp /run/file "$SHARE/up"
  check "$3, it was in the middle" lost_amid "$2" in
  devices_speak "$3, back" || return 0
  cp /run/file "$SHARE/up"
  logged=$(wc -l <"$OUT/serve.log")
  check "$3, a file comes back all the same" loses "$1" "$2" get "$url/up" /run/back
  mend "$2"
  check "$3, each byte is right again" cmp /run/file /run/back
  check "$3, it was in the middle again" lost_amid "$2" out
}

# a_client_was_there    the first one leaves something of the device to the next: what it has then it has to have again
a_client_was_there() {
  cp_says said ls "rdma://tester@$second/share" && await "$patience" serves_nobody && unused=$(rdma_counts)
}
serves_nobody() { rdma_counts | grep -q 'qp=[01] .* mr=0'; }

# nothing_left    the device has what it had; if not, whose it is and what the server waits for is shown
nothing_left() {
  await "$patience" rdma_is_at "$unused" && return
  rdma resource show qp
  tail -n +1 /proc/"$SERVE_PID"/task/*/stack
  complain "$unused before, $(rdma_counts) now"
}

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
