/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: what keeps the port, groups, counters.
 *
 * A UDP socket that drops everything keeps the kernel from answering on our
 * port with ICMP.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"
#include "wire_socket.h"

#define BUFFER_BYTES (16 << 20)

const char *const wire_counter_name[WIRE_COUNTERS] = {
    [WIRE_SENT] = "packets_sent",
    [WIRE_FRAMES] = "packets_sent_as_frames",
    [WIRE_RECEIVED] = "packets_received",
    [WIRE_LOST_ON_PURPOSE] = "packets_lost_on_purpose",
    [WIRE_DOUBLED_ON_PURPOSE] = "packets_doubled_on_purpose",
    [WIRE_DELAYED_ON_PURPOSE] = "packets_delayed_on_purpose",
    [WIRE_BAD_ICRC] = "packets_bad_icrc",
    [WIRE_BAD_PACKET] = "packets_malformed",
    [WIRE_NO_QP] = "packets_without_queue_pair",
    [WIRE_SEND_ERRORS] = "send_errors",
    [WIRE_RETRANSMITS] = "retransmissions",
};

static _Atomic uint64_t counters[WIRE_COUNTERS];
static bool is_open;
static int holder4 = -1;
static int holder6 = -1;

void wire_count(enum wire_counter c, uint64_t n)
{
	atomic_fetch_add_explicit(&counters[c], n, memory_order_relaxed);
}

uint64_t wire_counter(enum wire_counter c)
{
	return atomic_load_explicit(&counters[c], memory_order_relaxed);
}

bool wire_is_open(void)
{
	return is_open;
}

void wire_set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
		log_debug("socket option %d/%d: error %d", level, option,
			  errno);
}

void wire_enlarge(int fd, int force, int polite)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) < 0)
		wire_set(fd, SOL_SOCKET, polite, size);
}

/* Owns the port, and drops what arrives there. */
static int open_holder(int family)
{
	struct sockaddr_in6 a = {.sin6_family = (sa_family_t)family,
				 .sin6_port = htons(ROCE_PORT)};
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog p = {1, &drop};
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		wire_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)) == 0 &&
	    bind(fd, (struct sockaddr *)&a,
		 family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(a)) ==
		0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int wire_open(void)
{
	int rc;

	holder4 = open_holder(AF_INET);
	if (holder4 < 0)
		return holder4;
	holder6 = open_holder(AF_INET6);
	rc = wire_receive_open(holder6 >= 0);
	if (rc < 0)
		return rc;
	worker_after_batch = wire_flush;
	is_open = true;
	return 0;
}

void wire_close(void)
{
	if (holder4 >= 0)
		close(holder4);
	if (holder6 >= 0)
		close(holder6);
	holder4 = holder6 = -1;
}

int wire_mcast(const struct device *d, const uint8_t gid[16], bool join)
{
	struct ip_mreqn m4 = {.imr_ifindex = (int)d->ifindex};
	struct ipv6_mreq m6 = {.ipv6mr_interface = d->ifindex};
	int rc;

	if (!is_open)
		return -ENETDOWN;
	if (gid_is_ip4(gid)) {
		memcpy(&m4.imr_multiaddr, gid + 12, 4);
		rc = setsockopt(holder4, IPPROTO_IP,
				join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				&m4, sizeof(m4));
	} else {
		memcpy(&m6.ipv6mr_multiaddr, gid, 16);
		rc = setsockopt(holder6, IPPROTO_IPV6,
				join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &m6,
				sizeof(m6));
	}
	if (rc < 0)
		log_warning("multicast group not %s: error %d",
			    join ? "joined" : "left", errno);
	return rc < 0 ? -errno : 0;
}
