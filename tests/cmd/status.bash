# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# status: a place of its own for a test that forges status segments.
#
# Load it from a bats suite in this directory and call place_make in setup(),
# place_end in teardown().

bats_require_minimum_version 1.5.0
: "${SMC_R_TOP:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${SMC_R_BUILD:=$SMC_R_TOP/build}"
PATH=$SMC_R_BUILD/bin:$PATH
forge_program=$SMC_R_BUILD/obj/plain/tests/cmd/forge_status

# Numbers of processes, for the suites that load this file.
living='' dead='' user_dir=''

place_make() {
	export ODMDIR=$BATS_TEST_TMPDIR/odm
	export SMC_R_RUNDIR=$BATS_TEST_TMPDIR/run
	mkdir -p "$ODMDIR"
	make_user 000000
	unset SMC_R SMC_R_REPORTER
	place_pids=
}

# The directory of a user, in $user_dir.
make_user() { # number of the directory [, number of the user]
	user_dir=$SMC_R_RUNDIR/users/$1
	mkdir -p "$user_dir/status"
	chmod 711 "$user_dir"
	chmod 700 "$user_dir/status"
	[ -z "${2-}" ] || chown -R "$2:$2" "$user_dir"
}

# A place that other users can reach, as /run/smc_r is.
place_make_public() {
	place_public=$(mktemp -d /tmp/smc_r.XXXXXX)
	export SMC_R_RUNDIR=$place_public/run
	make_user 000000
	chmod 755 "$place_public" "$SMC_R_RUNDIR"
	chmod 1733 "$SMC_R_RUNDIR/users"
	cp "$SMC_R_BUILD/bin/entstat" "$place_public"
}

# as_stranger WORDS...: run as a user without rights, with a copy of entstat.
as_stranger() {
	(cd / && setpriv --reuid 12345 --regid 12345 --clear-groups \
		env ODMDIR=/ PATH="$place_public:$PATH" "$@")
}

place_end() {
	local pid
	[ -z "${place_public-}" ] || rm -rf "$place_public"
	for pid in $place_pids; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# A process that does nothing; its number is in $living.
start_living() {
	sleep 300 3>&- &
	living=$!
	place_pids="$place_pids $living"
}

# The number of a process that is no more, in $dead.
make_dead() {
	true &
	dead=$!
	wait "$dead"
}

# publish [ENABLED [ADDRESSES [PORTS [EXCLUDED]]]]: what mkdev publishes.
publish() {
	cat >"$SMC_R_RUNDIR/smc_r0" <<-EOT
		smc_r0 version 1
		generation 1
		enabled ${1-1}
		ip_addr_list${2- 127.0.0.1}
		max_memory_bytes 67108864
		port_range_list${3- 7000-7010}
		system_preload 0
		exclude_list${4-}
		end
	EOT
}

# forge <<orders: a segment or totals; prints its path.
forge() {
	"$forge_program" "${user_dir:-$SMC_R_RUNDIR/users/000000}"
}

segments() {
	find "$SMC_R_RUNDIR"/users/*/status -name '[1-9]*' | wc -l
}

has_line() {
	printf '%s\n' "$output" | grep -qFx -- "$1" || {
		printf 'no line "%s" in:\n%s\n' "$1" "$output"
		return 1
	}
}

has() {
	case $output in
	*"$1"*) ;;
	*)
		printf 'no "%s" in:\n%s\n' "$1" "$output"
		return 1
		;;
	esac
}

lacks() {
	case $output in
	*"$1"*)
		printf '"%s" is in:\n%s\n' "$1" "$output"
		return 1
		;;
	esac
}
