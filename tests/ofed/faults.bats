#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# faults: programs on reliable transports while 1, then 5 of 100 packets are
# lost, as many doubled and as many delayed.
#
# Programs on datagrams that send nothing again (udaddy, udpong, mckey, UD
# ping-pong and UD perftest) have no way to go on after a loss, on any device.
# uDAPL's provider ucm takes a doubled request for a new one, and an end that
# closes does not stay to repeat a lost goodbye. dtest and dtestx by scm: see
# programs. ib_send_lat -e fails too: it takes whatever event comes first for
# the one it waits for.
# limit: 600

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	echo "cm_connect_timeout=300" >"$OFED_CONF"
	start_both
	export DAT_OVERRIDE=$BATS_FILE_TMPDIR/dat.conf
	cat >"$DAT_OVERRIDE" <<-'EOT'
		ofa u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ent0 0" ""
		scm u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "ent0 1" ""
	EOT
}

teardown() {
	[ -n "$WHY" ] || [ -z "${SERVER_PID-}" ] || end_server
}

# Packets of 1000 to lose, and to double, and to delay.
faults() { # number
	local n

	for n in "$A" "$B"; do
		ask "$n" "set wire_loss $1" >/dev/null
		ask "$n" "set wire_duplicate $1" >/dev/null
		ask "$n" "set wire_reorder $1" >/dev/null
	done
}

# Programs.bats has them without faults.
long() {
	[ -n "${SMC_R_LONG-}" ] || skip "in make check-long"
}

# Only the worse of both, but in long runs.
at_1_and_5() { # function
	local n

	for n in ${SMC_R_LONG:+10} 50; do
		faults "$n"
		"$1"
	done
}

client() { # command...
	in_ns "$B" "$@" >"$BATS_TEST_TMPDIR/client" 2>&1 || {
		echo "client: $*: status $?"
		cat "$BATS_TEST_TMPDIR/client" "$BATS_TEST_TMPDIR/server"
		return 1
	}
}

ping_pong() {
	same "$B" "ibv_rc_pingpong -g 1 -n 200 -c -e"
	same "$B" "ibv_rc_pingpong -g 2 -n 200 -c -e"
	same "$B" "ibv_rc_pingpong -g 1 -n 20 -c -e -s 200000"
	same "$B" "ibv_srq_pingpong -g 1 -n 200 -e"
}

@test "ping-pong, also with a shared receive queue, IPv6 and long messages" {
	at_1_and_5 ping_pong
}

perf() {
	same "$B" "ib_write_bw -x 1 -n 100 -s 65536"
	same "$B" "ib_read_bw -x 1 -n 100 -s 65536 -e"
	same "$B" "ib_send_bw -x 1 -n 100 -s 65536 -e"
	same "$B" "ib_atomic_bw -x 1 -n 100 -e"
	same "$B" "ib_write_lat -x 1 -n 50"
	same "$B" "ib_read_lat -x 1 -n 50 -e"
	same "$B" "ib_send_lat -x 1 -n 50"
	same "$B" "ib_atomic_lat -x 1 -n 50"
	same "$B" "ib_write_bw -R -x 1 -n 100 -s 65536"
	same "$B" "ib_read_bw -R -x 1 -n 100 -s 65536 -e"
	same "$B" "ib_send_bw -R -x 1 -n 100 -s 65536 -b -e"
	same "$B" "ib_atomic_lat -R -x 1 -n 50"
}

@test "perftest: WRITE, READ, SEND and atomics" {
	need ib_write_bw
	at_1_and_5 perf
}

connections() {
	pair "$B" "rping -s -a $SERVER -C 20 -V" "rping -c -a $SERVER -C 20 -V"
	same_s "$B" "ucmatose -c 5"
	pair "$B" rdma_server "rdma_client -s $SERVER"
	pair "$B" rdma_xserver "rdma_xclient -s $SERVER"
	begin_server rping -s -P -a "$SERVER" -S 65000 -v
	client rping -c -a "$SERVER" -C 3 -V -S 50 -v
	client rping -c -a "$SERVER" -C 3 -V -S 65000
	end_server
	rping_was_well
	begin_server cmtime -b "$SERVER" -c 20
	client cmtime -s "$SERVER" -c 20
	end_server
}

@test "connection management: rping, ucmatose, cmtime, rdma_client" {
	at_1_and_5 connections
}

