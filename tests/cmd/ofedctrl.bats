#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# ofedctrl: syntax, ofed.conf, the conversation with the RDMA core.
# lane: any

load status

setup() {
	export OFED_CORE_RUNDIR=$BATS_TEST_TMPDIR/core
	export OFED_CONF=$BATS_TEST_TMPDIR/ofed.conf
	export SMC_R_TUNABLES=$BATS_TEST_TMPDIR/tunables
	unset OFED_CORE_ROCE_V2_MODE
}

teardown() {
	[ -z "${impostor-}" ] || kill -KILL "$impostor" 2>/dev/null || true
	ofedctrl -u >/dev/null 2>&1 || true
}

# Fast endings, so that a test need not wait for the defaults.
load_core() {
	[ -x "$SMC_R_BUILD/bin/ofed_core" ] || skip "the RDMA core is not built"
	ofedctrl -l 3>&-
}

@test "wrong syntax prints the usage on standard error and exits 1" {
	for words in "" "-l -u" "-q x" "-k /a" "-c -k /a" "-p" "-p x=" "-p =1" \
		"-p x" "-z"; do
		# shellcheck disable=SC2086
		run ofedctrl $words
		[ "$status" -eq 1 ]
		has "Usage: ofedctrl { [-k KernextName] -l|u|q } | [ -c | -p ParameterName=Value ] | -h"
	done
	run ofedctrl -h
	[ "$status" -eq 0 ]
	has "Usage: ofedctrl"
}

@test "-q without a core: not loaded, and no settings" {
	ofedctrl -q >"$BATS_TEST_TMPDIR/out"
	cat >"$BATS_TEST_TMPDIR/expected" <<-'EOT'

		-----------------------------------------
		Current Status
		-----------------------------------------
		ofed_core kernel ext : not loaded
	EOT
	diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/out"
}

@test "without a core -u and -c say so, with the cure" {
	for words in -u -c "-N none -p ras_log_level=2"; do
		# shellcheck disable=SC2086
		run ofedctrl $words
		[ "$status" -eq 1 ]
		[ "$output" = "ofedctrl: ofed_core is not loaded; load it with ofedctrl -l" ]
	done
}

@test "-p loads a core that is not loaded, then sets" {
	[ -x "$SMC_R_BUILD/bin/ofed_core" ] || skip "the RDMA core is not built"
	run ofedctrl -p ras_log_level=2 3>&-
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run ofedctrl -q
	has "ofed_core kernel ext : loaded"
	has "ras_log_level         : (2) INFO"
	[ ! -e "$OFED_CONF" ]
	ofedctrl -u
	# What is wrong loads nothing.
	run ofedctrl -p ras_log_level=4
	[ "$status" -eq 1 ]
	run ofedctrl -q
	has "ofed_core kernel ext : not loaded"
}

@test "-k is judged, and means that program and no other" {
	local flag
	for flag in -l -q -u; do
		run ofedctrl -k /nonexistent $flag
		[ "$status" -eq 1 ]
		[ "$output" = "ofedctrl: /nonexistent: No such file or directory; -k names the program of the core; leave it out, and it is the installed one" ]
		run ofedctrl -k "$BATS_TEST_TMPDIR" $flag
		[ "$status" -eq 1 ]
		has "ofedctrl: $BATS_TEST_TMPDIR: it is not a program; -k"
		run ofedctrl -k /etc/passwd $flag
		[ "$status" -eq 1 ]
		has "ofedctrl: /etc/passwd: it is not a program; -k"
	done
	load_core
	run ofedctrl -k "$SMC_R_BUILD/bin/ofed_core" -q
	has "ofed_core kernel ext : loaded"
	run ofedctrl -k "$SMC_R_BUILD/bin/ofed_core" -l
	[ "$output" = "ofedctrl: ofed_core is already loaded" ]
	[ "$status" -eq 0 ]
	run ofedctrl -k /bin/true -q
	[ "$status" -eq 0 ]
	has "ofed_core kernel ext : not loaded"
	run ofedctrl -k /bin/true -l
	[ "$status" -eq 1 ]
	[ "$output" = "ofedctrl: another core than /bin/true is loaded; unload it first with ofedctrl -u" ]
	run ofedctrl -k /bin/true -u
	[ "$status" -eq 1 ]
	[ "$output" = "ofedctrl: /bin/true is not loaded" ]
	run ofedctrl -k "$SMC_R_BUILD/bin/ofed_core" -u
	[ "$status" -eq 0 ]
}

