#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# smc_run: the environment it makes, how programs end, and the verdict.

load status
# shellcheck disable=SC2154 # set by status.bash
: "${living-}" "${forge_program-}" "${user_dir-}"

setup() {
	place_make
	# Any shared object that may be loaded will do.
	export SMC_R_LIBRARY=$BATS_TEST_TMPDIR/libempty.so
	unset LD_PRELOAD
	if [ ! -e "$BATS_FILE_TMPDIR/libempty.so" ]; then
		echo 'int empty;' >"$BATS_FILE_TMPDIR/empty.c"
		"${CC:-gcc}" -shared -fPIC -o "$BATS_FILE_TMPDIR/libempty.so" \
			"$BATS_FILE_TMPDIR/empty.c"
	fi
	cp "$BATS_FILE_TMPDIR/libempty.so" "$SMC_R_LIBRARY"
}

teardown() {
	place_end
}

# A program that forges what an engine in it would have counted. Orders are
# read from the file $1; PID stands for the program's own number.
make_program() {
	cat >"$BATS_TEST_TMPDIR/program" <<-EOT
		#!/bin/sh
		{
			echo segment \$\$
			echo reporter \$SMC_R_REPORTER
			cat "$BATS_TEST_TMPDIR/orders"
		} | env -u LD_PRELOAD "$forge_program" "$user_dir" >/dev/null
		exit \${1:-0}
	EOT
	chmod +x "$BATS_TEST_TMPDIR/program"
	cat >"$BATS_TEST_TMPDIR/orders"
	program=$BATS_TEST_TMPDIR/program
}

@test "the library is loaded, and the program's exit is ours" {
	# shellcheck disable=SC2016
	run smc_run sh -c 'echo "$LD_PRELOAD"; exit 7'
	[ "$status" -eq 7 ]
	[ "$output" = "$SMC_R_LIBRARY" ]
	run smc_run sh -c 'grep -c libempty.so /proc/self/maps'
	[ "$status" -eq 0 ]
	[ "$output" -gt 0 ]
}

@test "what is in LD_PRELOAD stays, behind ours, and ours comes once" {
	cp "$SMC_R_LIBRARY" "$BATS_TEST_TMPDIR/other.so"
	# shellcheck disable=SC2016
	LD_PRELOAD=$BATS_TEST_TMPDIR/other.so run smc_run sh -c 'echo "$LD_PRELOAD"'
	[ "$output" = "$SMC_R_LIBRARY:$BATS_TEST_TMPDIR/other.so" ]
	# shellcheck disable=SC2016
	run smc_run smc_run sh -c 'echo "$LD_PRELOAD"'
	[ "$output" = "$SMC_R_LIBRARY" ]
}

@test "without -v the program takes the place of smc_run" {
	smc_run sleep 300 3>&- &
	place_pids=$!
	for _ in $(seq 100); do
		[ "$(cat "/proc/$place_pids/comm")" != sleep ] || break
		sleep 0.05
	done
	[ "$(cat "/proc/$place_pids/comm")" = sleep ]
}

@test "options end at the command, and at --" {
	run smc_run echo -v -h
	[ "$output" = "-v -h" ]
	run smc_run -- echo -v
	[ "$output" = "-v" ]
	run smc_run -h
	[ "$status" -eq 0 ]
	has "Usage: smc_run"
	for words in "" "-v" "-x true"; do
		# shellcheck disable=SC2086
		run smc_run $words
		[ "$status" -eq 125 ]
		has "Usage: smc_run"
	done
}

@test "a library that is missing is an error, and nothing runs" {
	local library=$BATS_TEST_TMPDIR/none.so
	SMC_R_LIBRARY=$library run smc_run touch "$BATS_TEST_TMPDIR/ran"
	[ "$status" -eq 125 ]
	has "SMC_R_LIBRARY=$library cannot be used: No such file"
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	SMC_R_LIBRARY=$BATS_TEST_TMPDIR run smc_run true
	[ "$status" -eq 125 ]
}

