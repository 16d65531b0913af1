/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * memory: the address spaces of programs, and memory regions in them.
 *
 * An owner is one process that registered memory. Its /proc/PID/mem is opened
 * when the kernel told us the pid of the sender, so neither a reused pid nor
 * an exec of another program is ever written to. Large copies to programs
 * that are trusted (root, or our own uid) go by process_vm_*, which is faster.
 *
 * Locking: regions come and go with core_lock held for writing and are used
 * with it held for reading. Copies need no lock of their own.
 */
#ifndef OFED_CORE_MEMORY_H
#define OFED_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct owner {
	struct owner *next; /* of one client */
	pid_t pid;
	int mem; /* /proc/PID/mem */
	bool is_trusted;
	unsigned regions;
};

/* A piece of memory of a program, or of the core when owner is NULL. */
struct span {
	struct owner *owner;
	uint64_t address;
	uint64_t bytes;
};

/* *out is owned by the caller; -EPERM when the process may not be read. */
int owner_create(struct owner **out, pid_t pid, uid_t uid);
void owner_destroy(struct owner *o);

/* All or nothing is reported: 0, or -EFAULT. */
int memory_read(struct owner *o, uint64_t address, void *out, size_t bytes);

/* From and to lists of spans, starting `offset` bytes into the list. */
int spans_read(const struct span *s, unsigned count, uint64_t offset, void *out,
	       size_t bytes);
int spans_write(const struct span *s, unsigned count, uint64_t offset,
		const void *in, size_t bytes);
/* Writes pieces of the core, one after the other; at most PIECES_MAX. */
#define PIECES_MAX 64
int spans_gather(const struct span *s, unsigned count, uint64_t offset,
		 const struct iovec *pieces, unsigned piece_count);
/*
 * From one list to another, through a buffer of the thread. -EFAULT: `from`
 * cannot be read; -EACCES: `to` cannot be written; -ENOMEM.
 */
int spans_copy(const struct span *to, unsigned to_count, uint64_t to_offset,
	       const struct span *from, unsigned from_count, uint64_t bytes);

#endif
