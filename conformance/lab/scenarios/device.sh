# shellcheck shell=bash
about="the devices themselves, with the tools of rdma-core and perftest"
guests=1
limit=120
whole=yes
long=yes

# pair_up SERVER CLIENT    two commands, the server first
pair_up() {
  bash -c "$1" &
  local server=$!
  await "$patience" has_cm_listener && bash -c "$2" && wait "$server"
}
has_cm_listener() { rdma resource show cm_id | grep -q LISTEN; }

scenario() {
  rdma_loopback "$KIND" 4096 || return
  local before
  before=$(rdma_counts)
  if [ "$KIND" = rxe ]; then
    check "path MTU" test "$(path_mtu)" = 4096
  else
    skip "path MTU" "$KIND has none"
  fi
  check "connect and transfer, IPv4" pair_up "timeout 60 rping -s -a $ADDRESS -C 20 -v" "timeout 60 rping -c -a $ADDRESS -C 20"
  check "the kernel has IPv6 (SMBD_LAB_KERNEL may lack it)" has_ipv6
  if has_ipv6; then
    check "connect and transfer, IPv6" pair_up "timeout 60 rping -s -a $ADDRESS6 -C 20" "timeout 60 rping -c -a $ADDRESS6 -C 20"
  else
    skip "connect and transfer, IPv6" "the kernel has no IPv6"
  fi
  check "send" pair_up "timeout 60 ib_send_bw -R -n 500 -s 1364" "timeout 60 ib_send_bw -R -n 500 -s 1364 $ADDRESS"
  check "nothing is left on the device" await "$patience" rdma_is_at "$before"
}
