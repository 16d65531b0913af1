/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rendezvous: the AF_UNIX socket where a process is found by its peer ID, and
 * the messages that carry RMBs across it.
 *
 * The socket is peer/<peer ID in hex> in the directory of its process's user,
 * whose number is in the peer ID: a path and not an abstract name, so that it
 * works between network namespaces. The peer
 * connects and sends; we accept when a CLC Accept tells us to look. Nobody has
 * to wait for anybody, and no thread is needed.
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_RENDEZVOUS_H
#define SMC_R_RENDEZVOUS_H

#include <stdint.h>
#include <sys/types.h>

#include "smc_r/memory/bell.h"
#include "smc_r/memory/rmb.h"

/* So many channels may wait to be taken; the kernel counts closed ones, too. */
#define RENDEZVOUS_QUEUE 4096

/* Descriptors of a message. */
#define RENDEZVOUS_FDS(elements, bells) (1 + (bells) * (elements))
#define RENDEZVOUS_FDS_MAX              RENDEZVOUS_FDS(RMB_ELEMENTS_MAX, BELLS_COUNT_MAX)

/* What a server tells a client of one RMB. With it come the RMB and, for each
 * element, its bells as the client is to have them (bells_of_fds), before
 * bells_adopt(). */
struct rendezvous_message {
	uint32_t magic;
	uint32_t version;
	uint8_t server_id[8];
	uint8_t client_id[8];
	uint8_t nonce[16];
	uint8_t proof[16];
	uint32_t rmb_number;
	uint32_t elements;
	uint32_t rmbe_bytes;
	uint32_t bells;          /* descriptors of an element: BELLS_... */
	uint32_t overflow_bytes; /* of each direction, 0: none */
};

#define RENDEZVOUS_MAGIC   0x5a444e52u
#define RENDEZVOUS_VERSION 7u

/* A peer ID: 24 bits are the number of the user's directory, so that one
 * look-up finds the socket; 22 the process id; the last 18 are random. */
void rendezvous_id_make(uint8_t id[8], uint32_t directory, pid_t pid,
			uint32_t random);
pid_t rendezvous_id_pid(const uint8_t id[8]);

/* Listens under our peer ID: a private descriptor or -errno. */
int rendezvous_listen(const uint8_t id[8]);
/* Removes the name. */
void rendezvous_forget(const uint8_t id[8]);
/* Removes names whose process is gone from this user's directory. */
void rendezvous_sweep(uint32_t directory);

/* A channel to the process with this peer ID, or -errno: -ECONNREFUSED and
 * -ENOENT mean that it is not on this host. */
int rendezvous_connect(const uint8_t id[8]);
/* The next channel that somebody made to us, or -EAGAIN. */
int rendezvous_accept(int listener);
/* Which process is at its other end, and whose; zeros where that is not known.
 */
struct rendezvous_peer {
	pid_t pid;
	uint32_t user;
};
struct rendezvous_peer rendezvous_peer(int channel);

/* fds stay the caller's. 0 or -errno. */
int rendezvous_send(int channel, const struct rendezvous_message *m,
		    const int *fds, int fd_count);
/*
 * The next message, without waiting: number of descriptors (private ones, now
 * the caller's) in fds, -EAGAIN when there is none, -ECONNRESET when the peer
 * is gone, -EPROTO. Engine lock held.
 */
int rendezvous_receive(int channel, struct rendezvous_message *m,
		       int fds[RENDEZVOUS_FDS_MAX]);
/* Reads that message without its descriptors, and it stays the next one: 0, or
 * as above. */
int rendezvous_peek(int channel, struct rendezvous_message *m);

#endif
