/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plugin: a program that makes a connection and then loads libraries with
 * RTLD_DEEPBIND, which use it.
 *
 *   plugin now|lazy FILE	one library; says what it got, and what of the
 *				library can be written to
 *   plugin storm FILE...	threads load, use and unload them for a second
 *
 * The other end sends back what it gets. Prints the same on TCP and on SMC.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define ROUND   10
#define THREADS 4

typedef ssize_t turn_function(int, char *, size_t);

/* Connects to a child that answers. */
static int begin(void)
{
	int port, listener = helper_listen(&port), fd;

	fflush(stdout);
	if (fork() == 0) {
		fd = accept(listener, NULL, NULL);
		close(listener);
		echo_all(fd);
		_exit(0);
	}
	fd = helper_connect(port);
	close(listener);
	send_all(fd, "x", 1);
	check(recv_all(fd, (char[1]){0}, 1) == 1, "an answer");
	return fd;
}

static void end(int fd)
{
	close(fd);
	check(wait(NULL) > 0, "the other end is over");
}

static ssize_t turn(void *library, int fd, char *bytes)
{
	turn_function *f = (turn_function *)dlsym(library, "plugin_turn");

	check(f != NULL, "plugin_turn");
	return f(fd, bytes, ROUND);
}

/* Its rights at this address, as /proc has them. */
static void rights(uintptr_t where, char out[5])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];

	strcpy(out, "none");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && where >= from &&
		    where < to)
			sscanf(line, "%*s %4s", out);
	if (maps)
		fclose(maps);
}

static void one(const char *file, int mode)
{
	char bytes[ROUND + 1] = "0123456789";
	struct link_map *map;
	char may[5];
	int fd = begin();
	void *library = dlopen(file, mode | RTLD_DEEPBIND);

	check(library != NULL, dlerror());
	check(turn(library, fd, bytes) == ROUND, "the turn");
	check(!dlinfo(library, RTLD_DI_LINKMAP, &map), "where it is");
	/* Its dynamic section is in the part that is sealed. */
	rights((uintptr_t)map->l_ld, may);
	printf("%s %s\n", bytes, may);
	dlclose(library);
	end(fd);
}

static char **files;
static int file_count;
static atomic_bool over;

static void *load_and_use(void *argument)
{
	uint64_t state = (uintptr_t)argument + 1;
	int fd = begin();

	while (!over) {
		char bytes[ROUND + 1] = "0123456789";
		int which = (int)dice(&state, (uint32_t)file_count);
		int mode = dice(&state, 2) ? RTLD_NOW : RTLD_LAZY;
		void *library = dlopen(files[which], mode | RTLD_DEEPBIND);

		check(library != NULL, "loaded");
		check(turn(library, fd, bytes) == ROUND, "the turn");
		check(!strcmp(bytes, "0123456789"), "the same bytes");
		dlclose(library);
		progress();
	}
	close(fd);
	return NULL;
}

static void storm(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, load_and_use, (void *)i);
	nap_us(1000000);
	over = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("well");
}

int main(int argc, char **argv)
{
	check(argc > 2, "usage: plugin now|lazy|storm FILE...");
	watchdog_start(30);
	files = argv + 2;
	file_count = argc - 2;
	if (!strcmp(argv[1], "storm"))
		storm();
	else
		one(argv[2], !strcmp(argv[1], "now") ? RTLD_NOW : RTLD_LAZY);
	return 0;
}
