# shellcheck shell=bash
# shellcheck source=ours-gateway.sh
. "$LAB/scenarios/ours-gateway.sh"
about="the conformance suite against smbd-gateway, in front of Samba"
guests=1
limit=3000
long=yes
resumes=suite

scenario() {
  with_samba || return 0
  mkdir -p /run/guests && chmod 777 /run/guests && ip link set lo up && rdma_loopback "$KIND" 1024 || return
  samba_start 'map to guest = bad user' '[guests]' 'path = /run/guests' 'read only = no' 'guest ok = yes' || return
  printf '[limits]\nconnections = 1000\nper_client = 1000\nmemory_mib = 65536\n' >/run/gateway.toml
  start_gateway --config /run/gateway.toml || return
  suite --no-timers --connect "$ADDRESS:5445" --share guests
}