@test "the library is found beside the program, as built and as installed" {
	unset SMC_R_LIBRARY
	local top=$BATS_TEST_TMPDIR/top
	mkdir -p "$top/bin" "$top/lib/smc_r"
	cp "$SMC_R_BUILD/bin/smc_run" "$top/bin"
	cp "$BATS_FILE_TMPDIR/libempty.so" "$top/lib/smc_r/libsmc_r.so"
	# shellcheck disable=SC2016
	run "$top/bin/smc_run" sh -c 'echo "$LD_PRELOAD"'
	[ "$output" = "$top/lib/smc_r/libsmc_r.so" ]
	cp "$BATS_FILE_TMPDIR/libempty.so" "$top/lib/libsmc_r.so"
	# shellcheck disable=SC2016
	run "$top/bin/smc_run" sh -c 'echo "$LD_PRELOAD"'
	[ "$output" = "$top/lib/libsmc_r.so" ]
}

@test "a path that LD_PRELOAD cannot hold is refused" {
	mkdir "$BATS_TEST_TMPDIR/a b"
	cp "$SMC_R_LIBRARY" "$BATS_TEST_TMPDIR/a b/x.so"
	SMC_R_LIBRARY="$BATS_TEST_TMPDIR/a b/x.so" run smc_run true
	[ "$status" -eq 125 ]
	has "LD_PRELOAD cannot hold"
}

@test "a relative run directory becomes absolute" {
	cd "$BATS_TEST_TMPDIR"
	# shellcheck disable=SC2016
	SMC_R_RUNDIR=run run smc_run sh -c 'cd /; echo "$SMC_R_RUNDIR"'
	[ "$output" = "$BATS_TEST_TMPDIR/run" ]
}

@test "a command that cannot be run is 126 or 127, with -v as without" {
	# A directory that may not be searched would be "Permission denied".
	local PATH=${PATH%%:*}:/usr/bin:/bin
	: >"$BATS_TEST_TMPDIR/plain"
	for flag in -- -v; do
		run -127 smc_run $flag no-such-command
		has "smc_run: no-such-command: No such file or directory"
		lacks "connection"
		run smc_run $flag "$BATS_TEST_TMPDIR/plain"
		[ "$status" -eq 126 ]
		has "Permission denied"
	done
}

@test "-v keeps standard input and output and the exit status" {
	publish
	run sh -c "echo in | smc_run -v sh -c 'cat; exit 9' 2>/dev/null"
	[ "$status" -eq 9 ]
	[ "$output" = in ]
}

@test "-v dies of the signal that the program died of" {
	publish
	# shellcheck disable=SC2016
	run -143 smc_run -v sh -c 'kill -TERM $$'
	# shellcheck disable=SC2016
	run python3 -c '
import subprocess, sys
p = subprocess.run(["smc_run", "-v", "sh", "-c", "kill -SEGV $$"],
		   stderr=subprocess.DEVNULL)
print(p.returncode)'
	[ "$output" = -11 ]
}

@test "-v hands signals on" {
	publish
	cat >"$BATS_TEST_TMPDIR/trap.sh" <<-'EOT'
		trap 'echo usr1 >>"$1"' USR1
		trap 'echo hup >>"$1"' HUP
		trap 'echo term >>"$1"; exit 5' TERM
		echo ready >>"$1"
		while :; do sleep 0.05; done
	EOT
	local log=$BATS_TEST_TMPDIR/log
	smc_run -v sh "$BATS_TEST_TMPDIR/trap.sh" "$log" 2>/dev/null 3>&- &
	place_pids=$!
	await() {
		for _ in $(seq 200); do
			! grep -qs "$1" "$log" || return 0
			sleep 0.05
		done
		return 1
	}
	await ready
	kill -USR1 "$place_pids"
	await usr1
	kill -HUP "$place_pids"
	await hup
	kill -TERM "$place_pids"
	local code=0
	wait "$place_pids" || code=$?
	[ "$code" = 5 ]
	await term
}

