/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * option: makes TCP connections with and without the SMC option, and says what
 * the wire and the sockets show of it.
 *
 * usage: option RUNDIR attach|update ENABLED ADDRESSES RANGES
 *        option RUNDIR detach
 *        option RUNDIR attached
 *        option RUNDIR pins
 *        option RUNDIR left PORT
 *        option RUNDIR pair [KEY=VALUE]...
 *        option RUNDIR fill handshakes|listeners old|new
 *        option RUNDIR ordinary
 *        option RUNDIR cost
 *
 * pins prints the directory where the kernel keeps the programs.
 * pair makes one connection and prints
 *        syn=y synack=y other=0 client=WSA server=WSA
 * where each SYN and SYN-ACK is one character (wiretap.h), and W, S, A stand
 * for OFFER_WANT, OFFER_SENT, OFFER_AGREED, and D for OFFER_DEFERS; "-" for
 * none of them. Keys:
 *        port=N listen=ADDRESS to=ADDRESS from=ADDRESS
 *        tap=INTERFACE (of the client's namespace)
 *        client-ns=NAME server-ns=NAME client-run=DIR server-run=DIR
 *        mark-client=yes|no mark-server=before|after|undone|no
 *        mark-server=defers|defers-after
 *        heal=N:COMMAND (runs it when N SYNs or N SYN-ACKs have been seen)
 *        between=COMMAND (runs it when the server listens)
 *        remark=yes (marks the listener once more, after that)
 *        state=child (a forked child asks instead)
 *        fastopen=yes (the first byte goes with the SYN)
 * fill puts elements into a map of the BPF program until it is full: such as
 * may be dropped to make room (old), or such as may not (new).
 * ordinary prints what socket options of other levels do, and cost what a
 * connection costs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "smc_r/bpf/bpf_load.h"
#include "smc_r/os/option_instance.h"
#include "smc_r/peer/offer.h"
#include "tests/net/option.h"

void option_check(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "option: %s: %s\n", what, strerror(-error));
	exit(1);
}

void option_die(const char *what)
{
	option_check(-errno, what);
	abort();
}

/* ---- Settings ----------------------------------------------------------- */

static void parse_addresses(struct snapshot *s, char *list)
{
	char *word;

	while ((word = strsep(&list, ","))) {
		struct in6_addr *six = &s->addresses[s->address_count];
		char mapped[64];

		if (!*word)
			continue;
		snprintf(mapped, sizeof(mapped), "%s%s",
			 strchr(word, ':') ? "" : "::ffff:", word);
		if (s->address_count == SNAPSHOT_ADDRESSES_MAX ||
		    inet_pton(AF_INET6, mapped, six) != 1) {
			errno = EINVAL;
			option_die(word);
		}
		s->address_count++;
	}
}

static void parse_ranges(struct snapshot *s, char *list)
{
	char *word;

	while ((word = strsep(&list, ","))) {
		char *high;

		if (!*word)
			continue;
		s->ranges[s->range_count].low =
		    (uint16_t)strtoul(word, &high, 10);
		s->ranges[s->range_count].high =
		    *high == '-' ? (uint16_t)strtoul(high + 1, NULL, 10)
				 : s->ranges[s->range_count].low;
		s->range_count++;
	}
}

/* argv: ENABLED ADDRESSES RANGES */
static int configure(const char *rundir, bool attach, char **argv)
{
	struct snapshot s = {.generation = 1, .max_memory_bytes = 1};
	char why[512] = "";
	int error;

	s.enabled = atoi(argv[0]) != 0;
	parse_addresses(&s, argv[1]);
	parse_ranges(&s, argv[2]);
	error = attach ? bpf_load_attach(rundir, &s, why, sizeof(why))
		       : bpf_load_update(rundir, &s, why, sizeof(why));
	if (error)
		printf("%s: %s\n", strerrorname_np(-error), why);
	return error ? 1 : 0;
}

/* ---- Maps that are full ------------------------------------------------- */

static uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pins(const char *rundir, char *out, size_t size)
{
	uint32_t instance = 0;

	option_check(option_instance(rundir, &instance), rundir);
	snprintf(out, size, "/sys/fs/bpf/smc_r/%08x", instance);
}

static int fill(const char *rundir, const char *name, bool old)
{
	uint64_t key[8] = {UINT64_MAX}; /* a namespace of nobody */
	uint64_t value[16] = {0};
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	char path[256];
	int map;

	pins(rundir, path, sizeof(path) / 2);
	strcat(strcat(path, "/"), name);
	map = bpf_obj_get(path);
	if (map < 0)
		option_die(path);
	option_check(bpf_obj_get_info_by_fd(map, &info, &length), path);
	if (info.key_size > sizeof(key) || info.value_size > sizeof(value)) {
		errno = EINVAL;
		option_die(path);
	}
	/* When a SYN-ACK went out, or how many listen. */
	if (!old)
		value[0] = info.value_size > sizeof(uint32_t) ? boot_ns() : 1;
	while (bpf_map_update_elem(map, key, value, BPF_ANY) == 0)
		key[1]++;
	if (errno != E2BIG)
		option_die("bpf_map_update_elem");
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: option RUNDIR attach|update ENABLED ADDRESSES "
		"RANGES\n"
		"       option RUNDIR detach|attached|pins|ordinary|cost\n"
		"       option RUNDIR left PORT\n"
		"       option RUNDIR pair [KEY=VALUE]...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *rundir, *command;

	if (argc < 3)
		return usage();
	rundir = argv[1];
	command = argv[2];
	if (argc == 6 && strcmp(command, "attach") == 0)
		return configure(rundir, true, argv + 3);
	if (argc == 6 && strcmp(command, "update") == 0)
		return configure(rundir, false, argv + 3);
	if (strcmp(command, "detach") == 0) {
		option_check(bpf_load_detach(rundir), "detach");
		return 0;
	}
	if (strcmp(command, "attached") == 0) {
		puts(bpf_load_attached(rundir) ? "yes" : "no");
		return 0;
	}
	if (argc == 5 && strcmp(command, "fill") == 0)
		return fill(rundir, argv[3], strcmp(argv[4], "old") == 0);
	if (strcmp(command, "left") == 0 && argc == 4)
		return option_left(rundir, (uint16_t)atoi(argv[3]));
	if (strcmp(command, "pair") == 0)
		return option_pair(rundir, argv + 3);
	if (strcmp(command, "pins") == 0) {
		char path[64];

		pins(rundir, path, sizeof(path));
		puts(path);
		return 0;
	}
	if (strcmp(command, "plain_program") == 0)
		return option_plain_program();
	if (strcmp(command, "cost") == 0)
		return option_cost(rundir);
	return usage();
}
