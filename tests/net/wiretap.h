/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wiretap: which segments of a port carried the SMC option, as an interface
 * showed them.
 *
 * Ownership: a wiretap owns its packet socket.
 * Locking:   one thread.
 */
#ifndef TESTS_NET_WIRETAP_H
#define TESTS_NET_WIRETAP_H

#include <stddef.h>
#include <stdint.h>

#define WIRETAP_SEGMENTS_MAX 16

/* One character a segment: 'y' one option, '-' none, 'X' more than one. */
struct wiretap {
	int fd; /* readable when there is a segment */
	uint16_t port;
	char syn[WIRETAP_SEGMENTS_MAX + 1];
	char synack[WIRETAP_SEGMENTS_MAX + 1];
	unsigned other; /* options in segments without SYN */
};

/* 0 or -errno. Needs CAP_NET_RAW in the network namespace of the caller. */
int wiretap_open(struct wiretap *w, const char *interface, uint16_t port);

/* Takes in what has been captured so far; never waits. */
void wiretap_read(struct wiretap *w);

void wiretap_close(struct wiretap *w);

#endif
