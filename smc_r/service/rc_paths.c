/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_paths: interfaces and their subnets, by getifaddrs(3). */
#include "smc_r/service/rc_paths.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>

struct in6_addr rc_prefix_of(const struct in6_addr *address, unsigned bits)
{
	struct in6_addr out = *address;

	for (unsigned i = 0; i < sizeof(out); i++) {
		unsigned left = bits > 8 * i ? bits - 8 * i : 0;

		if (left < 8)
			out.s6_addr[i] &= (uint8_t)(0xff00u >> left);
	}
	return out;
}

/* False for another family. */
static bool mapped(const struct sockaddr *a, struct in6_addr *out)
{
	if (!a)
		return false;
	if (a->sa_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)a;

		*out = six->sin6_addr;
		return true;
	}
	if (a->sa_family != AF_INET)
		return false;
	memset(out, 0, sizeof(*out));
	memset(&out->s6_addr[10], 0xff, 2);
	memcpy(&out->s6_addr[12],
	       &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
	return true;
}

static uint8_t bits_of(const struct ifaddrs *i)
{
	bool is_v4 = i->ifa_addr->sa_family == AF_INET;
	struct in6_addr mask;
	unsigned bits = 0;

	if (!i->ifa_netmask)
		return 128;
	if (is_v4) {
		memset(&mask, 0xff, sizeof(mask));
		memcpy(
		    &mask.s6_addr[12],
		    &((const struct sockaddr_in *)(const void *)i->ifa_netmask)
			 ->sin_addr,
		    4);
	} else {
		mask =
		    ((const struct sockaddr_in6 *)(const void *)i->ifa_netmask)
			->sin6_addr;
	}
	while (bits < 128 && (mask.s6_addr[bits / 8] & (0x80u >> bits % 8)))
		bits++;
	return (uint8_t)bits;
}

static const char *name_of(const struct ifaddrs *list,
			   const struct in6_addr *local)
{
	struct in6_addr a;

	for (const struct ifaddrs *i = list; i; i = i->ifa_next)
		if (mapped(i->ifa_addr, &a) &&
		    memcmp(&a, local, sizeof(a)) == 0)
			return i->ifa_name;
	return NULL;
}

unsigned rc_interface(const struct in6_addr *local)
{
	struct ifaddrs *list;
	const char *name;
	unsigned n;

	if (getifaddrs(&list) < 0)
		return 0;
	name = name_of(list, local);
	n = name ? if_nametoindex(name) : 0;
	freeifaddrs(list);
	return n;
}

static int collect(const struct ifaddrs *list, const char *name,
		   const struct in6_addr *local, struct rc_prefix *out)
{
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(local);
	struct in6_addr a;
	int n = 0;

	for (const struct ifaddrs *i = list; i && n < RC_PREFIXES_MAX;
	     i = i->ifa_next) {
		if (strcmp(i->ifa_name, name) != 0 || !mapped(i->ifa_addr, &a))
			continue;
		if (IN6_IS_ADDR_V4MAPPED(&a) != is_v4 ||
		    IN6_IS_ADDR_LINKLOCAL(&a))
			continue;
		out[n].bits = bits_of(i);
		out[n].address = rc_prefix_of(&a, out[n].bits);
		/* That of the address itself goes to the front. */
		if (memcmp(&a, local, sizeof(a)) == 0 && n > 0) {
			struct rc_prefix first = out[n];

			out[n] = out[0];
			out[0] = first;
		}
		n++;
	}
	return n;
}

int rc_prefixes(const struct in6_addr *local,
		struct rc_prefix out[RC_PREFIXES_MAX])
{
	struct ifaddrs *list;
	const char *name;
	int n;

	if (getifaddrs(&list) < 0)
		return -errno;
	name = name_of(list, local);
	n = name ? collect(list, name, local, out) : -ENODEV;
	freeifaddrs(list);
	return n;
}