@test "the shipped ofed.conf names every parameter with its default" {
	local conf=${SMC_R_TOP:-$PWD}/conf/ofed.conf
	[ -x "$SMC_R_BUILD/bin/ofed_core" ] || skip "the RDMA core is not built"
	cp "$conf" "$OFED_CONF"
	ofedctrl -l 3>&-
	ofedctrl -q >"$BATS_TEST_TMPDIR/shipped"
	[ "$(grep -c " : " "$BATS_TEST_TMPDIR/shipped")" = \
		$(($(grep -c '^#[a-z_0-9]*=' "$conf") + 1)) ]
	# All defaults in force are what is in force without them.
	sed 's/^#\([a-z_0-9]*=\)/\1/' "$conf" >"$OFED_CONF"
	[ "$(grep -c '^[a-z]' "$OFED_CONF")" = 17 ]
	ofedctrl -c
	ofedctrl -q | diff "$BATS_TEST_TMPDIR/shipped" -
}

@test "-p refuses unknown names and values out of range by itself" {
	run ofedctrl -p no_such=1
	[ "$status" -eq 1 ]
	[[ $output == "ofedctrl: no_such: there is no such parameter. There are tavor_quirk "*" ras_log_level." ]]
	for value in 8 -1 x 3x; do
		run ofedctrl -p def_prec2sl=$value
		[ "$status" -eq 1 ]
		[ "$output" = "ofedctrl: def_prec2sl: $value is not a number in 0 to 7" ]
	done
}

@test "a wrong ofed.conf is named with its line, and nothing is loaded" {
	cat >"$BATS_TEST_TMPDIR/core.sh" <<-EOT
		#!/bin/sh
		touch "$BATS_TEST_TMPDIR/started"
	EOT
	chmod +x "$BATS_TEST_TMPDIR/core.sh"
	check() { # line, words
		run ofedctrl -k "$BATS_TEST_TMPDIR/core.sh" -l
		[ "$status" -eq 1 ]
		[ "$output" = "ofedctrl: $OFED_CONF:$1: $2" ]
		[ ! -e "$BATS_TEST_TMPDIR/started" ]
		run ofedctrl -c
		[ "$status" -eq 1 ]
		[ "$output" = "ofedctrl: $OFED_CONF:$1: $2" ]
	}
	printf '# c\nno_such=1\n' >"$OFED_CONF"
	check 2 "no_such: there is no such parameter"
	printf '\n\ndef_prec2sl=8\n' >"$OFED_CONF"
	check 3 "def_prec2sl: 8 is not in 0 to 7"
	printf 'delay_kill=4294967296\n' >"$OFED_CONF"
	check 1 "delay_kill: 4294967296 does not fit into 32 bits"
	printf 'mad_recvq_size=512\n# c\nmad_rcvq_size=512\n' >"$OFED_CONF"
	check 3 "mad_rcvq_size: the parameter is set in line 1 already"
	printf '@include "/etc/passwd"\n' >"$OFED_CONF"
	check 1 "the line is neither name=number nor a comment (#)"
	printf 'tavor_quirk=0\n' >"$OFED_CONF"
	chmod 666 "$OFED_CONF"
	run ofedctrl -c
	[ "$status" -eq 1 ]
	[ "$output" = "ofedctrl: $OFED_CONF: others may write it; chmod go-w it" ]
}

