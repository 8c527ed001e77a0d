# shellcheck shell=bash
# shellcheck source=gateway-transparent.sh
. "$LAB/scenarios/gateway-transparent.sh"
about="Samba behind smbd-gateway with the addresses of its clients, in two guests: smbstatus and hosts allow know them"
guests=2
limit=600
whole=yes
long=yes

# It listens at all addresses, and lets in nobody from this host.
start_server() {
  ip link set lo up &&
    samba_start 'bind interfaces only = no' 'hosts allow = 10.9.0.2 fd09::2' 'hosts deny = ALL'
}

ask() { check "smbstatus has $1" knows "$1"; }
knows() { samba_status --processes | tee -a "$OUT/smbstatus" | grep -qE " $1 .*SMB3_11"; }

scenario() {
  with_samba || return 0
  both_sides
}
