/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plugin_part: what the program plugin loads, and, with OWN_RECV, a library
 * that such a plugin needs and that has a recv() of its own.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef OWN_RECV

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	ssize_t got = recvfrom(fd, p, n, flags, NULL, NULL);

	if (got > 0)
		*(char *)p = 'O';
	return got;
}

#else

ssize_t plugin_turn(int fd, char *bytes, size_t n);

/* A pointer to a function in what is read-only once it is loaded. */
static ssize_t (*const out)(int, const void *, size_t) = write;

/* Sends the bytes, and waits for as many. */
ssize_t plugin_turn(int fd, char *bytes, size_t n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t got = 0;

	if (out(fd, bytes, n) != (ssize_t)n)
		return -1;
	memset(bytes, 0, n);
	while (got < n) {
		ssize_t r;

		if (poll(&p, 1, 5000) != 1)
			return -2;
		r = recv(fd, bytes + got, n - got, 0);
		if (r <= 0)
			return -3;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

#endif
