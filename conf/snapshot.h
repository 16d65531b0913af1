/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot: the settings of smc_r0 as engines see them.
 *
 * Commands write it as a small text file into the run directory; engines read
 * it again when the generation word has moved. No file means that the device
 * is not Available and every connection stays on TCP.
 *
 * The text is canonical: one line per field, in a fixed order, and exactly one
 * text for each set of values. Anything else is refused as a whole. autosmc has
 * a line only where it is off: engines that know of no such line go on.
 *
 * Ownership: a snapshot is a plain value; copy it freely.
 * Locking:   none. The file is replaced by rename(2), so a reader sees the old
 *            one or the new one, never a mixture.
 *
 * Uses libc only and allocates nothing: this runs in strangers' processes.
 */
#ifndef CONF_SNAPSHOT_H
#define CONF_SNAPSHOT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_ADDRESSES_MAX    2
#define SNAPSHOT_RANGES_MAX       64
#define SNAPSHOT_EXCLUDES_MAX     32
#define SNAPSHOT_PROGRAM_SIZE     32   /* bytes, with the final NUL */
#define SNAPSHOT_TEXT_MAX         4096 /* bytes; every valid snapshot fits */
#define SNAPSHOT_GENERATION_BYTES 4096

struct snapshot_range {
	uint16_t low, high; /* server ports, 1..65535, both included */
};

struct snapshot {
	uint64_t generation; /* grows by one with every publication, from 1 */
	bool enabled;
	unsigned address_count;
	/* Local addresses that may use SMC-R; IPv4 as ::ffff:a.b.c.d. */
	struct in6_addr addresses[SNAPSHOT_ADDRESSES_MAX];
	uint64_t max_memory_bytes; /* ceiling of one host, not 0 */
	unsigned range_count;
	/* Sorted and disjoint. */
	struct snapshot_range ranges[SNAPSHOT_RANGES_MAX];
	/* Places whose connections are short go to TCP. */
	bool autosmc;
	/* The library is named in /etc/ld.so.preload. */
	bool system_preload;
	unsigned exclude_count;
	/* Programs that are never touched, by the last part of their path. */
	char excludes[SNAPSHOT_EXCLUDES_MAX][SNAPSHOT_PROGRAM_SIZE];
};

/* 0, or -EPROTO and *out is untouched. The text needs no final NUL. */
int snapshot_parse(const char *text, size_t length, struct snapshot *out);

/*
 * Length of the text without its final NUL, which is written too; -ENOSPC when
 * it does not fit, -EINVAL when no text can say what s holds.
 */
int snapshot_format(const struct snapshot *s, char *out, size_t size);

/*
 * 0; -ENOENT when the device is not Available; -EPERM when the file belongs
 * neither to root nor to the owner of the run directory; -EPROTO when it is
 * malformed; another -errno. *out is untouched on failure.
 */
int snapshot_read(const char *rundir, struct snapshot *out);

/*
 * Maps the generation word, for reading, for the life of the process: 0,
 * -ENOENT when no device was ever made, -EPERM as above, another -errno.
 * The word is stored after the new snapshot is in place (release).
 */
int snapshot_generation_map(const char *rundir, const _Atomic uint64_t **out);

enum snapshot_match {
	SNAPSHOT_MATCHES,
	SNAPSHOT_DISABLED,
	SNAPSHOT_NO_ADDRESS,
	SNAPSHOT_NO_PORT,
};

/*
 * May a connection with this local address and this port of its server end
 * use SMC-R? IPv4 as ::ffff:a.b.c.d; the port in host order.
 */
enum snapshot_match snapshot_match(const struct snapshot *s,
				   const struct in6_addr *local,
				   uint16_t server_port);

bool snapshot_has_port(const struct snapshot *s, uint16_t port);

/* May this name stand in excludes? No blank, comma, slash or control byte. */
bool snapshot_is_program(const char *name);

#endif
