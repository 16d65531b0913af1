/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * client: the list of clients.
 */
#include "ofed_core/verbs/client.h"

#include <sys/syscall.h>
#include <unistd.h>

struct client *clients;

void client_add(struct client *c)
{
	c->next = clients;
	if (clients)
		clients->previous = c;
	clients = c;
}

void client_remove(struct client *c)
{
	if (c->previous)
		c->previous->next = c->next;
	else
		clients = c->next;
	if (c->next)
		c->next->previous = c->previous;
}

/* The process has a node that stands before this one in the list. */
static bool is_known(const struct client *c)
{
	for (const struct client *k = clients; k != c; k = k->next)
		if (k->kind != CLIENT_NEW && k->pid == c->pid)
			return true;
	return false;
}

/* The descriptor names it: a number may have gone to another process since. */
unsigned clients_signal(int signal_number)
{
	unsigned n = 0;

	for (struct client *c = clients; c; c = c->next)
		if (c->kind != CLIENT_NEW && c->pidfd >= 0 && !is_known(c) &&
		    syscall(SYS_pidfd_send_signal, c->pidfd, signal_number,
			    NULL, 0) == 0)
			n++;
	return n;
}
