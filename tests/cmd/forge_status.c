/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * forge_status: makes a status segment or a totals file as engines do, so that
 * commands can be tested without an engine.
 *
 * usage: forge_status DIRECTORY <orders
 *
 * Orders, one a line:
 *	segment PID [START]	begins a segment; START is looked up
 *	totals UID		begins a totals file instead
 *	program NAME		uid UID		reporter PID
 *	holder INDEX PID [START]	rmb BYTES
 *	count NAME VALUE	a counter of struct status_counters
 *	fallback CODE VALUE	a reason by its code
 *	slot STATE ROLE LINK LOCAL PORT PEER PORT TX RX HOLDERS [REASON [PEER]]
 *	group N			link group of the slot before, and its RMBE
 * Numbers may be written 0x...; addresses are IPv4.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smc_r/os/status.h"
#include "smc_r/protocol/reason.h"

#define SLOTS_MAX 64
#define WORDS_MAX 14

static struct {
	struct status_header header;
	unsigned char gap[STATUS_SLOTS_AT - sizeof(struct status_header)];
	struct status_slot slot[SLOTS_MAX];
} segment;
_Static_assert(sizeof(segment) ==
		   STATUS_SLOTS_AT + SLOTS_MAX * sizeof(struct status_slot),
	       "as in the file");

static struct status_totals totals;
static int is_totals;

/* In the order of struct status_counters, from its beginning. */
static const char *const counter[] = {
    "client_connections",
    "server_connections",
    "smc_connections",
    "tcp_connections",
    "demoted",
    "handshake_errors",
    "first_contacts",
    "reuses",
    "declines_sent",
    "declines_received",
    "bytes_sent",
    "bytes_received",
    "requests_sent",
    "requests_received",
    "rmbs_made",
    "rmbs_freed",
    "doorbells",
    "sleeps",
    "spin_hits",
    "spin_misses",
    "buffer_full",
};
_Static_assert(offsetof(struct status_counters, fallbacks) ==
		   sizeof(counter) / sizeof(counter[0]) * sizeof(uint64_t),
	       "one name for each counter");

static _Noreturn void fail(const char *what, const char *about)
{
	fprintf(stderr, "forge_status: %s: %s\n", what, about);
	exit(1);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value;

	if (!text)
		fail("number", "missing");
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || end == text)
		fail("number", text);
	return value;
}

static uint64_t start_of(pid_t pid)
{
	char path[32], text[1024];
	const char *at;
	ssize_t n;
	int fd, i;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		fail(path, strerror(errno));
	close(fd);
	text[n] = '\0';
	at = strrchr(text, ')');
	for (i = 2; i < 22; i++)
		at = strchr(at, ' ') + 1;
	return strtoull(at, NULL, 10);
}

static void begin_segment(char **word)
{
	struct status_header *h = &segment.header;

	h->magic = STATUS_MAGIC;
	h->version = STATUS_VERSION;
	h->reason_table = STATUS_REASON_TABLE;
	h->slot_size = sizeof(struct status_slot);
	h->pid = (int32_t)number(word[1]);
	h->start = word[2] ? number(word[2]) : start_of(h->pid);
	h->uid = geteuid();
	h->holders[0].pid = h->pid;
	h->holders[0].start = h->start;
	strcpy(h->program, "forged");
}

static struct status_counters *counters(void)
{
	return is_totals ? &totals.counters : &segment.header.counters;
}

static void set_counter(const char *name, uint64_t value)
{
	_Atomic uint64_t *first = &counters()->client_connections;
	size_t i;

	for (i = 0; i < sizeof(counter) / sizeof(counter[0]); i++) {
		if (strcmp(name, counter[i]) == 0) {
			first[i] = value;
			return;
		}
	}
	fail("no such counter", name);
}

static void set_address(struct in6_addr *out, const char *text)
{
	memset(out, 0, 10);
	memset(&out->s6_addr[10], 0xff, 2);
	if (inet_pton(AF_INET, text, &out->s6_addr[12]) != 1)
		fail("address", text);
}

