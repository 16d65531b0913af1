/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wiretap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

#define TCP_SYN 0x02
#define TCP_ACK 0x10

/* RFC 7609 appendix A */
static const unsigned char option[] = {0xfe, 0x06, 0xe2, 0xd4, 0xc3, 0xd9};

/* How often the option stands in a list of TCP options. */
static unsigned count_options(const unsigned char *list, size_t length)
{
	unsigned found = 0;
	size_t at = 0;

	while (at < length && list[at] != 0) {
		size_t step = 1;

		if (list[at] != 1) {
			if (at + 1 >= length || list[at + 1] < 2)
				break;
			step = list[at + 1];
		}
		if (at + step <= length && step == sizeof(option) &&
		    memcmp(list + at, option, step) == 0)
			found++;
		at += step;
	}
	return found;
}

static void append(char *segments, unsigned options)
{
	size_t n = strlen(segments);

	if (n < WIRETAP_SEGMENTS_MAX)
		segments[n] = options == 0 ? '-' : options == 1 ? 'y' : 'X';
}

static void take_tcp(struct wiretap *w, const unsigned char *tcp, size_t length)
{
	size_t header;
	unsigned options, flags;

	if (length < 20)
		return;
	if ((tcp[0] << 8 | tcp[1]) != w->port &&
	    (tcp[2] << 8 | tcp[3]) != w->port)
		return;
	header = (size_t)(tcp[12] >> 4) * 4;
	if (header < 20 || header > length)
		return;
	options = count_options(tcp + 20, header - 20);
	flags = tcp[13] & (TCP_SYN | TCP_ACK);
	if (flags == TCP_SYN)
		append(w->syn, options);
	else if (flags == (TCP_SYN | TCP_ACK))
		append(w->synack, options);
	else
		w->other += options;
}

static void take_packet(struct wiretap *w, const unsigned char *ip,
			size_t length)
{
	size_t header;

	if (length >= 20 && ip[0] >> 4 == 4 && ip[9] == IPPROTO_TCP)
		header = (size_t)(ip[0] & 15) * 4;
	else if (length >= 40 && ip[0] >> 4 == 6 && ip[6] == IPPROTO_TCP)
		header = 40;
	else
		return;
	if (header <= length)
		take_tcp(w, ip + header, length - header);
}

int wiretap_open(struct wiretap *w, const char *interface, uint16_t port)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
				      .sll_protocol = htons(ETH_P_ALL)};
	int one = 1, error;

	memset(w, 0, sizeof(*w));
	w->port = port;
	address.sll_ifindex = (int)if_nametoindex(interface);
	w->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (w->fd < 0)
		return -errno;
	/* Loopback shows each packet twice, going out and coming in. */
	if (address.sll_ifindex == 0 ||
	    (strcmp(interface, "lo") == 0 &&
	     setsockopt(w->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one,
			sizeof(one)) != 0) ||
	    bind(w->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		error = -errno;
		wiretap_close(w);
		return error;
	}
	return 0;
}

void wiretap_read(struct wiretap *w)
{
	unsigned char packet[2048];
	ssize_t length;

	while ((length = recv(w->fd, packet, sizeof(packet), 0)) >= 0)
		take_packet(w, packet, (size_t)length);
}

void wiretap_close(struct wiretap *w)
{
	close(w->fd);
	w->fd = -1;
}
