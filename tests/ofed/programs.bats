#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# programs: unmodified programs of others that verbs.bats does not run, within
# one host and between two network namespaces.
# limit: 600

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	start_both
	export DAT_OVERRIDE=$BATS_FILE_TMPDIR/dat.conf
	cat >"$DAT_OVERRIDE" <<-'EOT'
		ofa u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ent0 0" ""
		scm u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "ent0 1" ""
		ucm u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "ent0 1" ""
	EOT
}

teardown() {
	[ -n "$WHY" ] || [ -z "${SERVER_PID-}" ] || end_server
}

# In both namespaces: $A reaches itself, $B reaches $A over the wire. In "make
# check" the first of every three of a test reaches itself.
each() { # function, arguments...
	local how=$1

	shift
	[ -z "${SMC_R_LONG-}" ] && [ $((EACH++ % 3)) -ne 0 ] ||
		"$how" "$A" "$@"
	"$how" "$B" "$@"
}

# In "make check" over the wire only: these programs sleep for seconds.
far() { # function, arguments...
	local how=$1

	shift
	[ -z "${SMC_R_LONG-}" ] || "$how" "$A" "$@"
	"$how" "$B" "$@"
}

# A client of the server that was begun.
client() { # namespace, command...
	local n=$1

	shift
	in_ns "$n" "$@" >"$BATS_TEST_TMPDIR/client" 2>&1 || {
		echo "client: $*: status $?"
		cat "$BATS_TEST_TMPDIR/client" "$BATS_TEST_TMPDIR/server"
		return 1
	}
}

@test "rping serves one client after the other, and shows what it reads" {
	begin_server stdbuf -oL rping -s -P -a "$SERVER" -S 65000 -v
	each client rping -c -a "$SERVER" -C 3 -V -S 50 -v
	each client rping -c -a "$SERVER" -C 3 -V -S 65000
	end_server
	grep -q "server ping data: rdma-ping-2: CDE" "$BATS_TEST_TMPDIR/server"
	rping_was_well
}

@test "udaddy and udpong: datagrams by rdma_cm" {
	each same_s "udaddy -c 3 -C 50 -S 500"
	begin_server udpong -b "$SERVER" -T e
	each client udpong -s "$SERVER" -C 100 -S 1000 -T e
	end_server
}

@test "cmtime: many connections at once" {
	begin_server cmtime -b "$SERVER" -c 50
	each client cmtime -s "$SERVER" -c 50
	end_server
}

@test "rstream and riostream: every way of waiting" {
	each same_s "rstream -S 20000 -C 20 -T v -T b"
	each same_s "rstream -S 20000 -C 20 -T v -T n"
	each same_s "rstream -S 20000 -C 20 -T f"
	each same_s "riostream -S 20000 -C 20 -T b"
}

@test "mckey: members on both hosts hear one sender" {
	local n pids=()

	for n in "$A" "$B"; do
		in_ns "$n" mckey -m 239.77.2.2 -C 5 -b \
			"$([ "$n" = "$A" ] && echo 10.77.0.1 || echo 10.77.0.2)" \
			3>&- >"$BATS_TEST_TMPDIR/$n" 2>&1 &
		pids+=($!)
		wait_for is_member "$n" 239.77.2.2
	done
	in_ns "$B" mckey -m 239.77.2.2 -b 10.77.0.2 -s -C 5
	for n in "${pids[@]}"; do
		wait "$n"
	done
	grep -q "data transfers complete" "$BATS_TEST_TMPDIR/$A"
	grep -q "data transfers complete" "$BATS_TEST_TMPDIR/$B"
}

is_member() { # namespace, group
	ip -n "$1" maddr show dev ent0 | grep -qw "$2"
}

