#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# pyverbs: rdma-core's own tests, as Debian ships them with python3-pyverbs.
# limit: 240

bats_require_minimum_version 1.5.0
load net

SUITE=/usr/share/doc/rdma-core/tests

suite_needs() {
	if ! [ -e "$SUITE/test_mr.py.gz" ]; then
		# Images without documentation lack it even with the package.
		echo "$SUITE is missing (python3-pyverbs)"
	fi
}

suite_begin() {
	start_core "$A"
	cp -r "$SUITE" "$BATS_FILE_TMPDIR/tests"
	gunzip -f "$BATS_FILE_TMPDIR"/tests/*.gz
	cd "$BATS_FILE_TMPDIR" || return
	# Debian's interpreter: the module is built for it.
	timeout -k 5 180 ip netns exec "$A" "$BIN/ofed_run" /usr/bin/python3 \
		tests/run_tests.py --dev ent0 --gid 1 -v \
		>"$BATS_FILE_TMPDIR/out" 2>&1 3>&- || :
}

@test "no test of rdma-core fails, and more than 95 run" {
	local passed

	tail -n 1 "$BATS_FILE_TMPDIR/out" | grep -q '^OK' || {
		grep -E '^(FAIL|ERROR):|^[^ ]*Error' "$BATS_FILE_TMPDIR/out"
		tail -n 5 "$BATS_FILE_TMPDIR/out"
		return 1
	}
	passed=$(grep -c '\.\.\. ok$' "$BATS_FILE_TMPDIR/out")
	echo "$passed passed"
	[ "$passed" -gt 95 ]
}

@test "every skip is one that is explained" {
	local bad=0 reason

	while read -r reason; do
		explained "$reason" || {
			echo "not in pyverbs_skips: $reason"
			bad=1
		}
	done < <(sed -n "s/.*\.\.\. skipped ['\"]\(.*\)['\"]\$/\1/p" \
		"$BATS_FILE_TMPDIR/out" | sort -u)
	[ $bad = 0 ]
}

explained() { # reason
	local pattern why

	while IFS=$'\t' read -r pattern why; do
		# The pattern is one: no quotes.
		# shellcheck disable=SC2053
		[[ -n $why && $1 == $pattern ]] && return
	done < <(grep -v '^#' "$BATS_TEST_DIRNAME/pyverbs_skips")
	return 1
}

@test "nothing of it is left in the core" {
	wait_for is_idle
}

is_idle() {
	[ "$(statistic "$A" queue_pairs)" = 0 ]
}

@test "a completion channel is read as the kernel's: EAGAIN, EINTR, sleep" {
	run -0 in_ns "$A" /usr/bin/python3 -c '
import ctypes, fcntl, os, signal, time
from pyverbs.cq import CompChannel
from pyverbs.device import Context

libc = ctypes.CDLL(None, use_errno=True)
context = Context(name="ent0")
before = set(os.listdir("/proc/self/fd"))
channel = CompChannel(context)
fd = next(int(n) for n in set(os.listdir("/proc/self/fd")) - before
          if os.path.exists(f"/proc/self/fd/{n}"))

def read():
    n = libc.read(fd, ctypes.create_string_buffer(8), 8)
    return n, os.strerror(ctypes.get_errno()) if n < 0 else ""

flags = fcntl.fcntl(fd, fcntl.F_GETFL)
fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)
print("nonblocking", *read())
fcntl.fcntl(fd, fcntl.F_SETFL, flags)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.5)
used = time.process_time()
print("interrupted", *read())
# It slept nearly all of that half second.
print("slept", time.process_time() - used < 0.1)
'
	[[ $output == *"nonblocking -1 Resource temporarily unavailable"* ]]
	[[ $output == *"interrupted -1 Interrupted system call"* ]]
	[[ $output == *"slept True"* ]]
}

@test "arming tells at once of completions that nobody was told of, as adapters do" {
	run -0 in_ns "$A" /usr/bin/python3 -c '
import os, select
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.enums import *
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

context = Context(name="ent0")
before = set(os.listdir("/proc/self/fd"))
channel = CompChannel(context)
fd = next(int(n) for n in set(os.listdir("/proc/self/fd")) - before
          if os.path.exists(f"/proc/self/fd/{n}"))
attr = QPAttr(port_num=1)
attr.qkey = 7
pd = PD(context)
sends, receives = CQ(context, 16, None, channel, 0), CQ(context, 16)
qp = QP(pd, QPInitAttr(qp_type=IBV_QPT_UD, sq_sig_all=0,
                       scq=sends, rcq=receives,
                       cap=QPCap(max_send_wr=8, max_recv_wr=8)), attr)
mr = MR(pd, 4096, IBV_ACCESS_LOCAL_WRITE)
ah = AH(pd, attr=AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
    dgid=context.query_gid(1, 1), sgid_index=1)))

def send(flags):
    qp.post_recv(RecvWR(sg=[SGE(mr.buf, 4096, mr.lkey)], num_sge=1))
    wr = SendWR(sg=[SGE(mr.buf, 8, mr.lkey)], num_sge=1, send_flags=flags)
    wr.set_wr_ud(ah, qp.qp_num, 7)
    qp.post_send(wr)
    # What was sent before the last one that arrived has completed.
    while not receives.poll(1)[0]:
        pass

def two(flags=IBV_SEND_SIGNALED):
    send(flags)
    send(0)

def told(seconds):
    if not select.select([fd], [], [], seconds)[0]:
        return False
    channel.get_cq_event(sends)
    sends.ack_events(1)
    return True

two()
assert not told(0)
sends.req_notify()
assert told(10), "late"
sends.req_notify()
assert not told(0), "twice"
two()
assert told(10), "armed"
two()
sends.req_notify()
assert not told(0), "with one that was told of"
assert sends.poll(16)[0] == 3
two()
assert told(10), "armed again"
assert sends.poll(16)[0] == 1
two(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)
sends.req_notify(solicited_only=True)
assert not told(0), "a send is not solicited"
print("as it should be")
'
	[[ $output == *"as it should be"* ]]
}
