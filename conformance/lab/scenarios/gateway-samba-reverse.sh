# shellcheck shell=bash
# shellcheck source=ours-gateway.sh
. "$LAB/scenarios/ours-gateway.sh"
# shellcheck source=ours-reverse.sh
. "$LAB/scenarios/ours-reverse.sh"
about="a client over TCP, smbd-gateway reverse, smbd-gateway run, and Samba: SMB Direct is between the two"
guests=1
limit=900
whole=yes
long=yes

scenario() {
  with_samba || return 0
  ip link set lo up && samba_start && rdma_loopback "$KIND" 1024 && start_gateway && start_reverse || return
  with_mount vers=3.1.1 "4096 65536 1044480 4194304"
  check "data went by RDMA out of one" \
    await "$patience" reverse_log 'client ended .*session=rdma.* rdma_in=[1-9][0-9]* rdma_out=[1-9]'
  check "and into the other" \
    await "$patience" gateway_log 'client ended .*session=rdma.* rdma_in=[1-9][0-9]* rdma_out=[1-9]'
  with_smbclient
  with_mount vers=3.1.1,seal
  check "an encrypted session passes through both" \
    await "$patience" gateway_log 'session=encrypted no_rdma="its session is encrypted.* rdma_in=0 rdma_out=0'
}
