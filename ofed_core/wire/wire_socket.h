/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_socket: what sending and receiving share.
 */
#ifndef OFED_CORE_WIRE_SOCKET_H
#define OFED_CORE_WIRE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/* Headers, 4096 bytes of data, pad, ICRC, and the IP header or GRH. */
#define PACKET_BYTES 4352

/* Integer socket options; a failure is only worth a note. */
void wire_set(int fd, int level, int option, int value);
/* Buffer sizes: past the limits with CAP_NET_ADMIN, else up to them. */
void wire_enlarge(int fd, int force, int polite);

/* What a socket brings: version 2 without the IP header, version 1 with its
 * GRH, version 2 with the IPv4 header. */
enum inbox_kind {
	INBOX_UDP4,
	INBOX_UDP6,
	INBOX_ETHER,
	INBOX_RAW4,
	INBOX_KINDS
};

/*
 * A socket for what arrives for the worker's queue pairs; the caller's to
 * close. Those of UDP share the port of version 2 among the workers, in order.
 * -EADDRINUSE when it is somebody else's, -errno.
 */
int wire_inbox_open(enum inbox_kind kind, unsigned own);
/* An INBOX_UDP4 leaves to INBOX_RAW4 what that brings. 0 or -errno. */
int wire_inbox_narrow(int fd, unsigned own);

/* The sockets of every worker. -errno of the first that failed. */
struct arrival;
int wire_receive_open(void (*on_packets)(const struct arrival *a,
					 unsigned count));
void wire_receive_close(void);
/* One of version 2, which joins groups for all; -1 where there is none. */
int wire_receive_socket(bool is_ip4);

#endif
