/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * before: a library that does much in its constructor, which runs before the
 * one of a preloaded library, as a rule. Prints what came of it, and how many
 * descriptors are open then.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#define STACK_BYTES 65536

static int status_of(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WEXITSTATUS(status);
}

static void streams(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	printf("fgets %d\n", fgets(line, sizeof(line), f) != NULL);
	printf("fclose %d\n", fclose(f));
	f = fdopen(open("/dev/null", O_RDONLY), "r");
	printf("fdopen %d\n", f != NULL);
	f = freopen("/proc/self/status", "r", f);
	printf("freopen %d\n", f != NULL);
	printf("fclose %d\n", fclose(f));
	f = popen("exit 3", "r");
	printf("popen %d\n", f != NULL);
	printf("pclose %d\n", f ? WEXITSTATUS(pclose(f)) : -1);
}

static int end_of_clone(void *status)
{
	_exit(*(int *)status);
}

static void execute(int how)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 8", NULL};
	char *env[] = {NULL};

	if (how == 0)
		execvp(argv[0], argv);
	if (how == 1)
		execvpe(argv[0], argv, env);
	if (how == 2)
		execl("/bin/sh", "sh", "-c", "exit 8", NULL);
	if (how == 3)
		fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), argv, env);
	_exit(127);
}

static void children(void)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 4", NULL};
	posix_spawn_file_actions_t actions;
	int status = 6;
	pid_t pid = fork();

	if (pid == 0)
		_exit(2);
	printf("fork %d\n", status_of(pid));
	pid = _Fork();
	if (pid == 0)
		_exit(5);
	printf("_Fork %d\n", status_of(pid));
	pid = clone(end_of_clone, stack + STACK_BYTES, SIGCHLD, &status);
	printf("clone %d\n", status_of(pid));
	printf("system %d\n", WEXITSTATUS(system("exit 7")));
	posix_spawn_file_actions_init(&actions);
	printf("adddup2 %d\n",
	       posix_spawn_file_actions_adddup2(&actions, 1, 2));
	printf("spawn %d",
	       posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ));
	printf(" %d\n", status_of(pid));
	printf("spawnp %d",
	       posix_spawnp(&pid, "sh", NULL, NULL, argv, environ));
	printf(" %d\n", status_of(pid));
	for (int how = 0; how < 4; how++) {
		pid = fork();
		if (pid == 0)
			execute(how);
		printf("exec %d\n", status_of(pid));
	}
}

static void *thread(void *number)
{
	return number;
}

/* The program has no name, and the kernel's page is no file. */
static int is_first(struct dl_phdr_info *info, size_t size, void *closure)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!slash)
		return 0;
	printf("first %s\n", slash + 1);
	*(int *)closure += 1;
	return 9;
}

static void others(void)
{
	pthread_t id;
	void *result = NULL;
	int visits = 0;
	wordexp_t words;
	void *where[1];
	int error = pthread_create(&id, NULL, thread, &words);

	if (!error)
		pthread_join(id, &result);
	printf("thread %d %d\n", error, result == &words);
	printf("wordexp %d\n", wordexp("a b$(echo c)", &words, 0));
	printf("words %zu\n", words.we_wordc);
	printf("dlopen %d\n", dlopen("libm.so.6", RTLD_NOW) != NULL);
	printf("iterate %d", dl_iterate_phdr(is_first, &visits));
	printf(" %d\n", visits);
	fflush(stdout);
	backtrace_symbols_fd(where, 0, 1);
}

static void sockets(void)
{
	int pair[2];
	char byte = 0;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int other = dup(fd);

	printf("listen %d\n", listen(fd, 1));
	close(fd);
	close(other);
	printf("pair %d", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	printf(" %zd", write(pair[0], "x", 1));
	printf(" %zd\n", read(pair[1], &byte, 1));
	close(pair[0]);
	close(pair[1]);
}

__attribute__((constructor)) static void before(void)
{
	struct dirent *entry;
	int count = 0;
	DIR *d;

	streams();
	children();
	others();
	sockets();
	d = opendir("/proc/self/fd");
	while (d && (entry = readdir(d)))
		count++;
	printf("descriptors %d\n", count);
	fflush(stdout);
	closedir(d);
}
