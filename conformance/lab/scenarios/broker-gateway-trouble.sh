# shellcheck shell=bash
# shellcheck source=gateway-trouble.sh
. "$LAB/scenarios/gateway-trouble.sh"
about="smbd-cp to Samba through smbd-gateway on smbd-broker: 1 GiB in one file, locks of another client, a full disk, Samba and the gateway killed"
guests=1
limit=3600
whole=yes
long=yes
memory=6144
# shellcheck disable=SC2034
has_broker=true
