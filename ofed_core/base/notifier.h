/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * notifier: a descriptor in a program on which the core delivers event
 * records of one size.
 *
 * The program reads it with read(); poll and O_NONBLOCK are the kernel's.
 * Records of an object that is destroyed can be taken back unread, by way of a
 * copy of the program's end. While the core keeps one it does not see the
 * program close its end.
 *
 * Locking: inside.
 */
#ifndef OFED_CORE_NOTIFIER_H
#define OFED_CORE_NOTIFIER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ofed_core/base/worker.h"

#define NOTIFIER_RECORD_MAX 16

struct notifier {
	pthread_mutex_t lock;
	int fd;      /* the core's end */
	int reader;  /* the program's end, to be passed; -1: given away */
	ino_t inode; /* of the program's end: names it */
	size_t record;
	unsigned char *backlog; /* what the socket would not take */
	size_t backlog_bytes;
	struct timer retry;
};

#define NOTIFIER_FILES 2 /* descriptors that it takes, with the reader */
int notifier_open(struct notifier *n, struct worker *w, size_t record);
void notifier_close(struct notifier *n);

/* Never blocks. -ENOBUFS when the program has left far too many unread. */
int notifier_send(struct notifier *n, const void *record);

/*
 * Takes back unread records whose first 8 bytes are key; returns how many.
 * reader is a copy of the program's end.
 */
uint32_t notifier_withdraw(struct notifier *n, int reader, uint64_t key);

#endif
