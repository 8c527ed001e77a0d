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
  # Samba tells clients of the address at which the gateway is: it knows of no device.
  samba_start 'map to guest = bad user' "interfaces = lo \"$ADDRESS;capability=RDMA,capability=RSS,speed=10000000000\"" \
    '[guests]' 'path = /run/guests' 'read only = no' 'guest ok = yes' || return
  printf '[limits]\nconnections = 1000\nper_client = 1000\nmemory_mib = 65536\n' >/run/gateway.toml
  start_gateway --config /run/gateway.toml || return
  export SMBD_PASSWORD=test123
  suite --no-timers --connect "$ADDRESS:$(cifs_port)" --share guests --user tester --tcp 127.0.0.1:445 --tcp "$ADDRESS:445"
}
