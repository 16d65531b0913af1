/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* shell: runs a command by /bin/sh and keeps what it prints. */
#include "cmd/smit/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int keyboard_signals[] = {SIGINT, SIGQUIT};

struct run {
	pid_t child;
	struct pollfd streams[2];
	struct sigaction old[2];
};

static int append(struct shell_text *t, const char *bytes, size_t length)
{
	char *grown;

	if (t->length + length > SHELL_BYTES_MAX) {
		t->is_cut = true;
		return 0;
	}
	grown = realloc(t->bytes, t->length + length + 1);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + t->length, bytes, length);
	t->bytes = grown;
	t->length += length;
	grown[t->length] = '\0';
	return 0;
}

static _Noreturn void become(const char *command, const int ends[2])
{
	static const int ours[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(ends[0], STDOUT_FILENO) < 0 ||
	    dup2(ends[1], STDERR_FILENO) < 0)
		_exit(126);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void ignore_keyboard(struct run *run)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (size_t i = 0; i < 2; i++)
		sigaction(keyboard_signals[i], &ignore, &run->old[i]);
}

static void heed_keyboard(const struct run *run)
{
	for (size_t i = 0; i < 2; i++)
		sigaction(keyboard_signals[i], &run->old[i], NULL);
}

static int start(struct run *run, const char *command)
{
	int out[2], err[2], error;

	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(err, O_CLOEXEC) < 0) {
		error = -errno;
		close(out[0]);
		close(out[1]);
		return error;
	}
	ignore_keyboard(run);
	run->child = fork();
	error = -errno;
	if (run->child == 0)
		become(command, (const int[2]){out[1], err[1]});
	close(out[1]);
	close(err[1]);
	if (run->child < 0) {
		close(out[0]);
		close(err[0]);
		heed_keyboard(run);
		return error;
	}
	run->streams[0] = (struct pollfd){out[0], POLLIN, 0};
	run->streams[1] = (struct pollfd){err[0], POLLIN, 0};
	return 0;
}

static int take(struct run *run, int i, struct shell_result *r)
{
	struct pollfd *stream = &run->streams[i];
	char bytes[4096];
	ssize_t n = read(stream->fd, bytes, sizeof(bytes));
	int error;

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		close(stream->fd);
		stream->fd = -1;
		return 0;
	}
	error = append(i == 0 ? &r->out : &r->err, bytes, (size_t)n);
	return error ? error : append(&r->both, bytes, (size_t)n);
}

/*
 * A command may leave a child behind that keeps the streams; when the command
 * itself has ended, what has come is all.
 */
static int collect(struct run *run, struct shell_result *r,
		   void (*progress)(void *owner), void *owner)
{
	bool has_ended = false;
	int error = 0;

	while (!error && (run->streams[0].fd >= 0 || run->streams[1].fd >= 0)) {
		int n = poll(run->streams, 2, has_ended ? 0 : 100);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < 2 && n > 0 && !error; i++)
			if (run->streams[i].fd >= 0 && run->streams[i].revents)
				error = take(run, i, r);
		if (n > 0 && progress)
			progress(owner);
		if (n == 0 && has_ended)
			break;
		if (!has_ended)
			has_ended =
			    waitpid(run->child, &r->status, WNOHANG) > 0;
	}
	while (!has_ended && waitpid(run->child, &r->status, 0) < 0)
		if (errno != EINTR)
			break;
	return error;
}

int shell_run(const char *command, struct shell_result *r,
	      void (*progress)(void *owner), void *owner)
{
	struct run run;
	int error;

	/* So that there always is a text. */
	if (append(&r->out, "", 0) || append(&r->err, "", 0) ||
	    append(&r->both, "", 0))
		return -ENOMEM;
	error = start(&run, command);
	if (error)
		return error;
	error = collect(&run, r, progress, owner);
	for (int i = 0; i < 2; i++)
		if (run.streams[i].fd >= 0)
			close(run.streams[i].fd);
	heed_keyboard(&run);
	return error;
}

void shell_fini(struct shell_result *r)
{
	free(r->out.bytes);
	free(r->err.bytes);
	free(r->both.bytes);
	memset(r, 0, sizeof(*r));
}

bool shell_is_done(const struct shell_result *r)
{
	return WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0;
}

void shell_find_commands(void)
{
	char dir[PATH_MAX], *path = NULL;
	const char *old = getenv("PATH");
	ssize_t length = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	if (length < 0)
		return;
	dir[length] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return;
	*slash = '\0';
	/* Below /usr some of our commands have a directory of their own. */
	if (asprintf(&path, "%s:%s/../lib/smc_r/bin:%s", dir, dir,
		     old ? old : "/usr/sbin:/usr/bin:/sbin:/bin") < 0)
		return;
	setenv("PATH", path, 1);
	free(path);
}
