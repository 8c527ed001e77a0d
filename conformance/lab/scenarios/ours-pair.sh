# shellcheck shell=bash
about="smbd-verbs in two guests, with itself, cifs and ksmbd, captured"
native="siw rxe"
guests=2
limit=900
whole=yes

# A message of the connection manager that meets a link that is down puts rxe's queue pair 1 into the error state, and
# nothing takes it out again: until the device is made anew, no connection comes up.
mend() {
  [ "$KIND" = rxe ] || return 0
  rdma link delete "$RDMA_DEVICE" && rdma link add "$RDMA_DEVICE" type rxe netdev "$NETDEV" &&
    await "$patience" port_is_active "$RDMA_DEVICE" && await_host "$PEER"
}

scenario() {
  local status=0
  rdma_link "$KIND" 4096 || return
  kernel_log
  if [ "$LAB_SIDE" = a ]; then capture_start ours || return; fi
  meet ready || return
  live pair pair::ours pair::cifs || status=1
  # ksmbd comes after cifs: on iWARP it takes the port that cifs tries first.
  if [ "$LAB_SIDE" = a ]; then ksmbd_start || status=1; fi
  meet server || return
  if [ "$LAB_SIDE" = b ]; then live pair pair::ksmbd || status=1; fi
  meet captured || return
  if [ "$LAB_SIDE" = a ]; then
    capture_stop || status=1
    "$SMBD_LIVE" captured "$OUT/ours.pcap" /out/b/numbers || status=1
  fi
  meet uncaptured || return
  # Last, and not in the capture: what is cut off has no end there.
  live pair pair::cut::link_down || status=1
  meet cut || return
  if [ "$LAB_SIDE" = b ]; then mend || status=1; fi
  live pair pair::cut::link_up || status=1
  meet finished || status=1
  return "$status"
}
