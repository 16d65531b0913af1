#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# guest: the first process of the virtual machine.
#
# The host's file system is the guest's, seen through an overlay: nothing that is
# written there leaves the machine. shell.py answers on port
# 7000. With "smc" on the kernel's command line its SMC-R works over rxe0, which has
# GIDs of both versions of RoCE then.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r module; do
	$b insmod "/modules/$module" || echo "insmod $module failed"
done </modules/order
if $b grep -qw smc /proc/cmdline; then
	$b insmod /modules/rxe_smc.ko v1=1 || echo "insmod rxe_smc failed"
	while read -r module; do
		$b insmod "/modules/$module" || echo "insmod $module failed"
	done </modules/smc
fi

$b mount -t tmpfs tmpfs /rw
$b mkdir -p /rw/up /rw/work /rw/root
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 \
	host /lower || echo "no file system of the host"
$b mount -t overlay -o lowerdir=/lower,upperdir=/rw/up,workdir=/rw/work \
	overlay /rw/root || echo "no overlay"
for dir in proc sys dev; do
	$b mount -o bind /$dir /rw/root/$dir
done
$b mount -t tmpfs tmpfs /rw/root/run

# One machine is 10.77.0.2 and fd77::2, a second one beside it .3.
me=2
if $b grep -qw second /proc/cmdline; then
	me=3
fi
cat >/rw/root/run/start <<END
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C
ulimit -l unlimited
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
ip link set lo up
ip link set eth0 up
ip addr add 10.77.0.$me/24 dev eth0
ip addr add fd77::$me/64 dev eth0 nodad
rdma link add rxe0 type rxe netdev eth0
exec python3 /run/shell.py serve 7000
END
$b cp /shell.py /rw/root/run/
$b chroot /rw/root /bin/sh /run/start
echo "the guest has nothing left to do"
$b poweroff -f
