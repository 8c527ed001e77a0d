# shellcheck shell=bash
# Runs in the guest: a part of `performance`.
# Programs are run from the guest's memory: their pages are not to be fetched from this machine while something is measured.
mkdir -p /run/programs && cp "$PROGRAMS"/smbd-{live,perf,echo,ping,gateway,cp,serve,broker} /run/programs && PROGRAMS=/run/programs || exit 126
. "$LAB/lib.sh"
. "$LAB/measure/ways.sh"
. "$1"
