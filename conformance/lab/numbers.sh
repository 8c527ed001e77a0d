# shellcheck shell=bash
# What gateway-numbers, client-numbers and broker-numbers have in common: options, programs, a guest for each kind of device, tables.
# Whoever sources this has defined `usage`, and set:
#   name       of the files in docs/benchmarks and of the page in docs
#   needed     the programs that are looked for
#   packages   what is built, as arguments of cargo
#   ways       how many measurements a cell has
#   script     what runs in the guest
#   sizes      of operations, unless others are asked for (optional)
# shellcheck disable=SC2154

sizes=${sizes:-4096,65536,1048576,4194304}

# What all take.
numbers_options() {
  cat <<'TEXT'
  --kind siw|rxe    the kind of device (default: both, one after the other)
  --rounds N        how many times each is measured (default 5)
  --seconds S       the least time of one measurement (default 1)
TEXT
  echo "  --sizes LIST      bytes of an operation (default $sizes)"
  cat <<'TEXT'
  --at-once LIST    operations at the same time (default 1,8)
  --time SECONDS    the guest is ended after that (default: by what there is to measure)
  --steady          in guests in which instructions are the time: see `guest --help`
  --programs DIR    takes the programs in DIR, and builds nothing
TEXT
  cat <<TEXT
  --write           puts the numbers into docs/benchmarks and the tables into docs/$name.md
  --tables          measures nothing: the tables of the numbers in docs/benchmarks, into docs/$name.md

exit status: 0 if all goals were reached, 1 if not, 2 wrong usage, 126 the lab could not be used
TEXT
}

kinds=(siw rxe) rounds=5 seconds=1 at_once=1,8 limit='' programs='' write=false measures=true
steady=() pace=''
while [ $# -gt 0 ]; do
  case "$1" in
    --help | -h) usage && exit 0 ;;
    --kind)
      case "${2:-}" in
        siw | rxe) kinds=("$2") ;;
        *) die "--kind needs siw or rxe, not '${2:-}'" "$status_usage" ;;
      esac
      shift 2
      ;;
    --rounds) need_number "$1" "${2:-}" && rounds=$2 && shift 2 ;;
    --seconds) seconds=${2:?--seconds needs a number} && shift 2 ;;
    --sizes) sizes=${2:?--sizes needs a list} && shift 2 ;;
    --at-once) at_once=${2:?--at-once needs a list} && shift 2 ;;
    --time) need_number "$1" "${2:-}" && limit=$2 && shift 2 ;;
    --steady) steady=(--steady) pace=-steady && shift ;;
    --programs) programs=$(realpath "${2:?--programs needs a folder}") && shift 2 ;;
    --write) write=true && shift ;;
    --tables) measures=false && shift ;;
    *) die "unknown argument $1; see --help" "$status_usage" ;;
  esac
done
checkout=$(cd "$lab/../.." && pwd)
page=$checkout/docs/$name.md

if [ -z "$programs" ]; then
  # A steady guest is a virtual machine.
  if [ -n "$pace" ]; then export SMBD_LAB_MACHINE=qemu; fi
  "$lab/setup" >&2
  (cd "$checkout" && cargo build --release --locked --bins "${packages[@]}")
  programs=$(cd "$checkout" && cargo metadata --no-deps --locked --format-version 1 |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
fi
for program in "${needed[@]}"; do
  "$programs/$program" --help >/dev/null || die "$programs/$program is missing or does not run on this machine"
done

# A measurement lasts for its least time, what is under way then, and the start of a program or of threads.
count() { awk -F , '{ print NF }' <<<"$1"; }
cells=$((2 * $(count "$sizes") * $(count "$at_once")))
# Their seconds are longer than this machine's.
[ -z "$pace" ] || [ -n "$limit" ] || limit=7200
[ -n "$limit" ] || limit=$(awk "BEGIN { print int(300 + $rounds * $cells * $ways * ($seconds + 2)) }")

file=$(mktemp)
trap 'rm -f "$file" "$file".*' EXIT
# Programs are run from the guest's memory: to wait for this machine's disk takes a steady guest to its next timer, and with it to timeouts.
{
  echo "mkdir -p /run/programs && cp $(printf '"$PROGRAMS/%s" ' "${needed[@]}")/run/programs && PROGRAMS=/run/programs || exit 126"
  echo "$script"
} >"$file"

# numbers_of KIND    the file that is kept
numbers_of() { echo "$checkout/docs/benchmarks/$name-$1$pace.json"; }

status=0
for kind in "${kinds[@]}"; do
  numbers=$(numbers_of "$kind")
  if $measures; then
    out=$(new_folder)
    ended=0
    "$lab/guest" ${steady[@]+"${steady[@]}"} --out "$out" --time "$limit" --env "KIND=$kind" --env "PROGRAMS=$programs" --env "ROUNDS=$rounds" \
      --env "SECONDS_EACH=$seconds" --env "SIZES=$sizes" --env "AT_ONCE=$at_once" "$file" >&2 || ended=$?
    say "files: $out"
    # What was measured before a guest ended is worth its tables; it is not kept.
    [ -f "$out/numbers.json" ] || exit "$ended"
    if [ "$ended" = 0 ] && $write; then cp "$out/numbers.json" "$numbers"; else numbers=$out/numbers.json; fi
    [ "$ended" = 0 ] || status=$ended
  fi
  reached=0
  "$programs/smbd-live" numbers-table "$numbers" >"$file.table" || reached=$?
  [ "$reached" = 0 ] || status=$reached
  cat "$file.table"
  if $write || ! $measures; then put_table "$page" "$kind$pace" "$file.table"; fi
done
exit "$status"
