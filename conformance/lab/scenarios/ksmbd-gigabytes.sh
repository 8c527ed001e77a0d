# shellcheck shell=bash
about="smbd-cp to ksmbd, encrypted, by RDMA transforms: 1 GiB each way with each cipher"
native="siw rxe"
guests=1
limit=3600
whole=yes
long=yes
memory=6144

# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  linux_is 7 3 || { skip "RDMA transforms" "ksmbd of Linux $(uname -r) has none" && return; }
  local url cipher options
  rdma_loopback "$KIND" 1024 && ksmbd_start || return
  url=rdma://tester@$ADDRESS/share
  export SMBD_PASSWORD=test123
  for cipher in aes-128-gcm aes-256-gcm aes-128-ccm aes-256-ccm; do
    # There is memory for three of them.
    rm -f /run/big "$SHARE/big"
    options=(--encrypt --cipher "$cipher")
    check "$cipher: 1 GiB in one file, 8 pieces under way, is the same on both sides" big_file_matches 'rdma encrypted'
  done
}
