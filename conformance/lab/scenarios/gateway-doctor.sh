# shellcheck shell=bash
about="smbd-gateway doctor finds what a guest can get wrong, and nothing where all is well"
guests=1
limit=600
whole=yes
long=yes

CONF=/run/smb.conf

# doctor [OPTION ...]    its findings, in $OUT/doctor.json
doctor() { "${SMBD_LIVE%/*}/smbd-gateway" doctor --json --smb-conf "$CONF" "$@" >"$OUT/doctor.json"; }

# says STATUS [ID ...]    what it found last: its status, and these at least
says() {
  local status=$1 expected=$2 id
  shift 2
  [ "$status" = "$expected" ] || complain "status $status: $(cat "$OUT/doctor.json")" || return
  for id; do
    grep -q "\"id\": \"$id\"" "$OUT/doctor.json" || complain "no $id in: $(cat "$OUT/doctor.json")" || return
  done
}

# finds ID ...
finds() {
  local status=0
  doctor || status=$?
  says "$status" 1 "$@"
}

# finds_nothing
finds_nothing() {
  local status=0
  doctor || status=$?
  says "$status" 0 && [ "$(cat "$OUT/doctor.json")" = "[]" ]
}

# nobody_finds KIB ID ...    as a user without capabilities, who may lock so much memory
nobody_finds() {
  local status=0 limit=$1
  shift
  setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all prlimit --memlock=$((limit * 1024)) \
    "${SMBD_LIVE%/*}/smbd-gateway" doctor --json --smb-conf "$CONF" >"$OUT/doctor.json" || status=$?
  says "$status" 1 "$@"
}

# conf [LINE ...]    settings of Samba without a fault, and these
conf() {
  {
    printf '[global]\n interfaces = lo "lab0;capability=RDMA,speed=10000000000"\n'
    printf ' %s\n' "$@"
  } >"$CONF"
}

# accept_only    something that takes connections at 127.0.0.1:445, which is all that the doctor wants to know of a server
accept_only() {
  perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 445, Listen => 9,
    ReuseAddr => 1) or die "$!"; while (1) { $s->accept }' &
  await_port 445
}

# device_faults    from a guest without a device to one that has all it needs
device_faults() {
  check "without a device" finds no-device
  ip link add lab0 type veth peer name lab1 && rdma link add "${KIND}0" type "$KIND" netdev lab0 || return
  check "with a port that is not active" finds no-active-port
  ip link set lab1 up && ip link set lab0 up && await "$patience" port_is_active "${KIND}0" || return
  check "without an address" finds no-address
  ip address add 10.9.0.1/24 dev lab0 || return
  check "without a server" finds server-silent
  export NETDEV=lo RDMA_KIND=none
  ksmbd_start || return
  check "beside ksmbd, which has the port" finds ksmbd port-in-use
  ksmbd_stop
}

# setting_faults    each in its own settings
setting_faults() {
  local fault
  while IFS='|' read -r id fault; do
    conf "$fault"
    check "$fault" finds "$id"
  done <<'TEXT'
signing|server signing = mandatory
signing-domain-controller|server role = active directory domain controller
encryption|server smb encrypt = required
multichannel|server multi channel support = no
protocol-old|server max protocol = SMB2
interfaces-rdma|interfaces = lo lab0
interfaces-unknown|interfaces = lo "lab1;capability=RDMA"
interfaces-missing|interfaces = lo "lab1;capability=RDMA"
interfaces-speed|interfaces = lo "lab0;capability=RDMA,speed=0"
interfaces-index|interfaces = lo "10.9.0.1/24;capability=RDMA,speed=10000000000"
interfaces-quotes|interfaces = lo lab0;capability=RDMA,speed=10000000000
hosts-passed|hosts allow = 10.9.0.
hosts-denied|hosts deny = ALL
max-read|smb2 max read = 16M
settings-elsewhere|include = registry
settings-refused|[share
TEXT
  conf "bind interfaces only = yes" 'interfaces = "lab0;capability=RDMA"'
  check "bind interfaces only, without lo" finds loopback
}

scenario() {
  ip link set lo up && conf && device_faults || return
  accept_only || return
  check "nothing where all is well" finds_nothing
  setting_faults
  conf
  check "too little locked memory" nobody_finds 64 memlock-none
  if [ "$KIND" = rxe ]; then
    check "a port that the user may not have" nobody_finds 64 port-forbidden
  else
    skip "a port that the user may not have" "5445 is for everyone"
  fi
  "${SMBD_LIVE%/*}/smbd-gateway" run --server 127.0.0.1:445 >"$OUT/gateway.log" 2>&1 &
  await "$patience" grep -q 'INFO listening' "$OUT/gateway.log" || return
  check "nothing beside a gateway that runs" finds_nothing
}
