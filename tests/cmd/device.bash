# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034
# device: a database and a run directory of its own for a test of the device
# commands.
#
# Load it from a bats suite in this directory and call device_setup in setup(),
# device_teardown in teardown().

load status

database=''

device_setup() {
	export ODMDIR=$BATS_TEST_TMPDIR/odm
	export SMC_R_RUNDIR=$BATS_TEST_TMPDIR/run
	export SMC_R_LDPRELOAD_FILE=$BATS_TEST_TMPDIR/ld.so.preload
	export SMC_R_LOCK_WAIT=200
	unset SMC_R_CONFDIR SMC_R_LIBRARY SMC_R_VERBOSE SMC_R
	database=$ODMDIR/attr.db
	place_pids=
}

# Whatever state the test left: no BPF program may stay behind.
device_teardown() {
	local pid
	for pid in $place_pids; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	if [ -d "$SMC_R_RUNDIR" ]; then
		export ODMDIR=$BATS_TEST_TMPDIR/end
		mkdev -q -c tcpip -t smc_r || true
		rmdev -q -dl smc_r0 || true
	fi
	[ -z "${device_public-}" ] || rm -rf "$device_public"
}

make_device() {
	mkdev -q -c tcpip -t smc_r "$@"
}

# What the database and the run directory hold, as text.
picture() {
	odmget CuDv
	odmget CuAt
	lsattr -E -l smc_r0 -F "attribute value configured running" 2>&1
	cat "$SMC_R_RUNDIR/smc_r0" 2>&1
	od -An -tu8 -N8 "$SMC_R_RUNDIR/generation" 2>&1
	cat "$SMC_R_LDPRELOAD_FILE" 2>&1
	return 0
}

# The value of one line of the snapshot.
published() { # field
	sed -n "s/^$1 \\{0,1\\}//p" "$SMC_R_RUNDIR/smc_r0"
}

stored() { # attribute
	lsattr -E -l smc_r0 -a "$1" -F value
}

# refused COMMAND...: it fails, says something on standard error only, and
# changes nothing. The words are in $output.
refused() {
	local before after
	before=$(picture)
	run --separate-stderr "$@"
	[ "$status" -eq 1 ] || {
		printf 'exit %s: %s\n%s\n' "$status" "$output" "$stderr"
		return 1
	}
	[ -z "$output" ]
	output=$stderr
	[ -n "$output" ]
	after=$(picture)
	[ "$before" = "$after" ] || {
		diff <(printf '%s\n' "$before") <(printf '%s\n' "$after")
		return 1
	}
}

# Messages are folded, and where depends on the names in them: words may be in
# $output as they are, or with its lines joined.
has() {
	case $output in
	*"$1"*) return 0 ;;
	esac
	case $(printf '%s' "$output" | tr -s ' \n\t' ' ') in
	*"$1"*) ;;
	*)
		printf 'no "%s" in:\n%s\n' "$1" "$output"
		return 1
		;;
	esac
}

# says COMMAND...: it succeeds without a word on standard error.
says() { # words, command...
	local words=$1
	shift
	run --separate-stderr "$@"
	printf 'exit %s\n%s\n%s\n' "$status" "$output" "$stderr"
	[ "$status" -eq 0 ]
	[ "$output" = "$words" ]
	[ -z "$stderr" ]
}

# A place that a user without rights can reach, with the commands in it.
device_make_public() {
	[ ! -e "$SMC_R_RUNDIR" ] || rmdev -q -dl smc_r0
	device_public=$(mktemp -d /tmp/smc_r.XXXXXX)
	chmod 755 "$device_public"
	export ODMDIR=$device_public/odm SMC_R_RUNDIR=$device_public/run
	export SMC_R_LDPRELOAD_FILE=$device_public/ld.so.preload
	database=$ODMDIR/attr.db
	mkdir -p "$device_public/build/bin" "$device_public/conf"
	cp "$SMC_R_BUILD"/bin/{mkdev,rmdev,chdev,lsattr,lsdev,odmget} \
		"$device_public/build/bin"
	cp "$SMC_R_TOP"/conf/*.stanza "$device_public/conf"
}

# The copies again, as the property of the user that as_nobody is.
device_make_nobodys() {
	device_make_public
	[ "$(id -u)" -ne 0 ] || chown 12345 "$device_public"
}

# as_nobody COMMAND...: as a user without rights, with those copies. A user
# without rights stays the same one.
as_nobody() {
	if [ "$(id -u)" -ne 0 ]; then
		(cd / && env PATH="$device_public/build/bin:$PATH" "$@")
		return
	fi
	(cd / && setpriv --reuid 12345 --regid 12345 --clear-groups \
		env PATH="$device_public/build/bin:$PATH" "$@")
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
}