@test "-k names the program, whose failure is ours" {
	run ofedctrl -k "$BATS_TEST_TMPDIR/none" -l
	[ "$status" -eq 1 ]
	has "ofedctrl: $BATS_TEST_TMPDIR/none: No such file or directory; -k"
	run ofedctrl -k /bin/false -l
	[ "$status" -eq 1 ]
	run ofedctrl -k /bin/true -l
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "-l tells the core the version of RoCE and notes it for no" {
	cat >"$BATS_TEST_TMPDIR/core.sh" <<-'EOT'
		#!/bin/sh
		echo "roce=$OFED_CORE_ROCE_V2_MODE"
	EOT
	chmod +x "$BATS_TEST_TMPDIR/core.sh"
	run ofedctrl -k "$BATS_TEST_TMPDIR/core.sh" -l
	[ "$output" = "roce=0" ]
	no -r -o roce_v2_mode=1
	run no -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 0" ]
	run ofedctrl -k "$BATS_TEST_TMPDIR/core.sh" -l
	[ "$output" = "roce=1" ]
	run no -o roce_v2_mode
	[ "$output" = "roce_v2_mode = 1" ]
	printf 'no:\n\troce_v2_mode = "7"\n' >"$SMC_R_TUNABLES/nextboot"
	run ofedctrl -k "$BATS_TEST_TMPDIR/core.sh" -l
	[ "$status" -eq 1 ]
	has "$SMC_R_TUNABLES/nextboot, line 2: roce_v2_mode cannot be read"
}

@test "without the core's program -l says what is missing" {
	mkdir -p "$BATS_TEST_TMPDIR/alone/bin"
	cp "$SMC_R_BUILD/bin/ofedctrl" "$BATS_TEST_TMPDIR/alone/bin"
	[ ! -e /usr/local/lib/smc_r/ofed_core ] || skip "a core is installed"
	run "$BATS_TEST_TMPDIR/alone/bin/ofedctrl" -l
	[ "$status" -eq 1 ]
	has "the RDMA core (ofed_core) is not part of this installation"
}

@test "load, query, set, reload, unload" {
	printf 'delay_kill = 100 # ms\nmad_recvq_size=256\n' >"$OFED_CONF"
	load_core
	ofedctrl -q >"$BATS_TEST_TMPDIR/out"
	cat >"$BATS_TEST_TMPDIR/expected" <<-'EOT'

		-----------------------------------------
		Current Status
		-----------------------------------------
		ofed_core kernel ext : loaded

		-----------------------------------------
		Current Settings
		-----------------------------------------
		tavor_quirk           : 0
		cma_response_timeout  : 20
		def_prec2sl           : 3
		mad_sendq_size        : 128
		mad_rcvq_size         : 256
		max_timeout           : 21
		unify_tcp_port_space  : 0
		mcast_leave_retries   : 3
		delay_kill            : 100
		delay_between_signals : 10000
		bind_route_interface  : 0
		cm_connect_timeout    : 8000 ms
		cm_connect_max_retry  : 15
		cm_disconnect_timeout : 1000 ms
		cm_disconnect_max_retry : 2
		enforce_interface_state : 0
		ras_log_level         : (1) WARNING
		-----------------------------------------
	EOT
	diff "$BATS_TEST_TMPDIR/expected" "$BATS_TEST_TMPDIR/out"
	run ofedctrl -p ras_log_level=2
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run ofedctrl -q
	has "ras_log_level         : (2) INFO"
	printf 'def_prec2sl=5\n' >"$OFED_CONF"
	run ofedctrl -c
	[ "$status" -eq 0 ]
	run ofedctrl -q
	has "def_prec2sl           : 5"
	has "ras_log_level         : (1) WARNING"
	run ofedctrl -l 3>&-
	[ "$status" -eq 0 ]
	[ "$output" = "ofedctrl: ofed_core is already loaded" ]
	run ofedctrl -u
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run ofedctrl -q
	has "ofed_core kernel ext : not loaded"
}

@test "the core itself tells its options, and refuses others" {
	run ofed_core -h
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "Usage: ofed_core [-f | -h | --version]" ]
	run ofed_core -x
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "Usage: ofed_core [-f | -h | --version]" ]
}

@test "ibv_devices and rping without a device say what to do, and no more" {
	local name
	[ ! -e /sys/class/infiniband ] || skip "the kernel has RDMA devices"
	for name in ibv_devices rping; do
		run "$name" -s
		[ "$status" -ne 127 ] || skip "no $name of rdma-core"
		[ "$status" -eq 1 ]
		[ "$output" = "$name: there is no RDMA device; ofedctrl -l loads the RDMA core" ]
	done
}

# Listens as another user, where the core would, and never answers.
impostor() { # owner of the directory
	cat >"$BATS_TEST_TMPDIR/impostor.py" <<-'EOT'
		import os, signal, socket, sys
		base = os.environ["OFED_CORE_RUNDIR"]
		place = f"{base}/net-{os.stat('/proc/self/ns/net').st_ino}"
		os.makedirs(place)
		os.chown(place, int(sys.argv[1]), -1)
		sockets = []
		for name, kind in (("control", socket.SOCK_STREAM),
		                   ("verbs", socket.SOCK_SEQPACKET)):
		    s = socket.socket(socket.AF_UNIX, kind)
		    s.bind(f"{place}/{name}")
		    sockets.append(s)
		os.setuid(65534)
		for s in sockets:
		    s.listen(10)
		print("ready", flush=True)
		signal.pause()
	EOT
	# The one before it said so, too.
	rm -f "$BATS_TEST_TMPDIR/impostor"
	python3 "$BATS_TEST_TMPDIR/impostor.py" "$1" \
		>"$BATS_TEST_TMPDIR/impostor" 2>&1 3>&- &
	impostor=$!
	for _ in {1..200}; do
		grep -q ready "$BATS_TEST_TMPDIR/impostor" && break
		sleep 0.05
	done
}

@test "another user's core is not ours" {
	[ "$(id -u)" = 0 ] || skip "needs another user"
	command -v python3 >/dev/null || skip "python3 is not installed"
	local owner
	for owner in 65534 0; do
		impostor $owner
		run timeout 5 ofedctrl -q
		[ "$status" -eq 1 ]
		has "cannot reach ofed_core in $OFED_CORE_RUNDIR: Operation not permitted"
		kill "$impostor"
		wait "$impostor" || true
		[ "$owner" = 0 ] || {
			run timeout 5 ofedctrl -l
			[ "$status" -eq 1 ]
			has "run directory in $OFED_CORE_RUNDIR: Operation not permitted. Run it as root"
		}
		rm -rf "$OFED_CORE_RUNDIR"
	done
}
