/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * af_smc: a program written for the kernel's SMC sockets.
 *
 *   af_smc serve 0|1 PORT	echoes one connection until its end
 *   af_smc ask 0|1 PORT	sends, half closes, compares the echo
 *
 * The protocol number says IPv4 (0) or IPv6 (1); addresses are those of the
 * internet families.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAMILY_SMC 43
#define BYTES      300000

static unsigned char sent[BYTES], got[BYTES];

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "af_smc: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int make_socket(int protocol, int port, struct sockaddr_in6 *a)
{
	struct sockaddr_in *in = (struct sockaddr_in *)a;
	int fd = socket(FAMILY_SMC, SOCK_STREAM, protocol);

	check(fd >= 0, "socket");
	memset(a, 0, sizeof(*a));
	if (protocol) {
		a->sin6_family = AF_INET6;
		a->sin6_port = htons((uint16_t)port);
		a->sin6_addr = in6addr_loopback;
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	return fd;
}

static void serve(int fd, const struct sockaddr_in6 *a, socklen_t len)
{
	int on = 1, connection;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	check(!bind(fd, (const struct sockaddr *)a, len), "bind");
	check(!listen(fd, 1), "listen");
	connection = accept(fd, NULL, NULL);
	check(connection >= 0, "accept");
	while ((n = recv(connection, got, sizeof(got), 0)) > 0)
		for (ssize_t done = 0, m; done < n; done += m) {
			m = send(connection, got + done, (size_t)(n - done), 0);
			check(m > 0, "send");
		}
	check(n == 0, "recv");
	close(connection);
}

static void ask(int fd, const struct sockaddr_in6 *a, socklen_t len)
{
	size_t have = 0;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (unsigned char)(i * 7 + i / 251);
	check(!connect(fd, (const struct sockaddr *)a, len), "connect");
	for (size_t done = 0; done < sizeof(sent); done += 10000) {
		check(send(fd, sent + done, 10000, 0) == 10000, "send");
		check(recv(fd, got + done, 10000, MSG_WAITALL) == 10000,
		      "recv");
		have += 10000;
	}
	check(!shutdown(fd, SHUT_WR), "shutdown");
	check(recv(fd, got, 0, 0) == 0 && recv(fd, sent, 1, 0) == 0, "end");
	check(have == sizeof(sent), "bytes");
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 a;
	int protocol, fd;
	socklen_t len;

	if (argc != 4)
		return 2;
	protocol = atoi(argv[2]);
	len =
	    protocol ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	fd = make_socket(protocol, atoi(argv[3]), &a);
	if (!strcmp(argv[1], "serve")) {
		serve(fd, &a, len);
	} else {
		ask(fd, &a, len);
		check(!memcmp(sent + 1, got + 1, sizeof(sent) - 1), "compare");
	}
	close(fd);
	return 0;
}
