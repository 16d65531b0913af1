#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# install-deps: bring in the Debian packages that a make target needs.
#
# usage: tests/install-deps.sh [-n] [demo|check|check-long|check-kernel|check-model|lint]...
#
# The build's packages (debian/control) are always included. -n only prints
# what is missing. One dpkg-query when nothing is. As root, or where sudo asks
# no password, the missing ones are installed and no service of theirs is
# started; otherwise the one command to run is printed and the exit is 1. Nothing
# is ever removed for them: of alternatives (a | b) the first is installed where
# none is there, or is provided by what is there.
#
# Lists of packages are split at blanks on purpose.
# shellcheck disable=SC2086
set -eu
cd "$(dirname "$0")/.."

dry=
if [ "${1-}" = -n ]; then
	dry=1
	shift
fi

# Prints the packages of one field, without versions and profiles, alternatives
# as one word (a|b).
packages() { # file, paragraph's first line, field
	awk -v first="$2" -v field="$3" '
	/^#/ { next }
	/^[^ ]/ { in_field = 0 }
	$0 == first { here = 1 }
	/^$/ { here = 0 }
	here && index($0, field ":") == 1 {
		in_field = 1
		sub(/^[^:]*:/, "")
	}
	in_field { print }' "$1" | tr ',' '\n' |
		sed 's/([^)]*)//g; s/\[[^]]*\]//g; s/<[^>]*>//g
			s/[[:blank:]]//g; /^$/d; /^\$/d'
}

wanted=$(packages debian/control 'Source: smc-r' Build-Depends)
for target in "$@"; do
	more=$(packages debian/tests/control "Test-Command: make $target" Depends)
	if [ -z "$more" ]; then
		echo "$0: debian/tests/control has no list for '$target'" >&2
		exit 2
	fi
	wanted="$wanted $more"
done

if ! command -v dpkg-query >/dev/null; then
	echo "install-deps: this is no Debian; what Debian calls" $wanted \
		"must be there" >&2
	exit 0
fi

# What is installed, and what that provides; then, behind an empty line, what is
# wanted. ${db:Status-Status} is "installed" for what is there.
missing=$({
	dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' |
		sed -n 's/^installed //p' | tr ',' '\n' |
		sed 's/(.*//; s/ //g; /^$/d'
	echo
	printf '%s\n' $wanted | sort -u
} | awk '
	!wanted && /^$/ { wanted = 1; next }
	!wanted { have[$0]; next }
	{
		n = split($0, names, "|")
		for (i = 1; i <= n; i++)
			if (names[i] in have)
				next
		print names[1]
	}')
[ -n "$missing" ] || exit 0

if [ -n "$dry" ]; then
	printf '%s\n' $missing
	exit 0
fi

install="apt-get install -y --no-remove --no-install-recommends"
# Another apt may be at work; wait for it instead of failing.
wait="-o DPkg::Lock::Timeout=300"
if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
else
	{
		echo "install-deps: packages are missing. Run this once, as root:"
		echo "  $install" $missing
	} >&2
	exit 1
fi

# Packages of servers start them when they are installed, unless this file
# says no. One that is there already is the administrator's and stays.
policy=/usr/sbin/policy-rc.d
made_policy=
cleanup() {
	[ -z "$made_policy" ] || $as_root rm -f "$policy"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
	made_policy=1
	$as_root chmod 755 "$policy"
fi

echo "install-deps: installing" $missing
get() {
	$as_root env DEBIAN_FRONTEND=noninteractive $install $wait $missing \
		>build/install-deps.log 2>&1
}
mkdir -p build
if ! get; then
	# Old package lists are the usual reason.
	$as_root apt-get update -q >build/install-deps.update.log 2>&1 || true
	if ! get; then
		echo "install-deps: these packages are missing, and apt-get" \
			"could not get them (build/install-deps.log, and is" \
			"there a network?):" $missing >&2
		exit 1
	fi
fi