@test "perftest: latencies, RC, UC and UD" {
	need ib_write_lat
	each same "ib_write_lat -x 1 -n 100 -s 8"
	each same "ib_write_lat -x 1 -n 100 -s 4096 -c UC"
	each same "ib_read_lat -x 1 -n 100 -s 4096 -e"
	each same "ib_atomic_lat -x 1 -n 100"
	each same "ib_send_lat -x 1 -n 100 -s 64 -e"
	each same "ib_send_lat -x 1 -n 100 -s 64 -c UD -e"
}

@test "perftest by rdma_cm: WRITE, READ, SEND, atomics, UD" {
	need ib_write_bw
	each same "ib_write_bw -R -x 1 -n 100 -s 65536"
	each same "ib_read_bw -R -x 1 -n 100 -s 65536 -e"
	each same "ib_atomic_bw -R -x 1 -n 100 -e"
	each same "ib_write_lat -R -x 1 -n 100 -s 8"
	each same "ib_read_lat -R -x 1 -n 100 -s 4096 -e"
	each same "ib_send_lat -R -x 1 -n 100 -s 64 -e"
	each same "ib_atomic_lat -R -x 1 -n 100"
	each same "ib_send_bw -R -x 1 -n 100 -s 65536 -b -e"
	each same "ib_send_bw -R -x 1 -n 100 -s 1024 -c UD -e"
}

@test "perftest: many pairs and posts, durations, UC, what there is not" {
	need ib_send_bw
	each same "ib_write_bw -x 1 -n 200 -s 4096 -q 16 -l 8"
	each same "ib_read_bw -x 1 -n 100 -s 65536 -o 16 -q 4"
	each same "ib_send_bw -x 1 -n 200 -s 4096 -r 1024 -t 1024 -b"
	each same "ib_send_bw -x 1 -n 100 -s 1024 -c UC -e"
	each same "ib_send_bw -R -x 1 -n 100 -q 4 -s 4096"
	each same "ib_write_lat -x 1 -n 100 -s 64 -I 220"
	each same "ib_send_bw -x 1 -D 1 -s 1024 -c UD"
	run ! same "$B" "ib_send_bw -x 1 -n 10 -c XRC"
	[[ $output == *"Error opening XRC domain"* ]]
	run ! same "$B" "ib_send_bw -x 1 -n 10 -c DC"
	[[ $output == *"Unable to create QP"* ]]
	run ! in_ns "$A" raw_ethernet_bw --server \
		-E 00:11:22:33:44:55 -B 00:11:22:33:44:56
	[[ $output == *"Unable to create QP"* ]]
	run ! in_ns "$A" ibv_xsrq_pingpong -g 1
	[[ $output == *"Couldn't Open the XRC Domain"* ]]
}

@test "perftest: both directions, shared receive queue, odd sizes" {
	need ib_send_bw
	each same "ib_send_bw -x 1 -n 100 -s 4096 -b -e"
	each same "ib_send_bw -x 1 -n 100 -s 4096 -q 4 -r 64 --use-srq"
	each same "ib_write_bw -x 1 -n 20 -s 1000003 -m 256"
}

@test "qperf" {
	need qperf
	begin_server qperf -lp 20077
	each client qperf -lp 20077 -cm1 -t 1 "$SERVER" rc_lat \
		rc_rdma_read_bw ver_rc_fetch_add
	# Without -cm1 it names its peer by a LID.
	each client qperf -lp 20077 -mt 1024 -t 1 "$SERVER" \
		uc_lat ud_lat
	end_server
}

fio_pair() { # namespace of the client, verb, iodepth and size
	printf '[global]\nioengine=rdma\nport=20078\nbs=64k\nsize=%s\n' "$3" \
		>"$BATS_TEST_TMPDIR/common"
	{
		cat "$BATS_TEST_TMPDIR/common"
		printf '[receiver]\nrw=read\niodepth=16\n'
	} >"$BATS_TEST_TMPDIR/server.fio"
	{
		cat "$BATS_TEST_TMPDIR/common"
		printf 'hostname=%s\nverb=%s\n[sender]\nrw=write\n' "$SERVER" "$2"
		printf 'iodepth=1\niodepth_batch_complete=1\n'
	} >"$BATS_TEST_TMPDIR/client.fio"
	pair "$1" "fio $BATS_TEST_TMPDIR/server.fio" \
		"fio $BATS_TEST_TMPDIR/client.fio"
}

