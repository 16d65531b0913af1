#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# engines: several engines in one program, of several revisions: one serves.

load smc
load ../cmd/safe
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}"

# This build; another one, in a tree of its own, which differs in more than its
# path where make has made it; one that knows of no other engine.
setup_file() {
	smc_device
	export this=$SMC_R_BUILD/lib/libsmc_r.so
	export other=$SMC_PLACE/other/lib/libsmc_r.so
	export older=$programs/preload/older/libsmc_r.so
	export other_run=$SMC_PLACE/other/bin/smc_run
	local built=$SMC_R_BUILD/inject/lib/libsmc_r.so
	mkdir -p "${other%/*}" "${other_run%/*}"
	[ -e "$built" ] || built=$this
	cp "$built" "$other"
	cp "$SMC_R_BUILD/bin/smc_run" "$other_run"
	# A listener that is handed on to a program with an empty environment,
	# which says what its loader was told, and echoes.
	cat >"$SMC_PLACE/heir.py" <<-'END'
		import os, socket, sys
		if len(sys.argv) == 2:
		    s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
		    s.set_inheritable(True)
		    os.execve(sys.executable, [sys.executable, __file__,
		              str(s.fileno()), "heir"], {})
		print(os.environ.get("LD_PRELOAD", "nothing"), flush=True)
		c, _ = socket.socket(fileno=int(sys.argv[1])).accept()
		while data := c.recv(65536):
		    c.sendall(data)
	END
	cat >"$SMC_PLACE/client.py" <<-'END'
		import socket, sys
		c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		for _ in range(50):
		    c.sendall(b"x" * 5000)
		    assert len(c.recv(5000, socket.MSG_WAITALL)) == 5000
		print("echoed")
	END
}

setup() {
	smc_begin
	need redis-server redis-cli redis-benchmark
}

# A server that forks, and its clients: five connections at least.
traffic() { # words before the server --, words before its clients
	local server=()
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	free_port
	start server "${server[@]}" redis-server --port "$port" --save '' \
		--dir "$place"
	await_port "$port"
	[ "$("$@" timeout 30 redis-cli -p "$port" set key value)" = OK ]
	"$@" timeout 30 redis-cli -p "$port" bgsave
	"$@" timeout 30 redis-benchmark -q -p "$port" -n 500 -c 2 -d 2000 -t set
	[ "$("$@" timeout 30 redis-cli -p "$port" get key)" = value ]
	await_true grep -q "saving terminated with success" "$place/server.log"
	stop "$last"
}

@test "two builds, the one first or the other" {
	traffic env LD_PRELOAD="$this:$other" -- env LD_PRELOAD="$other:$this"
	traffic env LD_PRELOAD="$other:$this" -- env LD_PRELOAD="$this:$other"
	all_on_smc 10
}

@test "a revision that knows of no other, before and behind this one" {
	traffic env LD_PRELOAD="$this:$older" -- env LD_PRELOAD="$older:$this"
	traffic env LD_PRELOAD="$older:$this:$other" -- \
		env LD_PRELOAD="$this:$older:$other"
	all_on_smc 10
}

# The loader's own calls apart, a program makes those of one engine.
@test "an engine that stands aside has called nothing" {
	local list
	need strace
	for list in "$this" "$this:$other" "$this:$other:$older"; do
		strace -o "$place/calls" env -i LD_PRELOAD="$list" /bin/true
		sed -n '/^execve("\/bin\/true/,$s/(.*//p' "$place/calls" |
			grep -vxE 'openat|read|pread64|(new)?f?stat(at)?|mmap|mprotect|munmap|close|brk|access' \
				>"$place/calls.${list//[!:]/}"
	done
	diff "$place/calls." "$place/calls.:"
}

@test "smc_run in smc_run of another tree, in chains of exec" {
	traffic smc_run sh -c "exec env A=b $other_run \"\$@\"" - -- \
		"$other_run" sh -c 'exec env A=b smc_run "$@"' -
	all_on_smc 5
}

# Names that a program hears of its libraries; the compiler's run-time library
# ends it where another one is the first.
@test "to a program that looks, engines are the last" {
	need cc
	cat >"$place/list.c" <<-'END'
		#define _GNU_SOURCE
		#include <link.h>
		#include <stdio.h>

		static int say(struct dl_phdr_info *info, size_t n, void *p)
		{
			(void)n, (void)p;
			puts(info->dlpi_name);
			return 0;
		}

		int main(void)
		{
			return dl_iterate_phdr(say, NULL);
		}
	END
	cc -o "$place/list" "$place/list.c"
	LD_PRELOAD="$this:$older:$other" "$place/list" >"$place/names"
	cat "$place/names"
	[ "$(grep -c libsmc_r.so "$place/names")" = 3 ]
	[ "$(tail -n 3 "$place/names" | grep -c libsmc_r.so)" = 3 ]
}

