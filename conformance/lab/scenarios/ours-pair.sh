# shellcheck shell=bash
about="smbd-verbs in two guests, with a capture"
guests=2
limit=120
live=yes

scenario() {
  local status=0
  rdma_link "$KIND" 4096 || return
  if [ "$LAB_SIDE" = a ]; then capture_start ours || return; fi
  meet ready || return
  live pair || status=1
  meet finished || return
  if [ "$LAB_SIDE" = a ]; then capture_stop || status=1; fi
  return "$status"
}