@test "fio writes, reads and sends" {
	need fio
	each fio_pair write 2m
	each fio_pair read 2m
	# fio asks for no RNR retries: as many messages as receives.
	each fio_pair send 512k
}

dapl_pair() { # namespace of the client, provider, command
	pair "$1" "$3 -s -P $2" "$3 -h $SERVER -P $2"
}

# Servers of dtest and dtestx listen after they have sent their address. By scm
# that is TCP: a client that is early is refused, and repeats its request in the
# form of older versions, of which the server leaves two bytes unread.
@test "uDAPL: dtest, dtestcm, dtestsrq, dtestx by rdma_cm and by sockets" {
	need dtest
	local p

	far dapl_pair ofa "dtest -B 10 -b 1000"
	far dapl_pair ofa dtestx
	for p in ofa scm; do
		far dapl_pair $p "dtestcm -c 10"
		far dapl_pair $p "dtestsrq -c 2"
	done
}

@test "uDAPL: dtest, dtestcm, dtestx by LIDs" {
	need dtest
	far dapl_pair ucm "dtest -B 10 -b 1000"
	far dapl_pair ucm "dtestcm -c 10"
	far dapl_pair ucm dtestx
}

# Its client is told by hand which LID and queue pair its server has.
srq_by_lid() { # namespace of the client
	local pid shown=$BATS_TEST_TMPDIR/shown qpn lid

	in_ns "$A" stdbuf -oL dtestsrq -c 2 -s -P ucm 3>&- >"$shown" 2>&1 &
	pid=$!
	wait_for grep -q "Accepting" "$shown"
	qpn=$(sed -n 's/.*(QPN)=\(0x[0-9a-f]*\).*/\1/p' "$shown")
	lid=$(sed -n 's/.*(LID)=\(0x[0-9a-f]*\).*/\1/p' "$shown")
	client "$1" dtestsrq -c 2 -P ucm -q "$qpn" -l "$lid"
	wait $pid
}

@test "uDAPL: dtestsrq by LIDs" {
	need dtestsrq
	each srq_by_lid
}

@test "uDAPL: dapltest finds no limit too low" {
	need dapltest
	local p

	# dapltest cannot name a peer of ucm by anything, on any fabric.
	for p in ofa scm ucm; do
		in_ns "$A" dapltest -T L -D $p -m 20 limit_ia limit_pz \
			limit_evd limit_ep limit_psp limit_lmr limit_rpost
	done
}

@test "uDAPL: dapltest by rdma_cm and by sockets" {
	need dapltest
	local p

	for p in ofa scm; do
		begin_server dapltest -T S -D $p
		each client dapltest -T T -s "$SERVER" -D $p -i 10 -t 2 -w 2 \
			client SR 256 server RW 4096 server RR 4096 \
			server SR 256 client SR 256 server SR 256
		each client dapltest -T P -s "$SERVER" -D $p -i 20 -m b RW 4096
		client "$A" dapltest -T Q -s "$SERVER" -D $p
		wait "$SERVER_PID"
	done
}

ucx_pair() { # namespace of the client, transports, arguments
	pair "$1" "env UCX_TLS=$2 UCX_NET_DEVICES=ent0:1 ucx_perftest -p 20079" \
		"env UCX_TLS=$2 UCX_NET_DEVICES=ent0:1 ucx_perftest $SERVER \
		-p 20079 -n 50 -w 5 $3"
}

