/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* doubts: values that will not do now what somebody may expect of them. */
#include "doubts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "conf/rundir.h"
#include "smc_r/status/status_read.h"

#define MEGABYTE (1024 * 1024)

/* All of 127.0.0.0/8 is of the loopback interface. */
static bool has_address(const struct ifaddrs *one, const char *word)
{
	char text[INET6_ADDRSTRLEN];
	const struct sockaddr *a = one->ifa_addr;

	if (!a)
		return false;
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)a;

		if ((one->ifa_flags & IFF_LOOPBACK) &&
		    strncmp(word, "127.", 4) == 0)
			return true;
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	} else if (a->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)a;

		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	} else {
		return false;
	}
	return strcmp(text, word) == 0;
}

static void say_of_addresses(const struct cmd *cmd, const char *value)
{
	char list[1024], *rest = list, *word;
	struct ifaddrs *all;

	if (strlen(value) >= sizeof(list) || getifaddrs(&all) != 0)
		return;
	strcpy(list, value);
	while ((word = strsep(&rest, ","))) {
		const struct ifaddrs *one = all;

		while (one && !has_address(one, word))
			one = one->ifa_next;
		if (!one && *word)
			message_note(cmd,
				     "ip_addr_list: no interface of this host "
				     "has %s now (ip address); connections "
				     "stay on TCP until one has",
				     word);
	}
	freeifaddrs(all);
}

static void say_of_memory(const struct cmd *cmd, const char *value)
{
	unsigned long limit_mb = strtoul(value, NULL, 10);
	struct status_sum sum;

	if (status_read_sum(rundir_path(), &sum) != 0 ||
	    sum.rmb_reserved <= (uint64_t)limit_mb * MEGABYTE)
		return;
	message_note(cmd,
		     "max_memory: %llu MB are in use now; connections keep "
		     "theirs, and new ones stay on TCP until less than %lu MB "
		     "are",
		     (unsigned long long)(sum.rmb_reserved / MEGABYTE),
		     limit_mb);
}

void doubts_say(const struct cmd *cmd, const char *attribute, const char *value)
{
	if (strcmp(attribute, "ip_addr_list") == 0)
		say_of_addresses(cmd, value);
	else if (strcmp(attribute, "max_memory") == 0)
		say_of_memory(cmd, value);
}
