# shellcheck shell=bash
about="smbd-cp copies a file each way by RDMA, with smbd-serve and with ksmbd; by smb:// it finds RDMA itself"
native="siw rxe"
guests=1
limit=240
whole=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# given_up    A server that stops before the connection is there, so it accepts nothing, and one that stops behind it: `smbd-cp` has its
# limit over SMB Direct too.
given_up() {
  local since=$SECONDS said status=0
  kill -STOP "$SERVE_PID" || return
  said=$(timeout 60 "${SMBD_LIVE%/*}/smbd-cp" ls "$url" --connect-timeout 2 2>&1) || status=$?
  kill -CONT "$SERVE_PID"
  since=$((SECONDS - since))
  [ "$status" = 1 ] && [[ $said == *'no answer within 2 s'* ]] && [ "$since" -lt 20 ] ||
    { echo "status $status after $since s: $said" && return 1; }
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
