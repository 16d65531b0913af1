/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * route: asks the kernel how it would reach an address.
 */
#include "ofed_core/device/route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "ofed_core/device/device.h"
#include "ofed_core/device/netlink.h"
#include "ofed_core/device/rtattr.h"

struct query {
	struct nlmsghdr h;
	struct rtmsg r;
	char attributes[128];
};

static int read_answer(struct nlmsghdr *h, bool is_ip4, unsigned *ifindex,
		       uint8_t source[16])
{
	struct rtmsg *r = NLMSG_DATA(h);
	int left = (int)RTM_PAYLOAD(h);
	bool has_source = false;
	uint32_t ip4;

	if (left < 0)
		return -EIO;
	if (h->nlmsg_type == NLMSG_ERROR) {
		int error = ((struct nlmsgerr *)NLMSG_DATA(h))->error;

		return error < 0 ? error : -EIO;
	}
	if (h->nlmsg_type != RTM_NEWROUTE)
		return -EIO;
	for (struct rtattr *a = RTM_RTA(r); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type == RTA_OIF)
			rtattr_get(a, ifindex, sizeof(*ifindex));
		if (a->rta_type != RTA_PREFSRC)
			continue;
		has_source =
		    is_ip4 ? rtattr_get(a, &ip4, 4) : rtattr_get(a, source, 16);
		if (is_ip4 && has_source)
			gid_from_ip4(source, ip4);
	}
	return has_source ? 0 : -EADDRNOTAVAIL;
}

/* IPv6 routes often name no source: any address of the interface will do. */
static int pick_source(unsigned ifindex, const uint8_t to[16],
		       uint8_t source[16])
{
	const struct device *d = device_by_ifindex(ifindex);
	bool is_local = to[0] == 0xfe && (to[1] & 0xc0) == 0x80;

	for (unsigned i = 0; d && i < GIDS_MAX; i++) {
		const uint8_t *g = d->gids[i].raw;

		if (!d->gids[i].is_used || gid_is_ip4(g) ||
		    is_local != (g[0] == 0xfe && (g[1] & 0xc0) == 0x80))
			continue;
		memcpy(source, g, 16);
		return 0;
	}
	return -EADDRNOTAVAIL;
}

int route_find(const uint8_t to[16], const uint8_t *wanted, uint32_t scope,
	       unsigned *ifindex, uint8_t source[16])
{
	bool is_ip4 = gid_is_ip4(to);
	size_t size = is_ip4 ? 4 : 16;
	size_t skip = 16 - size;
	struct query q = {0};
	_Alignas(8) char answer[4096];
	int rc = -ENETUNREACH;
	ssize_t n;

	q.h.nlmsg_len = NLMSG_LENGTH(sizeof(q.r));
	q.h.nlmsg_type = RTM_GETROUTE;
	q.h.nlmsg_flags = NLM_F_REQUEST;
	q.r.rtm_family = is_ip4 ? AF_INET : AF_INET6;
	q.r.rtm_dst_len = (uint8_t)(size * 8);
	netlink_add(&q.h, RTA_DST, to + skip, size);
	if (wanted) {
		q.r.rtm_src_len = (uint8_t)(size * 8);
		netlink_add(&q.h, RTA_SRC, wanted + skip, size);
	}
	if (scope)
		netlink_add(&q.h, RTA_OIF, &scope, sizeof(scope));
	*ifindex = 0;
	n = netlink_ask(NETLINK_ROUTE, &q.h, answer, sizeof(answer));
	if (n < 0)
		return (int)n;
	if (NLMSG_OK((struct nlmsghdr *)(void *)answer, n))
		rc = read_answer((void *)answer, is_ip4, ifindex, source);
	if (wanted && rc == -EADDRNOTAVAIL) {
		memcpy(source, wanted, 16);
		rc = 0;
	} else if (rc == -EADDRNOTAVAIL && !is_ip4) {
		rc = pick_source(*ifindex, to, source);
	}
	return rc;
}
