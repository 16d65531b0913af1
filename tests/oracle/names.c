/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * names: the descriptors of an actor by the names scripts give them.
 */
#include "actor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct name {
	char text[NAME_LEN];
	int fd;
	bool closed; /* the number may belong to another name by now */
};

static struct name names[NAMES_MAX];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

/* The name, or the first free place for it; NULL when the table is full. */
static struct name *place(const char *text)
{
	struct name *empty = NULL;

	for (int i = 0; i < NAMES_MAX; i++) {
		if (!strncmp(names[i].text, text, NAME_LEN - 1))
			return &names[i];
		if (!names[i].text[0] && !empty)
			empty = &names[i];
	}
	return empty;
}

int name_fd(const char *text)
{
	struct name *n;
	int fd = -1;

	pthread_mutex_lock(&names_lock);
	n = place(text);
	if (n && n->text[0])
		fd = n->fd;
	pthread_mutex_unlock(&names_lock);
	return fd;
}

int name_index(const char *text)
{
	struct name *n;
	int index = -1;

	pthread_mutex_lock(&names_lock);
	n = place(text);
	if (n && n->text[0])
		index = (int)(n - names);
	pthread_mutex_unlock(&names_lock);
	return index;
}

const char *name_at(int index)
{
	if (index < 0 || index >= NAMES_MAX || !names[index].text[0])
		return "unknown";
	return names[index].text;
}

void name_set(const char *text, int fd)
{
	struct name *n;

	pthread_mutex_lock(&names_lock);
	n = place(text);
	if (!n) {
		fprintf(stderr, "oracle: more than %d names\n", NAMES_MAX);
		_exit(2);
	}
	snprintf(n->text, sizeof(n->text), "%s", text);
	n->fd = fd;
	n->closed = fd < 0;
	pthread_mutex_unlock(&names_lock);
}

void name_closed(const char *text)
{
	struct name *n;

	pthread_mutex_lock(&names_lock);
	n = place(text);
	if (n && n->text[0])
		n->closed = true;
	pthread_mutex_unlock(&names_lock);
}

void names_close_but(const char *list)
{
	for (int i = 0; i < NAMES_MAX; i++)
		if (names[i].text[0] && !names[i].closed &&
		    !list_has(list, names[i].text))
			close(names[i].fd);
	names_keep(list);
}

void names_keep(const char *list)
{
	for (int i = 0; i < NAMES_MAX; i++)
		if (names[i].text[0] && !list_has(list, names[i].text))
			memset(&names[i], 0, sizeof(names[i]));
}

int names_arguments(const char *list, char **argv, int max)
{
	int count = 0;

	for (int i = 0; i < NAMES_MAX && count < max; i++) {
		if (!names[i].text[0] || !list_has(list, names[i].text))
			continue;
		if (asprintf(&argv[count], "%s=%d", names[i].text,
			     names[i].fd) < 0)
			break;
		count++;
	}
	return count;
}
