/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * neighbor: the Ethernet address a GID is reached at.
 */
#include "ofed_core/device/neighbor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/device/device.h"
#include "ofed_core/device/netlink.h"
#include "ofed_core/device/rtattr.h"

#define DISCARD_PORT 9
#define NUD_USABLE                                                             \
	(NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT)

struct query {
	struct nlmsghdr h;
	struct ndmsg n;
	char attributes[32];
};

bool neighbor_from_gid(const uint8_t gid[16], uint8_t mac[6])
{
	if (gid_is_ip4(gid) && gid_is_multicast(gid)) {
		static const uint8_t group[3] = {0x01, 0x00, 0x5e};

		memcpy(mac, group, 3);
		memcpy(mac + 3, gid + 13, 3);
		mac[3] &= 0x7f;
		return true;
	}
	if (gid_is_multicast(gid)) {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, gid + 12, 4);
		return true;
	}
	if (gid[0] == 0xfe && gid[1] == 0x80 && gid[11] == 0xff &&
	    gid[12] == 0xfe) {
		memcpy(mac, gid + 8, 3);
		mac[0] ^= 2;
		memcpy(mac + 3, gid + 13, 3);
		return true;
	}
	return false;
}

static int read_answer(struct nlmsghdr *h, uint8_t mac[6])
{
	struct ndmsg *n = NLMSG_DATA(h);
	int left = (int)NLMSG_PAYLOAD(h, sizeof(*n));
	struct rtattr *a = (void *)((char *)n + NLMSG_ALIGN(sizeof(*n)));

	if (left < 0 || h->nlmsg_type != RTM_NEWNEIGH ||
	    !(n->ndm_state & NUD_USABLE))
		return -ENOENT;
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == NDA_LLADDR && RTA_PAYLOAD(a) == 6) {
			memcpy(mac, RTA_DATA(a), 6);
			return 0;
		}
	return -ENOENT;
}

/* An empty datagram to nobody makes the kernel look for the neighbour. */
static void start_discovery(unsigned ifindex, const uint8_t gid[16])
{
	struct sockaddr_in to4 = {.sin_family = AF_INET,
				  .sin_port = htons(DISCARD_PORT)};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(DISCARD_PORT),
				   .sin6_scope_id = ifindex};
	bool is_ip4 = gid_is_ip4(gid);
	int fd = socket(is_ip4 ? AF_INET : AF_INET6,
			SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	memcpy(&to4.sin_addr, gid + 12, 4);
	memcpy(&to6.sin6_addr, gid, 16);
	if (sendto(fd, "", 0, 0,
		   is_ip4 ? (struct sockaddr *)&to4 : (struct sockaddr *)&to6,
		   is_ip4 ? sizeof(to4) : sizeof(to6)) < 0)
		errno = 0;
	close(fd);
}

int neighbor_find(unsigned ifindex, const uint8_t gid[16], uint8_t mac[6])
{
	bool is_ip4 = gid_is_ip4(gid);
	uint16_t size = is_ip4 ? 4 : 16;
	struct query q = {.h = {.nlmsg_len = NLMSG_LENGTH(sizeof(q.n)),
				.nlmsg_type = RTM_GETNEIGH,
				.nlmsg_flags = NLM_F_REQUEST},
			  .n = {.ndm_family = is_ip4 ? AF_INET : AF_INET6,
				.ndm_ifindex = (int)ifindex}};
	_Alignas(8) char answer[1024];
	int rc = -ENOENT;
	ssize_t n;

	netlink_add(&q.h, NDA_DST, gid + 16 - size, size);
	n = netlink_ask(NETLINK_ROUTE, &q.h, answer, sizeof(answer));
	if (n < 0)
		return (int)n;
	if (n >= (ssize_t)NLMSG_LENGTH(sizeof(struct ndmsg)))
		rc = read_answer((void *)answer, mac);
	if (rc < 0)
		start_discovery(ifindex, gid);
	return rc;
}

struct route_query {
	struct nlmsghdr h;
	struct rtmsg r;
	char attributes[64];
};

static int read_route(struct nlmsghdr *h, unsigned ifindex, uint8_t hop[16])
{
	struct rtmsg *r = NLMSG_DATA(h);
	int left = (int)RTM_PAYLOAD(h);
	unsigned out = 0;

	if (left < 0 || h->nlmsg_type != RTM_NEWROUTE ||
	    r->rtm_type != RTN_UNICAST)
		return -EHOSTUNREACH;
	for (struct rtattr *a = RTM_RTA(r); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type == RTA_OIF)
			rtattr_get(a, &out, sizeof(out));
		/* An IPv4 route by way of an IPv6 neighbour is left alone. */
		if (a->rta_type == RTA_VIA || a->rta_type == RTA_ENCAP)
			return -EHOSTUNREACH;
		if (a->rta_type == RTA_GATEWAY) {
			uint32_t gateway;

			if (!rtattr_get(a, &gateway, sizeof(gateway)))
				return -EHOSTUNREACH;
			gid_from_ip4(hop, gateway);
		}
	}
	return out == ifindex ? 0 : -EHOSTUNREACH;
}

int neighbor_next_hop(unsigned ifindex, const uint8_t sgid[16],
		      const uint8_t dgid[16], uint8_t hop[16])
{
	struct route_query q = {
	    .h = {.nlmsg_len = NLMSG_LENGTH(sizeof(q.r)),
		  .nlmsg_type = RTM_GETROUTE,
		  .nlmsg_flags = NLM_F_REQUEST},
	    .r = {.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_src_len = 32}};
	_Alignas(8) char answer[2048];
	ssize_t n;

	memcpy(hop, dgid, 16);
	netlink_add(&q.h, RTA_DST, dgid + 12, 4);
	netlink_add(&q.h, RTA_SRC, sgid + 12, 4);
	netlink_add(&q.h, RTA_OIF, &ifindex, sizeof(ifindex));
	n = netlink_ask(NETLINK_ROUTE, &q.h, answer, sizeof(answer));
	if (n < 0)
		return (int)n;
	return n >= (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg))
		   ? read_route((void *)answer, ifindex, hop)
		   : -EHOSTUNREACH;
}
