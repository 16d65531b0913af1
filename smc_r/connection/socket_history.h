/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_history: what we saw a program do to a socket before it became a
 * connection, one byte a descriptor, so that connect and accept need not ask
 * the kernel about options that nearly nobody sets, nor about sockets that are
 * not TCP's.
 *
 * A number whose history we do not know (inherited, passed, duplicated) is
 * asked about.
 *
 * Locking: none; they belong to the thread that owns the descriptor.
 */
#ifndef SMC_R_SOCKET_HISTORY_H
#define SMC_R_SOCKET_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* <asm/socket.h> of Linux 5.14; older C libraries do not have it. */
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

struct socket_history {
	bool tcp;         /* a TCP socket */
	bool unsuitable;  /* an option is set that SMC cannot honour */
	bool lingers;     /* SO_LINGER may be set */
	uint32_t options; /* SOCKET_* of connection.h, without NONBLOCK */
};

/* The table is not made when it is needed, as that would be a call of ours; so
 * it is as large as programs need. Nothing is known of higher numbers. */
#define SOCKET_HISTORY_SIZE 65536
extern uint8_t socket_history_table[SOCKET_HISTORY_SIZE];
/* The low ones are in a page that each call of ours touches (fork_page.h). */
#define SOCKET_HISTORY_LOW 64
extern uint8_t socket_history_low[SOCKET_HISTORY_LOW];

/* NULL: nothing is known of such a number. */
static inline uint8_t *socket_history_bits(int fd)
{
	if ((unsigned)fd < SOCKET_HISTORY_LOW)
		return &socket_history_low[fd];
	return (unsigned)fd < SOCKET_HISTORY_SIZE ? &socket_history_table[fd]
						  : 0;
}

#define SOCKET_HISTORY_OTHER 254u /* no socket of TCP's, or not ours */

/* A socket that this process just made. */
void socket_history_made(int fd, int domain, int type, int protocol);
/* A second number for the same; and one that is closed. */
void socket_history_copied(int from, int to);

static inline void socket_history_gone(int fd)
{
	uint8_t *bits = socket_history_bits(fd);

	/* Most have none, and their page is not written to. */
	if (bits && *bits)
		*bits = 0;
}

/* This bit of a listener says that nobody is served by it. */
#define SOCKET_HISTORY_LISTENERS 16u

/* It was accepted, and has the options of its listener. */
static inline void socket_history_accepted(int listener, int fd)
{
	const uint8_t *of = socket_history_bits(listener);
	uint8_t *bits = socket_history_bits(fd);
	uint8_t seen = of ? *of : 0;

	if (seen != SOCKET_HISTORY_OTHER)
		seen &= (uint8_t)~SOCKET_HISTORY_LISTENERS;
	if (bits)
		*bits = seen;
}

/* This process made it as a TCP socket; as another one. Neither: not known. */
bool socket_history_is_tcp(int fd);
bool socket_history_is_other(int fd);
/* It is as if it were another one, until it is closed: the kernel's alone. */
void socket_history_note_kernels(int fd);
/* A listener of which the settings say that nobody is served by it. */
void socket_history_note_idle(int fd, bool idle);
bool socket_history_is_idle(int fd);
/* Comes before setsockopt of any descriptor. */
void socket_history_option(int fd, int level, int name);
/* Is it an option of SOL_SOCKET that sets a buffer's size? */
bool socket_history_is_buffer(int name);
/* Comes after setsockopt of SO_RCVTIMEO or SO_SNDTIMEO. never: to less than
 * nothing, which nothing tells from no time-out later. */
void socket_history_time_out(int fd, int name, bool never);
/* libc reads and writes it from here on, below us. */
void socket_history_stream(int fd);

struct socket_history socket_history_of(int fd);
/* Is TCP_INQ set? */
bool socket_history_tells_input(int fd);
/* ... and when they came (SO_TIMESTAMP, SO_TIMESTAMPNS)? */
bool socket_history_tells_time(int fd);

/* A listener that keeps connections back until bytes came. */
bool socket_history_is_deferred(int fd);

#endif
