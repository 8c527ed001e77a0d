# shellcheck shell=bash
about="the conformance suite against smbd-core over this device"
guests=1
limit=1200
long=yes

scenario() {
  rdma_loopback "$KIND" 4096 || return
  "${SMBD_LIVE%/*}/smbd-conformance" run --target verbs --address "$ADDRESS" --no-timers >"$OUT/suite.txt" 2>&1
  local status=$?
  grep -v '^plays: ' "$OUT/suite.txt" | cat
  # As the others count: cases that were played.
  sed -nE 's/^cases: ([0-9]+) passed, ([0-9]+) failed.*/\1 passed, \2 failed/p' "$OUT/suite.txt"
  return "$status"
}
