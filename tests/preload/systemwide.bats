#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# systemwide: with system_preload=1 a host does its chores as before, and what
# matches is on SMC without anybody asking for it.
# limit: 400

load smc
load ../cmd/safe
# shellcheck disable=SC2154 # set by smc.bash
: "${smc_new-}"

setup_file() {
	smc_device
	export DAY=$SMC_PLACE/day
	mkdir -p "$DAY"
	smc_counters >"$DAY/before"
	"$BATS_TEST_DIRNAME/systemwide.sh" "$DAY" >"$DAY/log" 2>&1 ||
		echo $? >"$DAY/failed"
	smc_counters >"$DAY/after"
}

setup() {
	[ "$(id -u)" = 0 ] || skip "only root may have an /etc of its own"
	need_safe "$SMC_R_BUILD"
	[ "$(cat "$DAY/failed" 2>/dev/null)" != 77 ] ||
		skip "no overlay file system"
	if [ -e "$DAY/failed" ]; then
		cat "$DAY/log"
		return 1
	fi
}

# What it printed, the words of the loader on stderr too, is the same.
as_before() { # chore
	cat "$DAY/$1.plain"
	diff "$DAY/$1.plain" "$DAY/$1.smc"
	grep -qx 'exit 0' "$DAY/$1.smc"
}

@test "the switch is on while it is on" {
	[ "$(cat "$DAY/loaded")" -ge 1 ]
	grep -q '/libsmc_r.so$' "$DAY/file.on"
	grep -q '/libm.so.6$' "$DAY/file.on"
	diff "$DAY/file.before" "$DAY/file.off"
}

@test "a device that is only Defined leaves nothing in the file" {
	diff "$DAY/file.before" "$DAY/file.defined"
	grep -q libsmc_r "$DAY/file.available"
}

@test "a shell session" {
	as_before shell_session
}

@test "a cron-like job" {
	as_before cron_like
}

@test "compilers, a static program" {
	as_before compiler
}

@test "git" {
	as_before git_server
}

@test "apt and dpkg" {
	as_before package_manager
}

@test "another user, a setuid program" {
	as_before other_user
}

@test "perl, python, awk" {
	as_before interpreters
}

# A chore that "make check" leaves out.
long() { # chore
	[ -n "${SMC_R_LONG-}" ] || skip "long: make check-long"
	[ -e "$DAY/$1.smc" ] || skip "its programs are not installed"
}

# Both ends count, so two for each.
on_smc() { # chore, connections
	echo "$1: $(cat "$DAY/$1.smc.before" "$DAY/$1.smc.after")"
	[ $(($(cat "$DAY/$1.smc.after") - $(cat "$DAY/$1.smc.before"))) \
		-ge $((2 * $2)) ]
}

# sshd itself is excluded; what runs in its sessions is not.
@test "a session of sshd" {
	long remote_shell
	as_before remote_shell
	[ "$(grep -c '^b2bc7d3f8b652d2e' "$DAY/remote_shell.smc")" = 4 ]
	on_smc remote_shell 1
}

@test "a browser without a window: chromium" {
	long with_chromium
	as_before with_chromium
	grep -q '>588895<' "$DAY/with_chromium.smc"
	on_smc with_chromium 1
}

@test "a browser without a window: firefox" {
	long with_firefox
	as_before with_firefox
	grep -qx 'GET /loaded?588895' "$DAY/with_firefox.smc"
	on_smc with_firefox 1
}

@test "a web server and curl are on SMC, and not with SMC_R=0" {
	as_before file_server
	read -ra before <"$DAY/before"
	read -ra after <"$DAY/after"
	# Both ends count.
	[ $((after[0] - before[0])) -ge 2 ]
	[ $((after[1] - before[1])) -ge 1 ]
}

# The loader has nothing to say, as there is a library for it too.
@test "a program of 32 bits runs as before" {
	[ -e "$DAY/narrow.smc" ] || skip "no program of 32 bits can be made, or run"
	# shellcheck disable=SC2016 # the loader's name
	grep -q '/system/\$LIB/libsmc_r.so$' "$DAY/file.on"
	diff "$DAY/narrow.plain" "$DAY/narrow.smc"
	grep -q '/system/lib.*/libsmc_r.so' "$DAY/narrow.objects"
	grep -qx 'exit 0' "$DAY/narrow.smc"
}

@test "programs run without the library that is named, and the loader says so" {
	cat "$DAY/removed"
	[ "$(grep -c 'libsmc_r.so.*cannot open shared object file.*ignored' \
		"$DAY/removed")" = 1 ]
	grep -qx 'still here' "$DAY/removed"
	grep -qx 'exit 0' "$DAY/removed"
}
