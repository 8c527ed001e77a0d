# shellcheck shell=bash
about="smbd-cp copies a file each way by RDMA, with smbd-serve and with ksmbd; by smb:// it finds RDMA itself"
native="siw rxe"
guests=1
limit=240
whole=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# given_up    A server that has stopped accepts nothing, or its kernel does and nothing follows: `smbd-cp` has its limit over SMB Direct too, for
# each of two ports. Then siw keeps the process, which has said all, for 10 s.
given_up() {
  local said=$OUT/given-up status=0 cp
  kill -STOP "$SERVE_PID" || return
  timeout 60 "${SMBD_LIVE%/*}/smbd-cp" ls "$url" --connect-timeout 2 >"$said" 2>&1 &
  cp=$!
  await 9 grep -qE 'no answer within 2 s|negotiation took too long' "$said" || status=$?
  kill -CONT "$SERVE_PID"
  [ "$status" = 0 ] || return
  wait "$cp" || status=$?
  [ "$status" = 1 ] || { echo "status $status: $(cat "$said")" && return 1; }
}

scenario() {
  local programs=${SMBD_LIVE%/*} url options=()
  [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-serve and smbd-cp" "one of them is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && serve || return
  export SMBD_PASSWORD=test123
  url=rdma://tester@$ADDRESS/share
  check "smbd-serve: a file is the same on both sides, by RDMA" file_matches 3000001 rdma
  options=(--encrypt)
  check "smbd-serve, encrypted: the same" file_matches 65537 'rdma encrypted'
  options=() url=smb:${url#rdma:}
  check "smbd-serve: smb:// finds RDMA" file_matches 65537 'rdma, 2 connections'
  url=rdma:${url#smb:}
  check "smbd-serve that has stopped is given up after the time for a connection" given_up
  check "smbd-serve ends in good order" serve_ends
  # Of another owner.
  rm -f "$SHARE/up"
  ksmbd_start || return
  url=rdma://tester@$ADDRESS/share
  check "ksmbd: a file is the same on both sides, by RDMA" file_matches 3000001 rdma
  url=smb:${url#rdma:}
  check "ksmbd: smb:// finds RDMA" file_matches 65537 'rdma, 2 connections'
}
