/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_socket: what sending and receiving share.
 */
#ifndef OFED_CORE_WIRE_SOCKET_H
#define OFED_CORE_WIRE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_PORT      4791   /* version 2, UDP */
#define ROCE_ETHERTYPE 0x8915 /* version 1 */
#define IP4_BYTES      20
#define IP6_BYTES      40
#define UDP_BYTES      8
#define GRH_BYTES      40
#define GRH_NEXT_BTH   0x1b
/* Headers, 4096 bytes of data, pad, ICRC, and the IP header or GRH. */
#define PACKET_BYTES   4352

/* Integer socket options; a failure is only worth a note. */
void wire_set(int fd, int level, int option, int value);
/* Buffer sizes: past the limits with CAP_NET_ADMIN, else up to them. */
void wire_enlarge(int fd, int force, int polite);

/* The sockets of every worker. -errno of the first that failed. */
int wire_receive_open(bool with_ip6);

#endif
