/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hostile: one attack on a victim.
 *
 * usage: hostile client PORT ATTACK     connects to a server
 *        hostile server PORT ATTACK     waits for one client
 *        hostile list {client|server}   names of attacks, one a line
 *
 * Exit: 0 done; 1 the victim did what it must not, said on standard output; 77
 * this machine has no SMC to attack.
 */
#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct attack *find(const struct attack *list, const char *name)
{
	for (; list->name; list++)
		if (strcmp(list->name, name) == 0)
			return list;
	return NULL;
}

static void print_names(const struct attack *list)
{
	for (; list->name; list++)
		puts(list->name);
}

int main(int argc, char **argv)
{
	static struct line line;
	const struct attack *own, *attack;
	uint16_t port;

	if (argc < 3) {
		fputs("usage: hostile {client|server} PORT ATTACK\n", stderr);
		return 2;
	}
	line.server = strcmp(argv[argc > 3 ? 1 : 2], "server") == 0;
	own = line.server ? server_attacks : client_attacks;
	if (argc == 3) {
		print_names(own);
		print_names(ring_attacks);
		return 0;
	}
	attack = find(own, argv[3]);
	if (!attack)
		attack = find(ring_attacks, argv[3]);
	if (!attack) {
		fprintf(stderr, "hostile: no attack %s\n", argv[3]);
		return 2;
	}
	port = (uint16_t)strtoul(argv[2], NULL, 10);
	alarm(40);
	line_init();
	attack->run(&line, port);
	line_end(0, "done");
}
