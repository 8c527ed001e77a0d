# shellcheck shell=bash
# Packages of a suite that is not among this machine's sources, for example of backports. Sourced behind host.sh; needs no root.

# Options of apt-get and apt-cache: the machine's own state until suite_open. Not as apt's own user, who may have no way into the cache.
apt_options=(-o APT::Sandbox::User=root)

# release_name    of this machine, for example bookworm
release_name() { sed -nE 's/^VERSION_CODENAME="?([^"]*)"?$/\1/p' /etc/os-release; }

# suite_open SUITE FOLDER    from here on `apt_options` are those of a state in a new FOLDER, which knows the packages of this suite and
# no others. Its sources are this machine's own of its release with the other suite, and its keys are this machine's.
suite_open() {
  local suite=$1 folder=$2 option
  mkdir -p "$folder"/{sources,state/lists/partial,cache/archives/partial} && : >"$folder/installed" || return
  suite_sources "$suite" "$folder/sources"
  apt_options=(-o APT::Sandbox::User=root)
  for option in Dir::Etc::sourcelist=/dev/null "Dir::Etc::sourceparts=$folder/sources" "Dir::State=$folder/state" \
    "Dir::State::status=$folder/installed" "Dir::Cache=$folder/cache" Dir::Etc::preferences=/dev/null \
    Dir::Etc::preferencesparts=/dev/null Acquire::AllowInsecureRepositories=false Acquire::AllowWeakRepositories=false \
    Acquire::AllowDowngradeToInsecureRepositories=false APT::Get::AllowUnauthenticated=false; do
    apt_options+=(-o "$option")
  done
  # What could not be read is a warning of apt's, unless it is asked.
  apt-get "${apt_options[@]}" -q --error-on=any update >"$folder/log" 2>&1 || die "the suite $suite cannot be read from the sources of this
machine (if a key is what is missing, upgrade debian-archive-keyring):
$(grep -E '^[EW]:' "$folder/log" || tail -n 3 "$folder/log")"
}

# suite_sources SUITE FOLDER    writes the machine's sources of its release into the folder, with this suite instead. What need not be
# signed there has to be here.
suite_sources() {
  local suite=$1 folder=$2 release list parts file
  release=$(release_name)
  [ -n "$release" ] || die "/etc/os-release does not name the release (VERSION_CODENAME), so its sources cannot be told from others"
  eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
  for file in "$list" "$parts"*.list; do
    [ ! -f "$file" ] || awk -v release="$release" -v suite="$suite" "$suite_of_lines" "$file" >"$folder/${file##*/}"
  done
  for file in "$parts"*.sources; do
    [ ! -f "$file" ] || awk -v release="$release" -v suite="$suite" "$suite_of_stanzas" "$file" >"$folder/${file##*/}"
  done
  grep -qrs . "$folder" || die "apt has no source of $release here that one of $suite could be made from: neither in $list nor in $parts"
}

# shellcheck disable=SC2016 # the variables are those of awk
# Of `deb [OPTION=VALUE ...] URI SUITE COMPONENT ...`
suite_of_lines='
  $1 == "deb" {
    at = 3
    if ($2 ~ /^\[/) {
      for (last = 2; last < NF && $last !~ /\]$/; last++);
      at = last + 2
      for (i = 2; i <= last; i++) gsub(/(trusted|allow-insecure|allow-weak|allow-downgrade-to-insecure)=[a-z]*/, "", $i)
    }
    if ($at == release || $at ~ /^(old)*stable$/) { $at = suite; sub(/\[ *\] /, ""); print }
  }'

# shellcheck disable=SC2016 # the same
# Of paragraphs `FIELD: VALUE ...` with lines that go on
suite_of_stanzas='
  function flush(   i, count, words, is_of_release) {
    count = split(suites, words)
    for (i = 1; i <= count; i++) if (words[i] == release || words[i] ~ /^(old)*stable$/) is_of_release = 1
    if (is_of_release && is_of_packages && !is_off) printf "%sTypes: deb\nSuites: %s\n\n", rest, suite
    suites = rest = field = ""
    is_of_packages = is_off = 0
  }
  /^#/ { next }
  /^[ \t]*$/ { flush(); next }
  /^[^ \t]/ { field = tolower($0); sub(/[ \t]*:.*/, "", field) }
  {
    value = $0
    if (value !~ /^[ \t]/) sub(/^[^:]*:/, "", value)
  }
  field == "suites" { suites = suites " " value; next }
  field == "types" { if ((" " value " ") ~ /[ \t]deb[ \t]/) is_of_packages = 1; next }
  field == "enabled" && tolower(value) ~ /^[ \t]*(no|false|off|0|without|disable)[ \t]*$/ { is_off = 1 }
  field ~ /^(trusted|allow-insecure|allow-weak|allow-downgrade-to-insecure)$/ { next }
  { rest = rest $0 "\n" }
  END { flush() }'
