/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * words: the names that scripts and logs use for flags and constants.
 */
#include "words.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

const struct word message_words[] = {
    {"peek", MSG_PEEK},
    {"waitall", MSG_WAITALL},
    {"dontwait", MSG_DONTWAIT},
    {"trunc", MSG_TRUNC},
    {"nosignal", MSG_NOSIGNAL},
    {"more", MSG_MORE},
    {"oob", MSG_OOB},
    {"errqueue", MSG_ERRQUEUE},
    {"cloexec", MSG_CMSG_CLOEXEC},
    {"waitforone", MSG_WAITFORONE},
    {"ctrunc", MSG_CTRUNC},
    {"eor", MSG_EOR},
    {"zerocopy", MSG_ZEROCOPY},
    {"dontroute", MSG_DONTROUTE},
    {NULL, 0},
};

const struct word poll_words[] = {
    {"in", POLLIN},         {"pri", POLLPRI},       {"out", POLLOUT},
    {"err", POLLERR},       {"hup", POLLHUP},       {"nval", POLLNVAL},
    {"rdhup", POLLRDHUP},   {"rdnorm", POLLRDNORM}, {"rdband", POLLRDBAND},
    {"wrnorm", POLLWRNORM}, {"wrband", POLLWRBAND}, {NULL, 0},
};

const struct word epoll_words[] = {
    {"in", EPOLLIN},
    {"pri", EPOLLPRI},
    {"out", EPOLLOUT},
    {"err", EPOLLERR},
    {"hup", EPOLLHUP},
    {"rdhup", EPOLLRDHUP},
    {"rdnorm", EPOLLRDNORM},
    {"rdband", EPOLLRDBAND},
    {"wrnorm", EPOLLWRNORM},
    {"wrband", EPOLLWRBAND},
    {"et", EPOLLET},
    {"oneshot", EPOLLONESHOT},
    {"exclusive", EPOLLEXCLUSIVE},
    {"wakeup", EPOLLWAKEUP},
    {NULL, 0},
};

const struct word shutdown_words[] = {
    {"rd", SHUT_RD}, {"wr", SHUT_WR}, {"rdwr", SHUT_RDWR}, {NULL, 0}};

const struct word signal_words[] = {
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"KILL", SIGKILL}, {"TERM", SIGTERM},
    {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"PIPE", SIGPIPE}, {"URG", SIGURG},
    {"IO", SIGIO},     {NULL, 0},
};

const struct word state_words[] = {
    {"established", TCP_ESTABLISHED},
    {"syn-sent", TCP_SYN_SENT},
    {"syn-recv", TCP_SYN_RECV},
    {"fin-wait1", TCP_FIN_WAIT1},
    {"fin-wait2", TCP_FIN_WAIT2},
    {"time-wait", TCP_TIME_WAIT},
    {"close", TCP_CLOSE},
    {"close-wait", TCP_CLOSE_WAIT},
    {"last-ack", TCP_LAST_ACK},
    {"listen", TCP_LISTEN},
    {"closing", TCP_CLOSING},
    {NULL, 0},
};

bool words_parse(const struct word *table, const char *text, unsigned *bits)
{
	*bits = 0;
	if (!strcmp(text, "-"))
		return true;
	while (*text) {
		size_t len = strcspn(text, "|");
		const struct word *w = table;

		while (w->name &&
		       (strlen(w->name) != len || strncmp(w->name, text, len)))
			w++;
		if (!w->name)
			return false;
		*bits |= w->value;
		text += len;
		if (*text == '|')
			text++;
	}
	return true;
}

void words_print(const struct word *table, unsigned bits, char *out,
		 size_t size)
{
	size_t used = 0;

	*out = 0;
	for (; table->name && used + 24 < size; table++) {
		if (!table->value || (bits & table->value) != table->value)
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 used ? "|" : "", table->name);
		bits &= ~table->value;
	}
	if (bits)
		snprintf(out + used, size - used, "%s0x%x", used ? "|" : "",
			 bits);
	else if (!used)
		snprintf(out, size, "-");
}

const char *word_name(const struct word *table, unsigned value)
{
	for (; table->name; table++)
		if (table->value == value)
			return table->name;
	return "other";
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

void pattern_fill(unsigned char *bytes, size_t size, uint32_t pattern,
		  size_t offset)
{
	uint64_t word = 0;

	for (size_t i = 0; i < size; i++) {
		size_t at = offset + i;

		if (!i || !(at & 7))
			word = mix((uint64_t)pattern << 40 ^ (at >> 3));
		bytes[i] = (unsigned char)(word >> (8 * (at & 7)));
	}
}

uint32_t sum_bytes(uint32_t sum, const void *bytes, size_t size)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ p[i]) * 16777619u;
	return sum;
}
