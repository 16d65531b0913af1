/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_rc: the link service between hosts. mkdev(8) loads it and rmdev(8)
 * unloads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
#include "smc_r/service/rc_keeper.h"
#include "smc_r/service/rc_serve.h"
#include "smc_r/status/account.h"
#include "smc_r/status/segment.h"

#ifndef SMC_R_VERSION
#define SMC_R_VERSION "unknown"
#endif

#define NAME        "smc_rc"
#define EIDS_MAX    4
#define EID_BYTES   32
/* Hosts that have nothing but us to talk to need not agree on one. */
#define DEFAULT_EID "SMC-R.DEFAULT"

static volatile sig_atomic_t stop;

static void note_stop(int number)
{
	(void)number;
	stop = 1;
}

static void usage(FILE *to)
{
	fprintf(to, "usage: " NAME " [-f] [-e EID]... | -h | --version\n"
		    "Serves SMC-R connections between hosts until SIGTERM.\n"
		    "  -f      stay in the foreground\n"
		    "  -e EID  a user EID of this host, for SMC-R version 2\n");
}

static int fail(const char *what, int error)
{
	fprintf(stderr, NAME ": %s: %s\n", what, strerror(error));
	return 1;
}

/* The exit status of what was only to be printed. */
static int printed(void)
{
	return fflush(stdout) == 0 && !ferror(stdout)
		   ? 0
		   : fail("cannot write", errno);
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

/* What a device had that is gone is given back, too: without this libibverbs
 * keeps what the device does not answer for. */
static void free_without_device(void)
{
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 0);
}

/* The engine's parts that it uses, as a program's process has them. */
static int begin_engine(void)
{
	int error;

	real_init();
	process_init();
	error = fdtable_init();
	/* Its rings count beside those of all other processes. */
	account_init(rundir_path());
	if (error == 0)
		barrier_register();
	return error;
}

/* They come where the loop waits: rc_serve.h. */
static void handle_signals(void)
{
	struct sigaction a = {.sa_handler = note_stop};
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigprocmask(SIG_BLOCK, &held, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
	a.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

/* The process that was started ends when the service hears hellos, or cannot:
 * the other end of the pipe says which. */
static int leave_foreground(void)
{
	int ends[2];
	char status = 1;
	pid_t child;

	if (pipe(ends) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		close(ends[0]);
		setsid();
		return ends[1];
	}
	close(ends[1]);
	if (child < 0 || read(ends[0], &status, 1) != 1)
		status = 1;
	_exit(status);
}

static void tell_starter(int pipe_end, char status)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (pipe_end < 0)
		return;
	if (null >= 0)
		for (int fd = 0; fd <= 2; fd++)
			dup2(null, fd);
	if (write(pipe_end, &status, 1) != 1 || chdir("/") < 0)
		stop = 1;
	close(pipe_end);
}

struct request {
	bool foreground;
	const char *eid[EIDS_MAX];
	int eids;
};

static int serve(int listener, const struct request *r)
{
	uint8_t id[8];
	struct rc_service *service;
	int error;

	if (make_peer_id(id) < 0)
		return fail("random numbers and interfaces", errno);
	service = rc_service_new(id);
	if (!service)
		return fail("no memory", ENOMEM);
	for (int i = 0; i < r->eids; i++)
		rc_service_add_eid(service, r->eid[i]);
	if (r->eids == 0)
		rc_service_add_eid(service, DEFAULT_EID);
	error = rc_serve(listener, service, &stop);
	rc_service_free(service);
	return error ? fail("epoll", error) : 0;
}

static int serve_and_leave(int listener, const struct request *r)
{
	int status = begin_engine();

	if (status < 0)
		return fail("no memory", -status);
	status = serve(listener, r);
	rc_hello_forget();
	engine_lock();
	identity_close();
	segment_close();
	engine_unlock();
	return status;
}

static int start(const struct request *r)
{
	int starter = r->foreground ? -1 : leave_foreground();
	int listener = rc_hello_listen();
	int status;
	int pid;

	if (listener == -EADDRINUSE) {
		fprintf(stderr, NAME ": already loaded\n");
		tell_starter(starter, 0);
		return 0;
	}
	if (listener < 0) {
		fail(rundir_path(), -listener);
		tell_starter(starter, 1);
		return 1;
	}
	handle_signals();
	raise_limits();
	free_without_device();
	tell_starter(starter, 0);
	pid = rc_keeper_run(listener, &status);
	if (pid < 0)
		return fail("cannot start the service", -pid);
	return pid ? serve_and_leave(listener, r) : status;
}

/* -1: go on; else the exit status. */
static int take_flag(struct request *r, int flag)
{
	size_t n;

	switch (flag) {
	case 'f':
		r->foreground = true;
		return -1;
	case 'e':
		n = strlen(optarg);
		if (n > 0 && n <= EID_BYTES && r->eids < EIDS_MAX) {
			r->eid[r->eids++] = optarg;
			return -1;
		}
		fprintf(stderr,
			NAME ": -e %s: an EID has 1 to %d characters, and "
			     "there are %d at most\n",
			optarg, EID_BYTES, EIDS_MAX);
		return 2;
	case 'h':
		usage(stdout);
		return printed();
	case 'V':
		puts(NAME " (smc_r) " SMC_R_VERSION);
		return printed();
	default:
		usage(stderr);
		return 2;
	}
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
	    {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'V'},
	    {NULL, 0, NULL, 0}};
	struct request r = {.foreground = false};
	int flag;

	while ((flag = getopt_long(argc, argv, "fe:h", longs, NULL)) != -1) {
		int status = take_flag(&r, flag);

		if (status >= 0)
			return status;
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	return start(&r);
}
