/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_rc: the link service between hosts. mkdev(8) loads it and rmdev(8)
 * unloads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "smc_r/os/barrier.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/peer/identity.h"
#include "smc_r/service/rc_hello.h"
#include "smc_r/service/rc_serve.h"
#include "smc_r/status/segment.h"

#ifndef SMC_R_VERSION
#define SMC_R_VERSION "unknown"
#endif

#define NAME "smc_rc"

static volatile sig_atomic_t stop;

static void note_stop(int number)
{
	(void)number;
	stop = 1;
}

static void usage(FILE *to)
{
	fprintf(to, "usage: " NAME " [-f] | -h | --version\n"
		    "Serves SMC-R connections between hosts until SIGTERM.\n"
		    "  -f  stay in the foreground\n");
}

static int fail(const char *what, int error)
{
	fprintf(stderr, NAME ": %s: %s\n", what, strerror(error));
	return 1;
}

/* Two random bytes and the MAC of an interface (RFC 7609, A.2). */
static int make_peer_id(uint8_t id[8])
{
	struct ifaddrs *all = NULL;

	if (identity_random(id, 8) < 0 || getifaddrs(&all) < 0)
		return -1;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		const struct sockaddr_ll *l = (const void *)a->ifa_addr;

		if (!l || l->sll_family != AF_PACKET || l->sll_halen != 6 ||
		    (a->ifa_flags & IFF_LOOPBACK))
			continue;
		memcpy(id + 2, l->sll_addr, 6);
		break;
	}
	freeifaddrs(all);
	return 0;
}

/* Memory that an RNIC reaches stays where it is. Descriptors of the engine's
 * lie above the soft limit (private_fd()), so that half is left for them. */
static void raise_limits(void)
{
	struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &l) < 0 &&
	    getrlimit(RLIMIT_MEMLOCK, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &l);
	}
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max / 2;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* The engine's parts that it uses, as a program's process has them. */
static int begin_engine(void)
{
	int error;

	real_init();
	process_init();
	error = fdtable_init();
	if (error == 0)
		barrier_register();
	return error;
}

static void handle_signals(void)
{
	struct sigaction a = {.sa_handler = note_stop};

	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
	a.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

/* Whoever started us goes on when hellos are heard. */
static int leave_foreground(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t child = fork();

	if (child < 0)
		return fail("fork", errno);
	if (child > 0)
		_exit(0);
	setsid();
	if (null >= 0)
		for (int fd = 0; fd <= 2; fd++)
			dup2(null, fd);
	if (chdir("/") < 0)
		return 1;
	return 0;
}

static int serve(int listener)
{
	uint8_t id[8];
	struct rc_service *service;
	int error;

	if (make_peer_id(id) < 0)
		return fail("random numbers and interfaces", errno);
	service = rc_service_new(id);
	if (!service)
		return fail("no memory", ENOMEM);
	error = rc_serve(listener, service, &stop);
	rc_service_free(service);
	return error ? fail("epoll", error) : 0;
}

static int start(bool foreground)
{
	int listener = rc_hello_listen();
	int status;

	if (listener == -EADDRINUSE) {
		fprintf(stderr, NAME ": already loaded\n");
		return 0;
	}
	if (listener < 0)
		return fail(rundir_path(), -listener);
	if (!foreground && leave_foreground() != 0)
		return 1;
	handle_signals();
	raise_limits();
	status = begin_engine();
	if (status < 0)
		return fail("no memory", -status);
	status = serve(listener);
	rc_hello_forget();
	engine_lock();
	identity_close();
	segment_close();
	engine_unlock();
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts(NAME " " SMC_R_VERSION);
		return 0;
	}
	if (argc == 2 &&
	    (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
		usage(stdout);
		return 0;
	}
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "-f") != 0)) {
		usage(stderr);
		return 2;
	}
	return start(argc == 2);
}
