# shellcheck shell=bash
about="the conformance suite against smbd-serve"
guests=1
limit=3000
long=yes
resumes=suite

# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-serve" ] || { skip "smbd-serve" "it is not among the programs" && return; }
  # Connections of earlier cases may be there for a minute on rxe. Guests are let in for the cases that want no user.
  rdma_loopback "$KIND" 1024 && second_interface &&
    serve --listen tcp:10.9.1.9:445 --guest --connections 1000 --memory 24576 || return
  export SMBD_PASSWORD=test123
  suite --no-timers --connect "$ADDRESS:$(ksmbd_port)" --share share --user tester --tcp 10.9.1.9:445 --tcp "$ADDRESS:445"
}