rsockets() {
	local library

	same_s "$B" "rstream -T b -S 65536 -C 20 -T v"
	same_s "$B" "rstream -S 20000 -C 20 -T v -T n"
	same_s "$B" "riostream -S 4096 -C 50 -T b"
	library=$(echo /usr/lib/*/rsocket/librspreload.so)
	library="env LD_PRELOAD=$BIN/../lib/libofed_core.so:$library"
	pair "$B" "$library iperf -s -P 1 -B $SERVER -p 20081" \
		"$library iperf -c $SERVER -p 20081 -n 2M"
}

@test "rsockets, and a socket program on them" {
	need iperf
	at_1_and_5 rsockets
}

files() {
	local from=$BATS_TEST_TMPDIR/from to=$BATS_TEST_TMPDIR/to

	head -c 1000000 /dev/urandom >"$from"
	begin_server rcopy
	client rcopy "$from" "$SERVER:$to"
	end_server
	cmp "$from" "$to"
	rm "$to"
}

@test "rcopy" {
	need rcopy
	long
	at_1_and_5 files
}

qperf_and_fio() {
	local f=$BATS_TEST_TMPDIR verb

	begin_server qperf -lp 20077 -lto 30
	client qperf -lp 20077 -to 30 -cm1 -t 1 "$SERVER" \
		rc_lat ver_rc_fetch_add
	end_server
	printf '[global]\nioengine=rdma\nport=20078\nbs=64k\nsize=512k\n' |
		tee "$f/server.fio" >"$f/head"
	printf '[receiver]\nrw=read\niodepth=16\n' >>"$f/server.fio"
	for verb in write read send; do
		{
			cat "$f/head"
			printf 'hostname=%s\nverb=%s\n' "$SERVER" $verb
			printf '[sender]\nrw=write\niodepth=1\n'
			printf 'iodepth_batch_complete=1\n'
		} >"$f/client.fio"
		pair "$B" "fio $f/server.fio" "fio $f/client.fio"
	done
}

@test "qperf and fio" {
	need qperf fio
	long
	at_1_and_5 qperf_and_fio
}

udapl() {
	local p

	pair "$B" "dtest -B 10 -b 1000 -s -P ofa" \
		"dtest -B 10 -b 1000 -h $SERVER -P ofa"
	# Most of its time it sleeps.
	[ -z "${SMC_R_LONG-}" ] ||
		pair "$B" "dtestx -s -P ofa" "dtestx -h $SERVER -P ofa"
	for p in ofa scm; do
		pair "$B" "dtestcm -c 10 -s -P $p" \
			"dtestcm -c 10 -h $SERVER -P $p"
		pair "$B" "dtestsrq -c 2 -s -P $p" \
			"dtestsrq -c 2 -h $SERVER -P $p"
		begin_server dapltest -T S -D $p
		client dapltest -T T -s "$SERVER" -D $p -i 10 -t 2 -w 2 \
			client SR 256 server RW 4096 server RR 4096 \
			server SR 256 client SR 256 server SR 256
		client dapltest -T Q -s "$SERVER" -D $p
		wait "$SERVER_PID"
	done
}

@test "uDAPL" {
	need dtest dapltest
	long
	at_1_and_5 udapl
}

ucx_pair() { # transports, arguments
	pair "$B" "env UCX_TLS=$1 UCX_NET_DEVICES=ent0:1 ucx_perftest -p 20079" \
		"env UCX_TLS=$1 UCX_NET_DEVICES=ent0:1 ucx_perftest $SERVER \
		-p 20079 -n 50 -w 5 $2"
}

ucx_and_libfabric() {
	ucx_pair rc,ud "-t tag_lat -s 1000"
	ucx_pair rc,ud "-t tag_bw -s 100000"
	ucx_pair rc,ud "-t ucp_put_lat -s 8"
	ucx_pair rc,ud "-t ucp_fadd -s 8"
	ucx_pair ud_verbs "-t tag_lat -s 1000"
	ucx_pair ud_verbs "-t ucp_get -s 8"
	same "$B" "fi_pingpong -p verbs -e msg -I 20 -S 4096 -c"
	rxm "$B" -S 65536
}

@test "UCX, over datagrams too, and libfabric" {
	need ucx_perftest fi_pingpong
	long
	at_1_and_5 ucx_and_libfabric
}

@test "there were faults of every kind, and nothing was malformed" {
	[ "$(statistic "$A" packets_lost_on_purpose)" -gt 100 ]
	[ "$(statistic "$A" packets_doubled_on_purpose)" -gt 100 ]
	[ "$(statistic "$A" packets_delayed_on_purpose)" -gt 100 ]
	[ "$(statistic "$B" retransmissions)" -gt 10 ]
	[ "$(statistic "$B" packets_bad_icrc)" = 0 ]
	[ "$(statistic "$B" packets_malformed)" = 0 ]
}
