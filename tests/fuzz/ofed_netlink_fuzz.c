/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_netlink_fuzz: any bytes as what the kernel tells the RDMA core of
 * interfaces, addresses, routes, neighbours and filters.
 *
 * Input: answers, each with its length in two bytes; the questions get them in
 * turn, and an error after the last one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ofed_core/device/egress.h"
#include "ofed_core/device/neighbor.h"
#include "ofed_core/device/netdev.h"
#include "ofed_core/device/route.h"
#include "ofed_core/device/sysfs.h"
#include "tests/fuzz/idle_worker.h"

#define FD 1000 /* of no file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *answers;
static size_t answers_left;

static void must(int holds)
{
	if (!holds)
		abort();
}

/* ---- what stands in for the kernel, and for what is told ---- */

int socket(int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return FD;
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	(void)fd;
	(void)address;
	(void)length;
	return 0;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags)
{
	(void)fd;
	(void)bytes;
	(void)flags;
	return (ssize_t)count;
}

ssize_t recv(int fd, void *out, size_t count, int flags)
{
	size_t n;

	(void)fd;
	(void)flags;
	if (answers_left < 2) {
		errno = ENOBUFS;
		return -1;
	}
	n = answers[0] | (size_t)answers[1] << 8;
	answers += 2;
	answers_left -= 2;
	n = n < answers_left ? n : answers_left;
	count = count < n ? count : n;
	memcpy(out, answers, count);
	answers += n;
	answers_left -= n;
	return (ssize_t)count;
}

void sysfs_write(void)
{
}

static void on_gone(const struct device *d)
{
	(void)d;
}

static void on_change(const struct device *d, enum netdev_change change)
{
	(void)d;
	(void)change;
}

static bool is_used(const struct device *d)
{
	(void)d;
	return false;
}

static void look_at_devices(void)
{
	static const struct netdev_events events = {on_gone, on_change,
						    is_used};

	netdev_start(&events);
	must(device_count <= DEVICES_MAX);
	for (unsigned i = 0; i < device_count; i++)
		must(memchr(devices[i].netdev, '\0', IF_NAMESIZE) &&
		     memchr(devices[i].name, '\0', DEVICE_NAME_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t ip4[16] = {[10] = 0xff, [11] = 0xff, 10, 1, 2, 3};
	static const uint8_t ip6[16] = {0x20, 1, [15] = 1};
	uint8_t mac[6], hop[16], source[16];
	unsigned ifindex;

	log_level_set(-1);
	memset(devices, 0, sizeof(devices));
	device_count = 0;
	answers = data;
	answers_left = size;
	look_at_devices();
	look_at_devices();
	route_find(ip4, NULL, 0, &ifindex, source);
	route_find(ip6, NULL, 2, &ifindex, source);
	route_find(ip6, ip6, 0, &ifindex, source);
	neighbor_find(2, ip4, mac);
	neighbor_find(2, ip6, mac);
	neighbor_next_hop(2, ip4, ip4, hop);
	egress_has_rules();
	return 0;
}