@test "-v in a shell with job control: ^Z, fg, ^C" {
	publish
	cat >"$BATS_TEST_TMPDIR/job.py" <<-'EOT'
		import os, pty, sys, threading, time
		shell, fd = pty.fork()
		if shell == 0:
		    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
		said = []
		def listen():
		    try:
		        while said.append(os.read(fd, 4096)) or said[-1]:
		            pass
		    except OSError:
		        pass
		threading.Thread(target=listen, daemon=True).start()
		def state(p):
		    return open(f"/proc/{p}/stat").read().rsplit(")")[1].split()[0]
		def child_of(p):
		    return open(f"/proc/{p}/task/{p}/children").read().split()
		def wait(what, name):
		    for _ in range(400):
		        try:
		            if what():
		                return
		        except (OSError, IndexError):
		            pass
		        time.sleep(0.05)
		    sys.exit(f"waited in vain: {name} {said}")
		os.write(fd, b"smc_run -v cat\n")
		wait(lambda: child_of(child_of(shell)[0]), "start")
		run = child_of(shell)[0]
		cat = child_of(run)[0]
		wait(lambda: os.readlink(f"/proc/{cat}/exe").endswith("cat"), "exec")
		os.write(fd, b"\x1a")
		wait(lambda: state(cat) == state(run) == "T", "stop")
		os.write(fd, b"fg\n")
		wait(lambda: state(cat) != "T" and state(run) != "T", "fg")
		os.write(fd, b"\x03")
		wait(lambda: not os.path.exists(f"/proc/{run}"), "end")
		os.write(fd, b"echo code=$?\nexit\n")
		wait(lambda: b"code=130" in b"".join(said), "code")
		os.waitpid(shell, 0)
		print("it is over")
	EOT
	run timeout 60 python3 "$BATS_TEST_TMPDIR/job.py"
	[ "$status" -eq 0 ]
	[ "$output" = "it is over" ]
}

@test "-v does not stop with a program that somebody else stopped" {
	publish
	smc_run -v sleep 300 2>/dev/null 3>&- &
	place_pids=$!
	state() { sed 's/.*) \(.\).*/\1/' "/proc/$1/stat"; }
	local child=
	for _ in $(seq 200); do
		child=$(cat "/proc/$place_pids/task/$place_pids/children")
		[ -z "$child" ] || [ "$(cat "/proc/${child% }/comm")" != sleep ] ||
			break
		sleep 0.05
	done
	child=${child% }
	kill -STOP "$child"
	for _ in $(seq 200); do
		[ "$(state "$child")" != T ] || break
		sleep 0.05
	done
	[ "$(state "$child")" = T ]
	[ "$(state "$place_pids")" != T ]
	kill -CONT "$child"
	kill -TERM "$child"
	local code=0
	wait "$place_pids" || code=$?
	[ "$code" = 143 ]
}

@test "no device: the first cause is that, with the cure" {
	run smc_run -v true
	[ "$status" -eq 0 ]
	[ "$output" = "smc_run: no matching connection: no smc_r device is available on this host; make or configure it: mkdev -c tcpip -t smc_r" ]
}

@test "each rule that lets nothing match is named" {
	publish 0
	run smc_run -v true
	has "SMC-R is switched off on this host; switch it on: chdev -l smc_r0 -a enabled=1"
	publish 1 " 127.0.0.1" ""
	run smc_run -v true
	has "port_range_list is empty"
	publish 1 ""
	run smc_run -v true
	has "ip_addr_list is empty"
	publish 1 " 127.0.0.1" " 7000" " true"
	run smc_run -v true
	has "the program is excluded from SMC"
	publish
	SMC_R=0 run smc_run -v true
	has "the environment of the program switches SMC off"
	run smc_run -v true
	[ "$output" = "smc_run: no matching connection: no TCP connection matched port_range_list (7000-7010) and ip_addr_list (127.0.0.1)" ]
	echo damage >>"$SMC_R_RUNDIR/smc_r0"
	run smc_run -v true
	has "the settings in $SMC_R_RUNDIR/smc_r0 cannot be used"
}

@test "the verdict counts connections and gives the reason" {
	publish
	make_program <<-EOT
		count client_connections 3
		count smc_connections 2
		count tcp_connections 1
		fallback 0x03010000 1
	EOT
	run smc_run -v "$program" 4
	[ "$status" -eq 4 ]
	[ "$output" = "smc_run: 3 connections: 2 SMC, 1 TCP: peer does not offer SMC (0x03010000)" ]
}

