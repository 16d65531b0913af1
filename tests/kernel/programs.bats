#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# programs: unmodified programs under smc_run, with programs of a virtual machine
# that use the SMC-R of its Linux kernel. "make check" runs a part.
# limit: 300
# long: 600

bats_require_minimum_version 1.5.0
OFED_A=${OFED_A:-smcp$$x$RANDOM}
load ../ofed/net
load vm

TOP=${SMC_R_BUILD:-$(cd "$BATS_TEST_DIRNAME/../../build" && pwd)}
AF_SMC=$TOP/obj/plain/tests/kernel/af_smc.so

setup_file() {
	WHY=$(why_not)
	[ -n "$WHY" ] || WHY=$(why_no_vm)
	[ -n "$WHY" ] || [ -e "$IMAGE/smc" ] ||
		WHY="the image has no module rxe_smc ($IMAGE/rxe_smc.log)"
	[ -n "$WHY" ] || grep -qs cgroup2 /proc/mounts ||
		WHY="there is no cgroup2 for the TCP option"
	PLACE=$(mktemp -d /tmp/smc_r.kp.XXXXXX)
	export WHY OFED_A PLACE
	[ -z "$WHY" ] || return 0
	chmod 755 "$PLACE"
	: >"$OFED_CONF"
	tap_namespace && start_vm smc && start_core "$A"
	guest "$BATS_TEST_DIRNAME/smc.py pnet eth0 rxe0 &&
		$BATS_TEST_DIRNAME/smc.py ueid SMC-R.DEFAULT"
	mkdir "$PLACE/odm" "$PLACE/www"
	head -c 1000000 /dev/urandom >"$PLACE/www/file"
	chmod 644 "$PLACE/www/file"
	here mkdev -q -c tcpip -t smc_r -a enabled=1 -a autosmc=no \
		-a "ip_addr_list=$SERVER" -a port_range_list=1000-65535
}

teardown_file() {
	[ -n "$WHY" ] || {
		here rmdev -q -dl smc_r0
		core_is_gone "$A" || stop_core "$A"
		stop_vm
		ip netns del "$A"
	}
	rm -rf "$PLACE"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	before=$(counted)
	started=
}

teardown() {
	[ -z "$started" ] || kill -TERM -- "-$started" 2>/dev/null || true
	[ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "$WHY" ] ||
		here entstat -d smc_r0 | grep -A12 "Reasons for TCP"
}

long() {
	[ -n "${SMC_R_LONG-}" ] || skip "in make check-kernel"
}

# nsenter is used, as "ip netns exec" has another /sys, without cgroups.
here() { # command...
	nsenter --net="/run/netns/$A" env ODMDIR="$PLACE/odm" \
		SMC_R_RUNDIR="$PLACE/run" SMC_R_HANDSHAKE=8000 \
		PATH="$BIN:$PATH" "$@"
}

ours() { # command...
	here timeout -k 5 60 smc_run "$@"
}

begin() { # command...
	setsid nsenter --net="/run/netns/$A" env ODMDIR="$PLACE/odm" \
		SMC_R_RUNDIR="$PLACE/run" SMC_R_HANDSHAKE=8000 \
		"$BIN/smc_run" "$@" >"$BATS_TEST_TMPDIR/server" 2>&1 \
		</dev/null 3>&- &
	started=$!
}

theirs() { # command
	guest "LD_PRELOAD=$AF_SMC timeout -k 5 60 $1"
}

begin_theirs() { # command
	guest "(LD_PRELOAD=$AF_SMC timeout -k 5 60 $1 >/run/server 2>&1 &) \
		>/dev/null 2>&1"
}

# The kernel's table has SMC listeners, too.
theirs_listens() { # port
	guest "ss -Hltn 'sport = :$1'" | grep -q LISTEN
}

ours_listens() { # port
	[ -n "$(here ss -Hltn "sport = :$1")" ]
}

counted() {
	here entstat -d smc_r0 | sed -n "s/^SMC-R Connections: *//p"
}

on_smc() { # how many at least
	local now
	now=$(counted)
	echo "on SMC: $((now - before)) of $1"
	[ "$((now - before))" -ge "$1" ]
}

nginx_conf() { # address, file
	cat >"$2" <<-END
		daemon off; worker_processes 1; pid /run/nginx.kp.pid;
		error_log stderr; user root;
		events {}
		http {
			access_log off;
			client_body_temp_path /run/kp1;
			proxy_temp_path /run/kp2;
			fastcgi_temp_path /run/kp3;
			uwsgi_temp_path /run/kp4;
			scgi_temp_path /run/kp5;
			server {
				listen $1:8080;
				root $PLACE/www;
			}
		}
	END
}

@test "curl of the kernel's SMC-R gets a file from our nginx" {
	nginx_conf "$SERVER" "$PLACE/ours.conf"
	begin nginx -c "$PLACE/ours.conf"
	wait_for ours_listens 8080
	theirs "curl -s -o /run/got http://$SERVER:8080/file"
	guest "cmp /run/got $PLACE/www/file"
	on_smc 1
}

@test "our curl gets a file from nginx on the kernel's SMC-R" {
	nginx_conf "$GUEST" "$PLACE/theirs.conf"
	begin_theirs "nginx -c $PLACE/theirs.conf"
	wait_for theirs_listens 8080
	ours curl -s -o "$PLACE/got" "http://$GUEST:8080/file"
	cmp "$PLACE/got" "$PLACE/www/file"
	on_smc 1
}

@test "iperf3, either side the server, both ways" {
	long
	begin iperf3 -s -B "$SERVER" -p 5201
	wait_for ours_listens 5201
	theirs "iperf3 -c $SERVER -p 5201 -t 2"
	theirs "iperf3 -c $SERVER -p 5201 -t 2 -R"
	begin_theirs "iperf3 -s -B $GUEST -p 5202"
	wait_for theirs_listens 5202
	ours iperf3 -c "$GUEST" -p 5202 -t 2
	ours iperf3 -c "$GUEST" -p 5202 -t 2 -R
	on_smc 8
}

@test "redis-benchmark of the kernel's SMC-R with our redis" {
	long
	begin redis-server --bind "$SERVER" --port 6390 --save '' \
		--protected-mode no --dir "$PLACE"
	wait_for ours_listens 6390
	theirs "redis-benchmark -h $SERVER -p 6390 -n 500 -c 5 -t set,get -q"
	on_smc 5
}

@test "our service goes in the middle of a transfer: no byte is wrong" {
	long
	nginx_conf "$SERVER" "$PLACE/ours.conf"
	begin nginx -c "$PLACE/ours.conf"
	wait_for ours_listens 8080
	guest "(LD_PRELOAD=$AF_SMC timeout 60 curl -s --limit-rate 100k \
		-o /run/part http://$SERVER:8080/file; echo \$? >/run/curl) \
		>/dev/null 2>&1 &"
	wait_for guest "test -s /run/part"
	here pkill -TERM -x --ns "$started" --nslist net smc_rc
	wait_for guest "test -s /run/curl"
	guest "cmp -n \$(stat -c %s /run/part) /run/part $PLACE/www/file"
}
