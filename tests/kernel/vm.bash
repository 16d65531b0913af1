# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# vm: a virtual machine with the kernel's rdma_rxe beside a core of ours.
#
# The machine's network card is the other end of "ent0" in the namespace $A, where
# ofed_core runs: we are 10.77.0.1 and fd77::1, the kernel is 10.77.0.2 and fd77::2.
# It is emulated (TCG) unless $OFED_KERNEL_ACCEL says "kvm". Comes after net.bash.
# shellcheck disable=SC2153 # $SERVER is of net.bash

IMAGE=${OFED_KERNEL_DIR:-${SMC_R_TOP:-$BATS_TEST_DIRNAME/../..}/build/kernel}
GUEST=10.77.0.2

# Why there can be no machine; empty when there can.
why_no_vm() {
	if [ ! -c /dev/net/tun ]; then
		echo "there is no /dev/net/tun"
		return
	fi
	if [ ! -e "$IMAGE/initramfs" ]; then
		# Downloading is for make, before the clock of the suite runs.
		tail -n 1 "$IMAGE/log" 2>/dev/null ||
			echo "make check-kernel has not been run"
		return
	fi
	"$BATS_TEST_DIRNAME/image.sh" "$IMAGE" 2>&1 | tail -n 1
}

tap_namespace() {
	ip netns add "$A" &&
		ip -n "$A" tuntap add dev ent0 mode tap || return
	ip netns exec "$A" sysctl -qw net.ipv6.conf.ent0.accept_dad=0
	ip -n "$A" addr add 10.77.0.1/24 dev ent0
	ip -n "$A" addr add fd77::1/64 dev ent0 nodad
	ip -n "$A" link set lo up
	ip -n "$A" link set ent0 up
}

start_vm() { # words for the kernel's command line
	local console=$BATS_FILE_TMPDIR/console

	ip netns exec "$A" qemu-system-x86_64 -nodefaults -no-user-config \
		-display none -no-reboot -M q35 -m 800 -smp 1 -cpu max \
		-accel "${OFED_KERNEL_ACCEL:-tcg,thread=multi}" \
		-kernel "$IMAGE/vmlinuz" -initrd "$IMAGE/initramfs" \
		-append "console=ttyS0 quiet loglevel=4 panic=-1 \
mitigations=off no_timer_check tsc=reliable random.trust_cpu=on net.ifnames=0 ${1-}" \
		-serial "file:$console" -monitor none \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-netdev tap,id=net,ifname=ent0,script=no,downscript=no \
		-device virtio-net-pci,netdev=net,mac=52:54:00:00:00:02,romfile= \
		>"$BATS_FILE_TMPDIR/qemu" 2>&1 3>&- </dev/null &
	echo $! >"$BATS_FILE_TMPDIR/vm.pid"
	if ! wait_long 300 guest true; then
		cat "$BATS_FILE_TMPDIR/qemu"
		tail -n 20 "$console"
		return 1
	fi
}

stop_vm() {
	local pid

	pid=$(cat "$BATS_FILE_TMPDIR/vm.pid" 2>/dev/null) || return 0
	kill "$pid" 2>/dev/null
	PATIENCE=10 wait_for is_gone "$pid" || kill -KILL "$pid"
}

is_gone() { # pid
	! kill -0 "$1" 2>/dev/null
}

wait_long() { # seconds, command...
	local end=$((SECONDS + $1))

	shift
	while ! "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "never happened: $*" >&2
			return 1
		fi
		sleep 0.3
	done
}

# A command line for the guest's shell; prints what it says, returns its status.
guest() { # command...
	ip netns exec "$A" "$BATS_TEST_DIRNAME/shell.py" ask "$GUEST" 7000 "$*"
}

# A server in the guest. What it says is in /run/server, its status in
# /run/status once it has ended.
guest_server() { # command
	guest "rm -f /run/status; (timeout 60 $1 >/run/server 2>&1; \
		echo \$? >/run/status) >/dev/null 2>&1 &"
	wait_for guest "ss -Hltn 'sport = :18515 or sport = :18516' |
		grep -q . || rdma resource show cm_id | grep -q LISTEN"
}

# The kernel serves, we are the client.
to_kernel() { # server command, client command
	local -a client

	guest_server "$1"
	read -ra client <<<"$2"
	if ! in_ns "$A" "${client[@]}" >"$BATS_TEST_TMPDIR/client" 2>&1 ||
		! wait_for guest "test -s /run/status" ||
		[ "$(guest cat /run/status)" != 0 ]; then
		cat "$BATS_TEST_TMPDIR/client"
		guest "echo status of the server:; cat /run/status /run/server"
		return 1
	fi
}

# We serve, the kernel is the client.
from_kernel() { # server command, client command
	local pid
	local -a server

	read -ra server <<<"$1"
	in_ns "$A" "${server[@]}" >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	pid=$!
	wait_for listens "$A" "$pid"
	if ! guest "timeout 60 $2" >"$BATS_TEST_TMPDIR/client" 2>&1 ||
		! wait "$pid"; then
		echo "the kernel's client:"
		cat "$BATS_TEST_TMPDIR/client"
		echo "our server:"
		cat "$BATS_TEST_TMPDIR/server"
		return 1
	fi
}

# Runs a command with the same options on both sides, in both directions.
both_ways() { # command
	: >"$BATS_TEST_TMPDIR/server"
	to_kernel "$1" "$1 $GUEST" ||
		{ was_disturbed && to_kernel "$1" "$1 $GUEST"; }
	from_kernel "$1" "$1 $SERVER" ||
		{ was_disturbed && from_kernel "$1" "$1 $SERVER"; }
}

# Runs it likewise, with -s before the address, as the programs of librdmacm.
both_ways_s() { # command
	to_kernel "$1" "$1 -s $GUEST"
	from_kernel "$1" "$1 -s $SERVER"
}
