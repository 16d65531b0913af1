/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * egress: tables of nftables and of ip_tables, policies of IPsec.
 */
#include "ofed_core/device/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/xfrm.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/device/netlink.h"

/* The name of the ip_tables modules' list of what is in use. */
#define LEGACY_TABLES "/proc/self/net/ip_tables_names"

struct dump {
	struct nlmsghdr h;
	union {
		struct nfgenmsg netfilter;
		char room[256];
	};
};

/* True when the dump has an element, or fails for another reason than that
 * the kernel has nothing of the kind. */
static bool has_elements(int protocol, uint16_t type, size_t bytes)
{
	struct dump d = {
	    .h = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(bytes),
		  .nlmsg_type = type,
		  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	    .netfilter = {.nfgen_family = AF_UNSPEC},
	};
	_Alignas(8) char answer[8192];
	struct nlmsghdr *first = (struct nlmsghdr *)(void *)answer;
	ssize_t n = netlink_ask(protocol, &d.h, answer, sizeof(answer));

	if (n == -EPROTONOSUPPORT)
		return false;
	if (n < (ssize_t)sizeof(*first))
		return true;
	if (first->nlmsg_type == NLMSG_DONE)
		return false;
	if (first->nlmsg_type == NLMSG_ERROR &&
	    n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
		const struct nlmsgerr *e = NLMSG_DATA(first);

		/* nfnetlink without nf_tables knows no such subsystem. */
		return e->error && e->error != -EINVAL &&
		       e->error != -EOPNOTSUPP;
	}
	return true;
}

static bool has_legacy_tables(void)
{
	char byte;
	int fd = open(LEGACY_TABLES, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno != ENOENT;
	n = read(fd, &byte, 1);
	close(fd);
	return n != 0;
}

bool egress_has_rules(void)
{
	return has_legacy_tables() ||
	       has_elements(NETLINK_NETFILTER,
			    NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE,
			    sizeof(struct nfgenmsg)) ||
	       has_elements(NETLINK_XFRM, XFRM_MSG_GETPOLICY,
			    sizeof(struct xfrm_userpolicy_id));
}
