# shellcheck shell=bash
about="smbd-cp copies over two connections of one session of Samba, TCP and SMB Direct through smbd-gateway, which is lost amid a copy"
guests=1
limit=1800
whole=yes
long=yes

# shellcheck source=ours-gateway.sh
. "$LAB/scenarios/ours-gateway.sh"
# shellcheck source=../files.sh
. "$LAB/files.sh"

size=200000000
url=

# gateway_carried    the gateway's log has the session, with data both ways by RDMA
gateway_carried() { gateway_log 'client ended .*session=rdma.* rdma_in=[1-9][0-9]\{6\}[0-9]* rdma_out=[1-9]'; }

# goes_and_loses NAME ADDRESS    a copy there and one back, each of which loses the connection at ADDRESS
goes_and_loses() {
  devices_speak "a copy there, $1" || return 0
  rm -f "$SHARE/up" /run/back
  check "a file goes there all the same, $1" loses break_off "$2" put /run/file "$url/up"
  mend "$2"
  check "each byte is right, $1" cmp /run/file "$SHARE/up"
  devices_speak "a copy back, $1" || return 0
  check "it comes back all the same, $1" loses break_off "$2" get "$url/up" /run/back
  mend "$2"
  check "each byte is right again, $1" cmp /run/file /run/back
}

scenario() {
  local options=()
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  with_samba || return 0
  # Samba tells its clients of the address at which the gateway listens, and that there is RDMA.
  rdma_loopback "$KIND" 1024 && second_interface &&
    samba_start 'server multi channel support = yes' \
      "interfaces = lo $first \"$second;capability=RDMA,capability=RSS,speed=10000000000\"" && start_gateway || return
  url=smb://tester@$first/share devices[$second]=${KIND}0
  export SMBD_PASSWORD=test123
  head -c "$size" /dev/urandom >/run/file
  both_ways
  check "the gateway has carried data of the session" await "$patience" gateway_carried
  goes_and_loses "without SMB Direct" "$second"
  goes_and_loses "without TCP" "$first"
}
