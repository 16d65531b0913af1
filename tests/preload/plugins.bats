#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 600
# plugins: libraries that are loaded with RTLD_DEEPBIND and use a connection
# that their program made before.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${smc_new-}"

# Bound when they are loaded and at the first call; by a name that the run path
# of the program leads to; with a library that has a recv() of its own.
setup_file() {
	smc_device
	command -v cc >/dev/null || return 0
	local part=$BATS_TEST_DIRNAME/plugin_part.c how n
	cd "$SMC_PLACE" || return 1
	export plugins=$SMC_PLACE/plugins
	mkdir plugins
	for n in 1 2 3; do
		cc -fPIC -shared -Wl,-z,now -o "plugins/now$n.so" "$part"
		cc -fPIC -shared -Wl,-z,lazy -o "plugins/lazy$n.so" "$part"
	done
	cc -fPIC -shared -DOWN_RECV -o plugins/libown.so "$part"
	for how in now lazy; do
		cc -fPIC -shared -Wl,-z,$how -o "plugins/own_$how.so" "$part" \
			-Lplugins -Wl,--no-as-needed -lown \
			-Wl,-rpath,"$plugins"
	done
}

setup() {
	smc_begin
	need cc
}

both_ways() { # what it says, its words...
	local said=$1
	shift
	run timeout 60 "$programs/preload/plugin" "$@"
	[ "$output" = "$said" ]
	run timeout 60 smc_run "$programs/preload/plugin" "$@"
	echo "$output"
	[ "$output" = "$said" ]
	smc_count
	[ "$smc_new" -ge 2 ]
}

@test "a plugin that is bound when it is loaded, and is read-only after it" {
	both_ways "0123456789 r--p" now "$plugins/now1.so"
}

@test "a plugin that is bound at its first calls" {
	both_ways "0123456789 r--p" lazy "$plugins/lazy1.so"
}

@test "one that is found where the loader looks for libraries" {
	LD_LIBRARY_PATH=$plugins both_ways "0123456789 r--p" now now1.so
}

@test "functions that a plugin brings along stay its own" {
	both_ways "O123456789 r--p" now "$plugins/own_now.so"
	both_ways "O123456789 r--p" lazy "$plugins/own_lazy.so"
}

@test "threads that load, use and unload plugins" {
	both_ways well storm "$plugins"/now?.so "$plugins"/lazy?.so
}

@test "a name that only the run path of the program leads to" {
	cat >"$place/main.c" <<-'EOT'
		#include <dlfcn.h>
		int main(int argc, char **argv)
		{
			return !argc || !dlopen(argv[1], RTLD_NOW) ||
			       !dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
		}
	EOT
	cc -o "$place/main" "$place/main.c" -Wl,-rpath,"$plugins"
	smc_run "$place/main" now1.so
	cc -o "$place/main" "$place/main.c"
	! smc_run "$place/main" now1.so || false
}
