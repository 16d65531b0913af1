/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netlink: one question to the kernel, and what comes back at once.
 *
 * Locking: none; each question has a socket of its own.
 */
#ifndef OFED_CORE_NETLINK_H
#define OFED_CORE_NETLINK_H

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Adds an attribute at the end, where the caller has the room. */
void netlink_add(struct nlmsghdr *h, uint16_t type, const void *data,
		 size_t bytes);

/* How much of the answer came, 0 for none or for a part of it; or -errno
 * without a socket. */
ssize_t netlink_ask(int protocol, const struct nlmsghdr *question, void *answer,
		    size_t size);

#endif