# What follows it on the list is asked all the same, by name.
@test "a library behind several engines is called" {
	need cc
	cat >"$place/behind.c" <<-'END'
		#include <unistd.h>
		int execve(const char *path, char *const a[], char *const e[])
		{
			(void)path, (void)a, (void)e;
			write(1, "behind\n", 7);
			_exit(0);
		}
	END
	cc -shared -fPIC -o "$place/behind.so" "$place/behind.c"
	run env LD_PRELOAD="$this:$other:$place/behind.so" sh -c 'exec true'
	[ "$output" = behind ]
}

@test "-v says which of several engines serves" {
	run smc_run -v true
	[[ $output != *engines* ]]
	run smc_run "$other_run" -v true
	[[ $output == *"of several engines this one serves: $other" ]]
	run smc_run "$other_run" smc_run -v true
	[[ $output == *"of several engines this one serves: $this" ]]
	LD_PRELOAD=$older run "$other_run" -v true
	[[ $output == *"of several engines this one serves: $other" ]]
}

# ---- the switch ----

# With system_preload=1, in an /etc of its own.
under_switch() { # commands
	local status=0
	[ "$(id -u)" = 0 ] || skip "only root may have an /etc of its own"
	need_safe "$SMC_R_BUILD"
	# shellcheck disable=SC2016 # for the shell inside
	"$BATS_TEST_DIRNAME/own_etc.sh" "$place" bash -euc '
		. "$0/smc.bash"
		place=$1
		unset SMC_R_LDPRELOAD_FILE
		'"$(declare -f traffic)"'
		chdev -q -l smc_r0 -a system_preload=1
		trap "chdev -q -l smc_r0 -a system_preload=0" EXIT
		'"$1" "$BATS_TEST_DIRNAME" "$place" || status=$?
	[ "$status" != 77 ] || skip "no overlay file system"
	return "$status"
}

@test "under the switch smc_run of another tree names nothing" {
	# shellcheck disable=SC2016 # for the shell inside
	under_switch '
		"$other_run" sh -c "echo \${LD_PRELOAD-nothing}" >"$place/list"
		traffic "$other_run" -- "$other_run"
		traffic env -- "$other_run"
		"$other_run" -v true 2>"$place/said"'
	[ "$(cat "$place/list")" = nothing ]
	cat "$place/said"
	grep -qxF "smc_run: of several engines this one serves: $this" \
		"$place/said"
	all_on_smc 10
}

@test "under the switch the library that is asked for serves" {
	# shellcheck disable=SC2016 # for the shell inside
	under_switch '
		export SMC_R_LIBRARY=$other
		traffic smc_run -- smc_run
		traffic env LD_PRELOAD="$older" -- "$other_run"
		smc_run -v true 2>"$place/said"'
	cat "$place/said"
	grep -qxF "smc_run: of several engines this one serves: $other" \
		"$place/said"
	all_on_smc 10
}

@test "a host with an older revision in every program" {
	# shellcheck disable=SC2016 # for the shell inside
	under_switch '
		echo "$older" >/etc/ld.so.preload
		traffic smc_run -- "$other_run"
		SMC_R_LIBRARY=$this traffic smc_run -- "$other_run"
		traffic env LD_PRELOAD="$this" -- env LD_PRELOAD="$other"
		smc_run -v true 2>"$place/said"'
	cat "$place/said"
	grep -qxF "smc_run: of several engines this one serves: $older" \
		"$place/said"
	all_on_smc 15
}

@test "a listener is handed on, and the library that the host has is not" {
	free_port
	start heir env LD_PRELOAD="$this:$other" python3 "$SMC_PLACE/heir.py" \
		"$port"
	await_port "$port"
	[ "$(smc_run python3 "$SMC_PLACE/client.py" "$port")" = echoed ]
	[ "$(cat "$place/heir.log")" = "$this" ]
	all_on_smc 1
	# shellcheck disable=SC2016 # for the shell inside
	under_switch '
		free_port
		start heir env LD_PRELOAD="$other" python3 "$SMC_PLACE/heir.py" \
			"$port"
		await_port "$port"
		"$other_run" python3 "$SMC_PLACE/client.py" "$port" >"$place/said"'
	[ "$(cat "$place/said")" = echoed ]
	[ "$(cat "$place/heir.log")" = nothing ]
	all_on_smc 2
}
