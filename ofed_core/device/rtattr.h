/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rtattr: reading attributes of what the kernel answers by netlink.
 *
 * What is left of a message is an int, as in the kernel's macros: one that is
 * too short for its head, or whose end lacks the padding, leaves less than
 * nothing.
 */
#ifndef OFED_CORE_RTATTR_H
#define OFED_CORE_RTATTR_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The first bytes of the attribute's value; false where it has not as many. */
static inline bool rtattr_get(const struct rtattr *a, void *out, size_t bytes)
{
	if (a->rta_len < RTA_LENGTH(bytes))
		return false;
	memcpy(out, (const char *)a + RTA_LENGTH(0), bytes);
	return true;
}

#endif
