/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_client: a program that uses the device of core_place.h, for a harness.
 * Its packets go to wire_send(), which the harness defines.
 */
#ifndef TESTS_FUZZ_CORE_CLIENT_H
#define TESTS_FUZZ_CORE_CLIENT_H

#include <sys/stat.h>

#include "ofed_core/service/serve.h"
#include "ofed_core/uverbs/uverbs.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/wire/wire.h"
#include "tests/fuzz/core_place.h"

/* ---- the wire ---- */

const char *const wire_counter_name[WIRE_COUNTERS];

int wire_open(void (*on_packets)(const struct arrival *a, unsigned count))
{
	(void)on_packets;
	return 0;
}

void wire_close(void)
{
}

bool wire_is_open(void)
{
	return true;
}

uint8_t *wire_space(size_t bytes)
{
	static uint8_t space[WIRE_SPACE];

	must(bytes <= sizeof(space));
	return space;
}

void wire_flush(void)
{
}

int wire_mcast(const struct device *d, const uint8_t gid[16], bool join)
{
	(void)d;
	(void)gid;
	(void)join;
	return 0;
}

void wire_count(enum wire_counter c, uint64_t n)
{
	(void)c;
	(void)n;
}

uint64_t wire_counter(enum wire_counter c)
{
	(void)c;
	return 0;
}

/* ---- the client ---- */

struct core_client {
	int fd; /* the program's end */
	struct source *source;
	struct client *client;
	ino_t channel; /* of the completion channel that was made last */
};

static inline struct source *core_client_listen(void)
{
	core_place_make();
	log_level_set(-1);
	must(qps_init() == 0 && serve_listen() == 0 && idle_worker.last);
	return idle_worker.last;
}

static inline void core_client_open(struct core_client *c,
				    struct source *listener)
{
	c->fd = core_place_connect(listener, "verbs", SOCK_SEQPACKET);
	c->source = idle_worker.last;
	c->client = clients;
	c->client->kind = CLIENT_UVERBS;
	c->client->device = &devices[0];
	c->channel = 0;
}

static inline void core_client_close(struct core_client *c)
{
	close(c->fd);
	c->source->ready(c->source, 0);
	must(!clients);
}

/* Runs a whole command. The answer has room bytes; how many came is in *came.
 */
static inline int core_client_run(struct core_client *c, const void *command,
				  size_t count, void *answer, size_t room,
				  size_t *came)
{
	struct command k = {.client = c->client,
			    .pid = getpid(),
			    .out = answer,
			    .out_max = room,
			    .fd_out = -1,
			    .fd_inode = c->channel};
	int result = uverbs_command(&k, command, count);
	struct stat st;

	must(k.out_bytes <= room);
	if (k.fd_out >= 0) {
		must(fstat(k.fd_out, &st) == 0);
		c->channel = st.st_ino;
	}
	*came = k.out_bytes;
	return result;
}

#endif
