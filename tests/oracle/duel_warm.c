/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_warm: listeners that have served the other side before the game.
 */
#include "duel.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int warm_socket(uint32_t *port, bool listens)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	a.sin_port = htons((uint16_t)*port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listens ? bind(fd, (struct sockaddr *)&a, len) || listen(fd, 5) ||
			  getsockname(fd, (struct sockaddr *)&a, &len)
		    : connect(fd, (struct sockaddr *)&a, len))
		_exit(8);
	*port = ntohs(a.sin_port);
	return fd;
}

/* Reads to the end. */
static void warm_read(int fd)
{
	char bytes[8];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	close(fd);
}

static void warm_talk(struct game *g, int listener, uint32_t port)
{
	int client = -1;

	for (int i = 0; i < 2; i++) {
		if (listener < 0 || g->mine < 0)
			client = warm_socket(&port, false);
		if (listener >= 0 && g->mine >= 0) {
			warm_read(accept(listener, NULL, NULL));
			continue;
		}
		if (g->mine < 0) {
			int server = accept(listener, NULL, NULL);

			if (send(client, "warm", 4, 0) != 4)
				_exit(8);
			close(client);
			warm_read(server);
			continue;
		}
		if (send(client, "warm", 4, 0) != 4)
			_exit(8);
		shutdown(client, SHUT_WR);
		warm_read(client);
	}
}

void game_warm(struct game *g)
{
	for (int side = 0; side < SIDES; side++) {
		uint32_t *port = &g->table->warm[side];
		bool serves = g->mine < 0 || g->mine == side;
		int listener = -1;

		if (!serves)
			turn_take(g->mine);
		else
			listener = warm_socket(port, true);
		if (serves && g->mine >= 0)
			turn_give(!g->mine);
		warm_talk(g, listener, *port);
		if (listener >= 0)
			close(listener);
		/* The other side begins with the next one. */
		if (g->mine >= 0 && !serves)
			turn_give(!g->mine);
		else if (g->mine >= 0)
			turn_take(g->mine);
	}
}
