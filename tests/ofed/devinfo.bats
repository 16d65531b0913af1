#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# devinfo: ibv_devinfo -e, and that the rest is the stock tool's.

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	MAC=$(ip netns exec "$A" cat /sys/class/net/ent0/address)
	export MAC
	start_core "$A"
	wait_for has_local "$A"
}

has_local() { # namespace
	plain "$1" -e 2>/dev/null | grep -q fe80:
}

# Without ofed_run.
plain() { # namespace, words...
	local n=$1

	shift
	ip netns exec "$n" "$BIN/ibv_devinfo" "$@"
}

# Every line but the one of the link-local GID, whose place is not settled.
table() {
	plain "$A" "$@" | grep -v fe80:
}

# Restarts the core of $A with a roce_v2_mode.
again() { # mode
	stop_core "$A"
	OFED_CORE_ROCE_V2_MODE=$1 start_core "$A"
	wait_for has_local "$A"
}

@test "-e prints one line for each GID, as AIX does" {
	[ "$(table -e)" = "\
Device   GID                                     GID Type Net Type MAC Address       Net Address
ent0     0000:0000:0000:0000:0000:ffff:0a4d:0001 RoCEv1   ETHER    $MAC (off)
ent0     0000:0000:0000:0000:0000:ffff:0a4d:0001 RoCEv2   IPv4     $MAC 010.077.000.001
ent0     fd77:0000:0000:0000:0000:0000:0000:0001 RoCEv1   ETHER    $MAC (off)
ent0     fd77:0000:0000:0000:0000:0000:0000:0001 RoCEv2   IPv6     $MAC fd77::1" ]
	# The link-local one: of the MAC address (modified EUI-64).
	IFS=: read -ra m <<<"$MAC"
	first=$(printf %02x $((0x${m[0]} ^ 2)))
	[ "$(plain "$A" -e | grep "fe80:.*RoCEv2" | cut -c 1-84)" = "\
ent0     fe80:0000:0000:0000:$first${m[1]}:${m[2]}ff:fe${m[3]}:${m[4]}${m[5]} \
RoCEv2   IPv6     $MAC" ]
}

@test "version 1 has no address below the GID" {
	again 0
	[[ $(table -e) == *"
ent0     0000:0000:0000:0000:0000:ffff:0a4d:0001 RoCEv1   ETHER    $MAC
ent0     0000:0000:0000:0000:0000:ffff:0a4d:0001 RoCEv2   IPv4     $MAC 010.077.000.001 (off)
"* ]]
	again 2
	[[ $(table -e) != *"(off)"* ]]
	[[ $(table -e) == *":0001 RoCEv1 "*":0001 RoCEv2 "* ]]
	again 1
}

@test "-e under ofed_run is the same table" {
	[ "$(plain "$A" -e)" = "$(in_ns "$A" ibv_devinfo -e)" ]
}

@test "the table follows the addresses" {
	ip -n "$A" addr add 10.200.200.1/24 dev ent0
	wait_for has_line "IPv4     $MAC 010.200.200.001"
	ip -n "$A" addr del 10.200.200.1/24 dev ent0
	wait_for has_no_line 010.200.200.001
}

has_line() { # text
	plain "$A" -e | grep -q "$1"
}

has_no_line() { # text
	! has_line "$1"
}

@test "-d, -i and -l choose" {
	[ "$(plain "$A" -e -d ent0 -i 1)" = "$(plain "$A" -e)" ]
	[ "$(plain "$A" -e --ib-dev=ent0)" = "$(plain "$A" -e)" ]
	[ "$(plain "$A" -le | head -n 3)" = "1 HCA found:
	ent0" ]
	run -255 plain "$A" -e -d ent7
	[ "$output" = "ibv_devinfo: there is no RDMA device ent7" ]
	run -255 plain "$A" -e -i 2
	[ "$output" = "ibv_devinfo: there is no port 2" ]
}

@test "wrong words print the usage" {
	for words in "-e -v" "-e -i x" "-e -i 0" "-e x" "-e -z"; do
		# shellcheck disable=SC2086
		run -1 plain "$A" $words
		[[ $output == "Usage: ibv_devinfo "* ]]
	done
	run -0 plain "$A" -h
	[[ $output == *"-e "*"extended GID tables"* ]]
}

@test "the rest comes from the stock tool, with the devices of the core" {
	stock=$(ip netns exec "$A" "$BIN/ofed_run" /usr/bin/ibv_devinfo -v)
	[[ $stock == *"hca_id:	ent0"* ]]
	[ "$(plain "$A" -v)" = "$stock" ]
	[ "$(plain "$A" -l)" = "1 HCA found:
	ent0" ]
	run ! plain "$A" -z
	[[ $output == *"--ib-dev="* ]]
}

@test "without a core: no device, and the cure" {
	[ ! -e /sys/class/infiniband ] || skip "the kernel has RDMA"
	for flag in -e "" -v -l; do
		# shellcheck disable=SC2086
		run -255 plain "$B" $flag
		[ "$output" = "ibv_devinfo: there is no RDMA device; ofedctrl -l loads the RDMA core" ]
	done
}
