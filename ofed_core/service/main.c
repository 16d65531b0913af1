/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * main: the program ofed_core.
 *
 * ofed_core [-f]   -f stays in the foreground and logs to standard error.
 * Without -f it returns to the caller once programs can open devices, with
 * exit status 0; 1 when it could not start (the reason is on standard error).
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/ofed_rundir.h"
#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm.h"
#include "ofed_core/device/netdev.h"
#include "ofed_core/device/sysfs.h"
#include "ofed_core/qp/qp_watch.h"
#include "ofed_core/service/control_server.h"
#include "ofed_core/service/dispatch.h"
#include "ofed_core/service/serve.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/wire/wire.h"

/* The makefile says which one; a checker of this file does not. */
#ifndef SMC_R_VERSION
#define SMC_R_VERSION "0"
#endif

#define PRIORITY (-10) /* nice */

/* The requests of the smallest queue pair are longer. */
#define LONG_BYTES (16 << 10)

static const char usage[] =
    "Usage: ofed_core [-f | -h | --version]\n"
    "Serves the verbs libraries; \"ofedctrl -l\" starts it.\n\n"
    "  -f  stay in the foreground and log to standard error\n"
    "  -h  this text\n";

static struct source signals;

static void on_signal(struct source *s, uint32_t events)
{
	struct signalfd_siginfo i;

	(void)events;
	if (read(s->fd, &i, sizeof(i)) != sizeof(i))
		return;
	if (i.ssi_signo == SIGHUP)
		return;
	log_info("signal %u: ending", i.ssi_signo);
	pthread_rwlock_wrlock(&core_lock);
	serve_lose(NULL);
	pthread_rwlock_unlock(&core_lock);
	workers_stop();
}

/* Blocked before any thread starts, so that all inherit it. */
static int watch_signals(const sigset_t *set)
{
	signals.fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	signals.ready = on_signal;
	if (signals.fd < 0)
		return -errno;
	return worker_add_source(worker_at(0), &signals);
}

static unsigned thread_count(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = 1;

	while (n < WORKERS_MAX && (long)n * 2 <= cpus)
		n *= 2;
	return n;
}

static int read_parameters(void)
{
	struct parameters p;
	int line;
	int rc;

	parameters_init(&p);
	rc = parameters_read(&p, parameters_path(), &line);
	if (rc < 0)
		fprintf(stderr, "ofed_core: %s, line %d: %s\n",
			parameters_path(), line, strerror(-rc));
	params_put(&p);
	return rc;
}

static void read_roce_mode(void)
{
	const char *mode = getenv("OFED_CORE_ROCE_V2_MODE");

	if (!mode || !*mode)
		return;
	if (strcmp(mode, "0") == 0)
		roce_mode = ROCE_V1_ONLY;
	else if (strcmp(mode, "2") == 0)
		roce_mode = ROCE_BOTH;
	else if (strcmp(mode, "1") != 0)
		fprintf(stderr, "ofed_core: OFED_CORE_ROCE_V2_MODE is not 0, "
				"1 or 2: taken as 1\n");
}

static int start(const sigset_t *set)
{
	int rc = sysfs_make_rundir();

	if (rc < 0) {
		fprintf(stderr,
			"ofed_core: run directory in %s: %s. %s, or set "
			"OFED_CORE_RUNDIR to a directory of yours\n",
			ofed_rundir_base(), strerror(-rc),
			rc == -EACCES || rc == -EPERM
			    ? "Run it as root"
			    : "Look for what is wrong there");
		return rc;
	}
	rc = qps_init();
	qp_watch_init();
	if (rc == 0)
		rc = workers_start(thread_count());
	if (rc == 0)
		rc = control_listen();
	if (rc == -EALREADY)
		fprintf(stderr, "ofed_core: already loaded\n");
	if (rc < 0)
		return rc;
	cm_open();
	rc = wire_open(dispatch);
	if (rc < 0)
		log_warning("no RoCE on the wire (%s): only queue pairs of "
			    "this host reach each other",
			    strerror(-rc));
	rc = netdev_start(&serve_netdev_events);
	if (rc == 0)
		rc = watch_signals(set);
	if (rc == 0)
		rc = serve_listen();
	if (rc < 0)
		fprintf(stderr, "ofed_core: %s\n", strerror(-rc));
	return rc;
}

/* The parent waits for the child's word, then ends. */
static void detach(int *word)
{
	int pair[2];
	char byte = 1;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		exit(1);
	pid = fork();
	if (pid < 0)
		exit(1);
	if (pid > 0) {
		close(pair[1]);
		if (read(pair[0], &byte, 1) != 1)
			byte = 1;
		_exit(byte);
	}
	close(pair[0]);
	setsid();
	*word = pair[1];
}

static void report(int word, char status)
{
	int null;

	if (word < 0)
		return;
	if (write(word, &status, 1) != 1)
		log_debug("nobody waits for the start");
	close(word);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (status || null < 0)
		return;
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	close(null);
	log_to_syslog(true);
}

/*
 * Programs wait for the core as they would for an adapter and its interrupts.
 * Where sessions share the processors (autogroup), ours counts as one; it has
 * been made by detach(). A priority that we were started with stays, and so
 * does one that we have no right to change.
 */
static void come_first(bool has_session)
{
	int fd;

	errno = 0;
	if (getpriority(PRIO_PROCESS, 0) != 0 || errno ||
	    setpriority(PRIO_PROCESS, 0, PRIORITY) < 0)
		return;
	fd = has_session ? open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC)
			 : -1;
	if (fd < 0)
		return;
	if (dprintf(fd, "%d", PRIORITY) < 0)
		log_info("priority of the session not raised: error %d", errno);
	close(fd);
}

/* The exit status of what was only to be printed. */
static int printed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "ofed_core: cannot write: %s\n", strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	sigset_t set;
	int word = -1;
	int rc;

	if (argc == 2 && strcmp(argv[1], "-h") == 0) {
		fputs(usage, stdout);
		return printed();
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("ofed_core (smc_r) " SMC_R_VERSION);
		return printed();
	}
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "-f") != 0)) {
		fputs(usage, stderr);
		return 2;
	}
	if (read_parameters() < 0)
		return 1;
	if (argc == 1)
		detach(&word);
	come_first(argc == 1);
	read_roce_mode();
	umask(022);
	/* What is as long goes back to the kernel when it is freed. */
	mallopt(M_MMAP_THRESHOLD, LONG_BYTES);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = start(&set);
	report(word, rc < 0);
	if (rc < 0) {
		if (rc != -EALREADY)
			sysfs_remove();
		return 1;
	}
	workers_wait();
	/* Another core may be started once nobody finds this one. */
	wire_close();
	sysfs_remove();
	control_forget();
	return 0;
}