@test "UCX: ucx_info, ucx_perftest over RC and UD" {
	need ucx_perftest
	run -0 in_ns "$A" ucx_info -d
	[[ $output == *"Transport: rc_verbs"* ]]
	[[ $output == *"Transport: ud_verbs"* ]]
	each ucx_pair rc,ud "-t tag_lat -s 1000"
	each ucx_pair rc,ud "-t tag_bw -s 100000"
	each ucx_pair rc,ud "-t ucp_put_lat -s 8"
	each ucx_pair rc,ud "-t ucp_fadd -s 8"
	each ucx_pair ud_verbs "-t tag_lat -s 1000"
	each ucx_pair ud_verbs "-t ucp_get -s 8"
}

@test "UCX asleep, and its transports alone" {
	need ucx_perftest
	local t

	each ucx_pair rc,ud "-t tag_lat -s 8 -E sleep"
	each ucx_pair rc,ud "-t stream_bw -s 100000 -E sleep"
	each ucx_pair ud_verbs "-t tag_lat -s 8 -E sleep"
	for t in am_lat put_bw fadd cswap; do
		ucx_pair "$B" rc_verbs "-d ent0:1 -x rc_verbs -t $t -s 8"
	done
	ucx_pair "$B" ud_verbs "-d ent0:1 -x ud_verbs -t am_bw -s 80"
}

@test "ibstat and ibstatus show the port" {
	need ibstat ibstatus
	run -0 in_ns "$A" ibstat
	[[ $output == *"CA 'ent0'"*"Hardware version: 0"*"State: Active"* ]]
	run -0 in_ns "$A" ibstatus
	[[ $output == *"device 'ent0' port 1"*"base lid:	 0x1"*"4: ACTIVE"* ]]
}

@test "libfabric: fi_info, fi_pingpong with messages, datagrams and ofi_rxm" {
	need fi_pingpong
	run -0 in_ns "$A" fi_info -p verbs
	[[ $output == *FI_PROTO_RDMA_CM_IB_RC* ]]
	[[ $output == *FI_PROTO_IB_UD* ]]
	each same "fi_pingpong -p verbs -e msg -I 20 -S 4096 -c"
	each rxm -S 65536
	each same "fi_pingpong -p verbs -e dgram -I 20 -S 64"
	each same "fi_pingpong -p verbs;ofi_rxd -e rdm -I 10 -S 65536 -c"
}

# A socket program on rsockets.
rsocket_pair() { # namespace of the client, server command, client command
	local library

	library=$(echo /usr/lib/*/rsocket/librspreload.so)
	[ -e "$library" ] || skip "librspreload is missing"
	library="env LD_PRELOAD=$BIN/../lib/libofed_core.so:$library"
	pair "$1" "$library $2" "$library $3"
}

@test "librspreload: plain socket programs go by RDMA" {
	need iperf
	local before

	before=$(statistic "$A" packets_received)
	each rsocket_pair "iperf -s -P 1 -B $SERVER -p 20081" \
		"iperf -c $SERVER -p 20081 -n 5M"
	[ $(($(statistic "$A" packets_received) - before)) -gt 1000 ]
}

@test "ibv_asyncwatch hears of the port and its addresses" {
	local pid

	in_ns "$A" stdbuf -oL ibv_asyncwatch -d ent0 3>&- \
		>"$BATS_TEST_TMPDIR/out" 2>&1 &
	pid=$!
	wait_for grep -q "async event FD" "$BATS_TEST_TMPDIR/out"
	ip -n "$A" addr add 10.77.8.8/24 dev ent0
	wait_for grep -q GID_CHANGE "$BATS_TEST_TMPDIR/out"
	ip -n "$B" link set ent0 down
	wait_for grep -q PORT_ERR "$BATS_TEST_TMPDIR/out"
	ip -n "$B" link set ent0 up
	wait_for grep -q PORT_ACTIVE "$BATS_TEST_TMPDIR/out"
	kill "$pid"
	wait "$pid" || :
}
