/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: opening and closing, groups, counters.
 */
#include "ofed_core/wire/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "ofed_core/base/log.h"
#include "ofed_core/wire/wire_socket.h"

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

int wire_open(void (*on_packets)(const struct arrival *a, unsigned count))
{
	int rc = wire_receive_open(on_packets);

	if (rc < 0) {
		wire_receive_close();
		return rc;
	}
	worker_after_batch = wire_flush;
	is_open = true;
	return 0;
}

void wire_close(void)
{
	wire_receive_close();
}

int wire_mcast(const struct device *d, const uint8_t gid[16], bool join)
{
	struct ip_mreqn m4 = {.imr_ifindex = (int)d->ifindex};
	struct ipv6_mreq m6 = {.ipv6mr_interface = d->ifindex};
	int fd = wire_receive_socket(gid_is_ip4(gid));
	int rc;

	if (!is_open || fd < 0)
		return -ENETDOWN;
	if (gid_is_ip4(gid)) {
		memcpy(&m4.imr_multiaddr, gid + 12, 4);
		rc = setsockopt(fd, IPPROTO_IP,
				join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				&m4, sizeof(m4));
	} else {
		memcpy(&m6.ipv6mr_multiaddr, gid, 16);
		rc = setsockopt(fd, IPPROTO_IPV6,
				join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &m6,
				sizeof(m6));
	}
	if (rc < 0)
		log_warning("multicast group not %s: error %d",
			    join ? "joined" : "left", errno);
	return rc < 0 ? -errno : 0;
}
