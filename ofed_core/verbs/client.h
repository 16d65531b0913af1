/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client: one open device node of one program.
 *
 * The connection ends when the last process that shares it closes it or dies;
 * then everything that was made through it goes.
 *
 * Locking: made, served and destroyed on the thread of its worker. The list
 *          of clients and their objects: core_lock.
 */
#ifndef OFED_CORE_CLIENT_H
#define OFED_CORE_CLIENT_H

#include <sys/types.h>

#include "ofed_core/base/shim_protocol.h"
#include "ofed_core/base/table.h"
#include "ofed_core/device/quota.h"
#include "ofed_core/verbs/verbs.h"

enum client_kind {
	CLIENT_NEW,
	CLIENT_UVERBS,
	CLIENT_CM
};

struct cm_channel;

struct client {
	struct source source;
	struct worker *worker;
	struct client *next;
	struct client *previous;
	enum client_kind kind;
	pid_t pid; /* that opened it */
	int pidfd; /* of the same, or -1 */
	uid_t uid;
	struct quota *quota; /* of the user */
	ino_t inode; /* of the program's end: names an rdma_cm channel */

	struct device *device;
	bool has_context;
	struct table objects;
	struct notifier async;
	struct ring *rings;
	uint64_t next_offset;
	struct owner *owners;
	struct cm_channel *cm;
};

/* A command, and room for its answer. */
struct command {
	struct client *client;
	pid_t pid;      /* of the process that sent it */
	const void *in; /* after all headers */
	size_t in_bytes;
	void *object; /* that the request names, NULL: it names none */
	unsigned char *out;
	size_t out_max;   /* room for the answer */
	size_t driver_at; /* extended commands: place of the driver's part */
	bool is_extended;
	size_t out_bytes;
	uint32_t fd_offset;
	int fd_out;     /* handed to the program */
	bool is_given;  /* and not kept */
	ino_t fd_inode; /* of a descriptor that came along, 0: none */
};

extern struct client *clients; /* list; core_lock */

/* Puts it onto the list, and takes it off again. */
void client_add(struct client *c);
void client_remove(struct client *c);
/* Sends a signal once to every process with a node open; to how many. */
unsigned clients_signal(int signal_number);

#endif
