/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * statistics: everything that can be told about smc_r0 at one moment.
 *
 * Ownership: statistics_read fills it, statistics_free empties it.
 * Locking:   none.
 */
#ifndef CMD_STATISTICS_H
#define CMD_STATISTICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/snapshot.h"
#include "smc_r/far/far_status.h"
#include "smc_r/status/status_connections.h"
#include "smc_r/status/status_read.h"

/* Connections of one process to one peer, which share links. */
struct statistics_group {
	pid_t maker;
	uint32_t number; /* within that process */
	char program[STATUS_PROGRAM_MAX];
	enum status_link link;
	enum status_role role;
	struct in6_addr peer; /* of one of the connections */
	pid_t peer_pid;       /* 0 unknown */
	unsigned connections;
	uint64_t rmbe_bytes; /* of the RMBEs that they receive into */
};

struct statistics_user {
	uid_t uid;
	uint64_t bytes; /* of RMB memory that the user's processes hold */
};

/* A place where a listener offers SMC, or did, and what its connections were
 * like lately. */
struct statistics_place {
	uint64_t netns; /* the kernel's cookie of it */
	struct in6_addr address;
	uint16_t port;
	uint64_t tcp_ms; /* for so long it offers no SMC; 0: it does */
	uint64_t ago_ms; /* since the last one ended */
	uint64_t per_second;
	uint64_t life_us, bytes; /* of one */
	double requests;         /* likewise */
};

struct statistics {
	const char *device;
	struct snapshot settings;
	uint64_t elapsed_seconds; /* since mkdev or the last reset */
	/* Counters since then; bytes and requests included. */
	struct status_sum sum;
	struct status_counters absolute;      /* since the first process */
	struct status_connection *connection; /* by pid and local port */
	size_t connection_count;
	struct statistics_group *group; /* by maker and number */
	size_t group_count;
	struct statistics_user *user; /* that hold any, by number */
	size_t user_count;
	/* Sorted by address and port, as far as this user may see them. */
	struct statistics_place *place;
	size_t place_count;
	/* The link service tells it; NULL where none answers. */
	struct far_status *service;
};

/*
 * Sweeps what it may, then reads. 0; -ENOENT when the device is not Available;
 * another -errno. Nothing is to be freed on failure.
 */
int statistics_read(const char *rundir, const char *device,
		    struct statistics *out);
void statistics_free(struct statistics *s);

/* What a state, role or link is called in columns. */
const char *statistics_state(uint32_t state);
const char *statistics_role(unsigned role);
const char *statistics_link(unsigned link);

/* "Confirm Link", ... for a counter of LLC messages, or NULL: unused. */
const char *statistics_llc(unsigned type);
const char *statistics_group_state(uint32_t state);

/* The user's name, or the number; size at least 33. */
void statistics_user_name(uid_t uid, char *out, size_t size);

/* "10.0.0.1" or "2001:db8::1"; size at least INET6_ADDRSTRLEN. */
void statistics_host(const struct in6_addr *address, char *out, size_t size);

/* "10.0.0.1:80", "[2001:db8::1]:80", "-" for none; size at least 56. */
void statistics_address(const struct in6_addr *address, unsigned port,
			char *out, size_t size);

/* This says what connections of a place were like; size at least 160. */
void statistics_figures(const struct statistics_place *p, char *out,
			size_t size);

void statistics_print(FILE *out, const struct statistics *s, int detailed);
/* One JSON object and a newline: 0 or -ENOMEM. */
int statistics_print_json(FILE *out, const struct statistics *s);

#endif
