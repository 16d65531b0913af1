/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netlink: one question to the kernel, and what comes back at once.
 */
#include "ofed_core/device/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void netlink_add(struct nlmsghdr *h, uint16_t type, const void *data,
		 size_t bytes)
{
	struct rtattr *a = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(bytes);
	memcpy(RTA_DATA(a), data, bytes);
	h->nlmsg_len =
	    (uint32_t)(NLMSG_ALIGN(h->nlmsg_len) + RTA_ALIGN(a->rta_len));
}

ssize_t netlink_ask(int protocol, const struct nlmsghdr *question, void *answer,
		    size_t size)
{
	ssize_t n = 0;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return -errno;
	if (send(fd, question, question->nlmsg_len, 0) >= 0)
		n = recv(fd, answer, size, 0);
	close(fd);
	return n > 0 && NLMSG_OK((const struct nlmsghdr *)answer, n) ? n : 0;
}
