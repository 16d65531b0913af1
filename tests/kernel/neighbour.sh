#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# neighbour: a second host in the virtual machine, with the kernel's SMC-R.
#
# It is the network namespace "neighbour", 10.77.0.77 and fd77::77. What it and the
# machine say to each other goes over a veth pair, and over one rxe0: the way
# to the machine's addresses is not the interface that has them, so both ends
# find the RNIC's GIDs. Here it has those of RoCE version 1, too, which the wire
# between machines has not, as rdma_rxe of Linux 6.1 sends and hears UDP only.
set -e
here=$(dirname "$0")

ip netns add neighbour
ip link add veth0 type veth peer name eth1 netns neighbour
ip link set veth0 up
for net in all default; do
	ip netns exec neighbour \
		sysctl -qw "net.ipv6.conf.$net.accept_dad=0"
done
ip -n neighbour link set lo up
ip -n neighbour link set eth1 up
ip -n neighbour addr add 10.77.0.77/24 dev eth1
ip -n neighbour addr add fd77::77/64 dev eth1 nodad
ip route add 10.77.0.77/32 dev veth0 src 10.77.0.2
ip -6 route add fd77::77/128 dev veth0 src fd77::2
# Over IPv6 nobody asks for an address of another interface.
ip -n neighbour neigh replace fd77::2 \
	lladdr "$(cat /sys/class/net/veth0/address)" dev eth1
ip netns exec neighbour "$here/smc.py" pnet eth1
# This is for the TCP option.
mount -t cgroup2 none /sys/fs/cgroup
mount -t bpf none /sys/fs/bpf
