# shellcheck shell=bash
about="smbd-cp to smbd-serve in every dialect, with every signing algorithm and cipher, by RDMA and in messages: files of all sizes"
guests=1
limit=5400
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-serve" ] && [ -x "${SMBD_LIVE%/*}/smbd-cp" ] ||
    { skip "smbd-serve" "it or smbd-cp is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && serve || return
  # shellcheck disable=SC2034
  local url=rdma://tester@$ADDRESS/share server=smbd-serve lacks='' transforms=3.1.1
  export SMBD_PASSWORD=test123
  all_ways
  check "it ends in good order" serve_ends
}
