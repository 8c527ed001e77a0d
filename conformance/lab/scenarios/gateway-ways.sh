# shellcheck shell=bash
about="smbd-cp to Samba through smbd-gateway, in every dialect, with every signing algorithm and cipher: files of all sizes"
guests=1
limit=5400
whole=yes
long=yes

# shellcheck source=ours-gateway.sh
. "$LAB/scenarios/ours-gateway.sh"
# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  with_samba || return 0
  rdma_loopback "$KIND" 1024 && samba_start && start_gateway || return
  # shellcheck disable=SC2034
  local url=rdma://tester@$ADDRESS:$(cifs_port)/share server=Samba lacks='' transforms=''
  export SMBD_PASSWORD=test123
  all_ways
}
