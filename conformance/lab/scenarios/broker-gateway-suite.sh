# shellcheck shell=bash
# shellcheck source=gateway-suite.sh
. "$LAB/scenarios/gateway-suite.sh"
about="the conformance suite against smbd-gateway on smbd-broker, in front of Samba"
guests=1
limit=3000
long=yes
resumes=suite
# shellcheck disable=SC2034
has_broker=true
