# shellcheck shell=bash
about="smbd-cp to ksmbd in every dialect, with every signing algorithm and cipher, by RDMA and in messages: files of all sizes"
guests=1
limit=5400
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && ksmbd_start || return
  # shellcheck disable=SC2034
  local url=rdma://tester@$ADDRESS/share server=ksmbd lacks='aes-gmac hmac-sha256' transforms=''
  # Where its answers are encrypted, `smb_direct_writev` takes the transform header for the four bytes that SMB Direct has not.
  # shellcheck disable=SC2034
  local breaks=encrypted why_broken='ksmbd sends no transform header over SMB Direct, docs/linux-6.12.md'
  export SMBD_PASSWORD=test123
  check "what ksmbd has not is told" lacks_are_told
  all_ways
}
