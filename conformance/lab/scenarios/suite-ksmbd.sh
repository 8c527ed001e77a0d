# shellcheck shell=bash
about="the conformance suite against ksmbd, held against what is known of it"
guests=1
limit=3000
long=yes
resumes=suite

# shellcheck source=../files.sh
. "$LAB/files.sh"

scenario() {
  rdma_loopback "$KIND" 1024 && second_interface && NETDEV="$NETDEV lab2" ksmbd_start && kernel_log || return
  export SMBD_PASSWORD=test123
  suite --profile "linux-$(linux_known)" --connect "$ADDRESS:$KSMBD_PORT" --share share --user tester --tcp 10.9.1.9:445 --tcp "$ADDRESS:445"
}