@test "several reasons come with their counts, and -vv with the cures" {
	publish
	make_program <<-EOT
		count client_connections 4
		count server_connections 3
		count smc_connections 1
		count tcp_connections 5
		count demoted 1
		fallback 0x03010000 4
		fallback 0x01010000 1
		fallback 0x0a030000 1
	EOT
	run smc_run -vv "$program"
	[ "$status" -eq 0 ]
	has_line "smc_run: 7 connections: 1 SMC (1 went back to TCP), 5 TCP, 1 undecided: 1 x no memory for another buffer (0x01010000), 4 x peer does not offer SMC (0x03010000), 1 x the program passed the connection on through exec (0x0A030000)"
	has "smc_run: 0x01010000 MEMORY: raise max_memory"
	[ "${#lines[@]}" = 4 ]
}

@test "one connection on SMC needs no reason" {
	publish
	make_program <<-EOT
		count server_connections 1
		count smc_connections 1
	EOT
	run smc_run -v "$program"
	[ "$output" = "smc_run: 1 connection: 1 SMC" ]
}

@test "reported segments go into the totals" {
	publish
	make_program <<-EOT
		count client_connections 1
		count smc_connections 1
		count bytes_sent 10
		slot 1 0 1 127.0.0.1 40000 127.0.0.1 7000 5 6 1
	EOT
	smc_run -v "$program" 2>/dev/null
	[ "$(segments)" = 0 ]
	smc_run -v "$program" 2>/dev/null
	[ "$(segments)" = 0 ]
	run entstat -j smc_r0
	[ "$(printf '%s' "$output" | jq .counters.bytes_sent)" = 30 ]
	[ "$(printf '%s' "$output" | jq .counters.client_connections)" = 2 ]
}

@test "a segment of a process that lives on is reported and stays" {
	publish
	start_living
	make_program <<-EOT
		holder 0 $living
		count client_connections 1
		count smc_connections 1
	EOT
	run smc_run -v "$program"
	[ "$output" = "smc_run: 1 connection: 1 SMC, 1 process still running" ]
	[ "$(segments)" = 1 ]
	place_end
	entstat smc_r0 >/dev/null
	[ "$(segments)" = 0 ]
}

@test "segments of other runs are not reported" {
	publish
	start_living
	forge <<-EOT
		segment $living
		count client_connections 9
	EOT
	run smc_run -v true
	has "no matching connection"
}

@test "a smc_run inside another reports to the outer one" {
	publish
	make_program <<-EOT
		count client_connections 1
		count smc_connections 1
	EOT
	run smc_run -v smc_run "$program"
	[ "$output" = "smc_run: 1 connection: 1 SMC" ]
}

@test "-v tells of programs that cannot load the library" {
	publish
	echo 'int main(void) { return 0; }' >"$BATS_TEST_TMPDIR/main.c"
	"${CC:-gcc}" -static -o "$BATS_TEST_TMPDIR/static" "$BATS_TEST_TMPDIR/main.c"
	run smc_run -v "$BATS_TEST_TMPDIR/static"
	[ "$status" -eq 0 ]
	has "smc_run: $BATS_TEST_TMPDIR/static is statically linked: the SMC-R library cannot be loaded there"
	printf '#!%s\n' "$BATS_TEST_TMPDIR/static" >"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	run smc_run -v "$BATS_TEST_TMPDIR/script"
	has "is statically linked"
	"${CC:-gcc}" -o "$BATS_TEST_TMPDIR/dynamic" "$BATS_TEST_TMPDIR/main.c"
	run smc_run -v "$BATS_TEST_TMPDIR/dynamic"
	lacks "cannot be loaded"
	[ "$(id -u)" = 0 ] || skip "only root can give files away"
	chown 12345 "$BATS_TEST_TMPDIR/dynamic"
	chmod u+s "$BATS_TEST_TMPDIR/dynamic"
	run smc_run -v "$BATS_TEST_TMPDIR/dynamic"
	has "runs with the rights of its owner"
}

@test "a program of another C library runs without the library" {
	command -v musl-gcc >/dev/null || skip "needs musl-gcc"
	printf '#include <stdio.h>\nint main(void) { puts("here"); }\n' \
		>"$BATS_TEST_TMPDIR/main.c"
	musl-gcc -o "$BATS_TEST_TMPDIR/other" "$BATS_TEST_TMPDIR/main.c"
	run smc_run "$BATS_TEST_TMPDIR/other"
	[ "$status" -eq 0 ]
	[ "$output" = here ]
	run smc_run -v "$BATS_TEST_TMPDIR/other"
	has "other is of another C library: the SMC-R library cannot be loaded"
}