static void add_slot(char **word)
{
	struct status_header *h = &segment.header;
	struct status_slot *s;
	int i;

	for (i = 1; i <= 10; i++) {
		if (!word[i])
			fail("slot", "too few words");
	}
	if (h->slot_count == SLOTS_MAX)
		fail("slot", "too many");
	s = &segment.slot[h->slot_count++];
	s->state = (uint32_t)number(word[1]);
	s->role = (uint8_t)number(word[2]);
	s->link = (uint8_t)number(word[3]);
	set_address(&s->local, word[4]);
	s->local_port = (uint16_t)number(word[5]);
	set_address(&s->peer, word[6]);
	s->peer_port = (uint16_t)number(word[7]);
	s->tx.position = number(word[8]);
	s->tx.requests = 1;
	s->rx.position = number(word[9]);
	s->rx.requests = 2;
	s->holders = number(word[10]);
	s->pid = h->pid;
	if (word[11])
		s->reason = (uint32_t)number(word[11]);
	if (word[11] && word[12])
		s->peer_reason = (uint32_t)number(word[12]);
}

static void set_group(uint32_t group)
{
	struct status_slot *s;

	if (!segment.header.slot_count)
		fail("group", "no slot before");
	s = &segment.slot[segment.header.slot_count - 1];
	s->group = group;
	s->rmbe_in = 65536;
}

static void set_holder(char **word)
{
	uint64_t i = number(word[1]);
	pid_t pid;

	if (i >= STATUS_HOLDERS_MAX || !word[2])
		fail("holder", "INDEX PID [START]");
	pid = (pid_t)number(word[2]);
	segment.header.holders[i].pid = pid;
	segment.header.holders[i].start =
	    word[3] ? number(word[3]) : (pid ? start_of(pid) : 0);
}

static void obey(char **word)
{
	struct status_header *h = &segment.header;

	if (strcmp(word[0], "segment") == 0) {
		begin_segment(word);
	} else if (strcmp(word[0], "totals") == 0) {
		is_totals = 1;
		totals.magic = STATUS_MAGIC;
		totals.version = STATUS_VERSION;
		totals.reason_table = STATUS_REASON_TABLE;
		totals.uid = (uint32_t)number(word[1]);
	} else if (strcmp(word[0], "program") == 0) {
		memset(h->program, 0, sizeof(h->program));
		memcpy(h->program, word[1],
		       strnlen(word[1], sizeof(h->program)));
	} else if (strcmp(word[0], "uid") == 0) {
		h->uid = (uint32_t)number(word[1]);
	} else if (strcmp(word[0], "reporter") == 0) {
		h->reporter = (int32_t)number(word[1]);
	} else if (strcmp(word[0], "holder") == 0) {
		set_holder(word);
	} else if (strcmp(word[0], "rmb") == 0) {
		h->rmb_bytes = number(word[1]);
		totals.rmb_bytes = number(word[1]);
	} else if (strcmp(word[0], "count") == 0) {
		set_counter(word[1], number(word[2]));
	} else if (strcmp(word[0], "fallback") == 0) {
		counters()->fallbacks[reason_index((uint32_t)number(word[1]))] =
		    number(word[2]);
	} else if (strcmp(word[0], "slot") == 0) {
		add_slot(word);
	} else if (strcmp(word[0], "group") == 0) {
		set_group((uint32_t)number(word[1]));
	} else {
		fail("no such order", word[0]);
	}
}

static void write_file(const char *dir)
{
	const void *bytes = &segment;
	size_t size = STATUS_SLOTS_AT +
		      segment.header.slot_count * sizeof(struct status_slot);
	char path[4096];
	int fd;

	if (is_totals) {
		bytes = &totals;
		size = sizeof(totals);
		snprintf(path, sizeof(path), "%s/status/totals", dir);
	} else {
		snprintf(path, sizeof(path), "%s/status/%d.%" PRIu64, dir,
			 segment.header.pid, segment.header.start);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		fail(path, strerror(errno));
	close(fd);
	puts(path);
}

int main(int argc, char **argv)
{
	char line[512];

	if (argc != 2) {
		fprintf(stderr, "usage: forge_status DIRECTORY <orders\n");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *word[WORDS_MAX] = {NULL};
		char *rest = line;
		int n = 0;

		while (n < WORDS_MAX - 1 &&
		       (word[n] = strsep(&rest, " \t\n")) != NULL) {
			if (*word[n])
				n++;
		}
		word[n] = NULL;
		if (n == 1)
			fail("order without words", word[0]);
		if (n)
			obey(word);
	}
	write_file(argv[1]);
	return 0;
}
