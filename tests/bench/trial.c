/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* trial: see trial.h. */
#include "trial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds that a trial may last beyond its length before it is ended. */
#define GRACE 30

struct choice {
	const char *name;
	int value;
};

static const struct choice transports[] = {
    {"tcp", TRANSPORT_TCP},
    {"unix", TRANSPORT_UNIX},
    {"ring", TRANSPORT_RING},
    {NULL, 0},
};
static const struct choice waitings[] = {
    {"block", WAIT_BLOCK}, {"epoll", WAIT_EPOLL}, {"epollet", WAIT_EPOLL_EDGE},
    {"poll", WAIT_POLL},   {"busy", WAIT_BUSY},   {NULL, 0},
};
static const struct choice roles[] = {
    {"both", ROLE_BOTH},
    {"server", ROLE_SERVER},
    {"client", ROLE_CLIENT},
    {NULL, 0},
};
static const struct choice shapes[] = {
    {"one", SHAPE_ONE},     {"threads", SHAPE_THREADS},
    {"share", SHAPE_SHARE}, {"children", SHAPE_CHILDREN},
    {"reuse", SHAPE_REUSE}, {NULL, 0},
};
static const struct choice ring_waitings[] = {
    {"spin", RING_SPIN},
    {"adaptive", RING_ADAPTIVE},
    {"futex", RING_FUTEX},
    {NULL, 0},
};

static const struct option_line {
	char letter;
	const char *text;
} option_lines[] = {
    {'T', "tcp|unix|ring        transport (tcp)"},
    {'w', "block|epoll|epollet|poll|busy  how an end waits (block)"},
    {'r', "both|server|client   ends to run in this process (both)"},
    {'a', "address              of the server (127.0.0.1)"},
    {'p', "port                 of the server (17609)"},
    {'u', "path                 of the AF_UNIX socket"},
    {'C', "core                 of the client (not bound)"},
    {'S', "core                 of the server (not bound)"},
    {'t', "seconds              to run (1)"},
    {'m', "bytes                of a message or a write (64)"},
    {'b', "bytes                of one read (1048576)"},
    {'d', "                     TCP_NODELAY"},
    {'g', "microseconds         to sleep after each write (0: not at all)"},
    {'R', "spin|adaptive|futex  how an end of the bare ring waits (spin)"},
    {'P', "bytes                bare ring: publish in pieces of this size"},
    {'B', "bytes                bare ring: its size (262144)"},
    {'n', "count                connections with traffic (1)"},
    {'k', "count                connections without traffic (0)"},
    {'A', "one|threads|children|share|reuse  what accepts (one)"},
    {'i',
     "milliseconds         of a turn: one for each line of input (0: none)"},
};

static _Noreturn void usage(const char *allowed, const char *what, int status)
{
	FILE *out = status ? stderr : stdout;
	size_t i;

	fprintf(out, "%s: %s\n", program_invocation_short_name, what);
	for (i = 0; i < sizeof(option_lines) / sizeof(option_lines[0]); i++)
		if (strchr(allowed, option_lines[i].letter))
			fprintf(out, "  -%c %s\n", option_lines[i].letter,
				option_lines[i].text);
	exit(status);
}

static int choose(const struct choice *c, const char *word, char letter)
{
	for (; c->name; c++)
		if (!strcmp(c->name, word))
			return c->value;
	fprintf(stderr, "%s: -%c: \"%s\" is none of the words it takes\n",
		program_invocation_short_name, letter, word);
	exit(2);
}

static double number(const char *word, char letter, double least, double most)
{
	char *end;
	double value = strtod(word, &end);

	if (end != word && !*end && value >= least && value <= most)
		return value;
	fprintf(stderr, "%s: -%c: \"%s\" is not a number from %g to %g\n",
		program_invocation_short_name, letter, word, least, most);
	exit(2);
}

static size_t bytes(const char *word, char letter)
{
	return (size_t)number(word, letter, 1, 1 << 30);
}

static void set_place(struct trial *t, int letter, const char *word)
{
	switch (letter) {
	case 'a':
		t->address = word;
		break;
	case 'p':
		t->port = (unsigned)number(word, 'p', 1, 65535);
		break;
	case 'u':
		t->path = word;
		break;
	case 'C':
		t->client_cpu = (int)number(word, 'C', 0, 4095);
		break;
	case 'S':
		t->server_cpu = (int)number(word, 'S', 0, 4095);
		break;
	case 'n':
		t->busy = (unsigned)number(word, 'n', 0, 1000000);
		break;
	case 'i':
		t->turn_ms = (unsigned)number(word, 'i', 0, 10000);
		break;
	case 'k':
		t->idle = (unsigned)number(word, 'k', 0, 1000000);
		break;
	}
}

static void set_option(struct trial *t, int letter, const char *word)
{
	switch (letter) {
	case 'T':
		t->transport = (enum transport)choose(transports, word, 'T');
		break;
	case 'w':
		t->waiting = (enum waiting)choose(waitings, word, 'w');
		break;
	case 'r':
		t->role = (enum role)choose(roles, word, 'r');
		break;
	case 'A':
		t->shape = (enum shape)choose(shapes, word, 'A');
		break;
	case 'R':
		t->ring_waiting =
		    (enum ring_waiting)choose(ring_waitings, word, 'R');
		break;
	case 't':
		t->seconds = number(word, 't', 0.01, 3600);
		break;
	case 'm':
		t->size = (size_t)number(word, 'm', 0, 1 << 30);
		break;
	case 'b':
		t->read_size = bytes(word, 'b');
		break;
	case 'P':
		t->piece = bytes(word, 'P');
		break;
	case 'B':
		t->ring_size = bytes(word, 'B');
		break;
	case 'd':
		t->no_delay = true;
		break;
	case 'g':
		t->gap_us = (unsigned)number(word, 'g', 0, 1000000);
		break;
	default:
		set_place(t, letter, word);
	}
}

/* What both processes shall see must be mapped before they part. */
static void *map_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		measure_fail("cannot map shared memory");
	return memory;
}

void trial_options(struct trial *t, int argc, char **argv, const char *allowed,
		   const char *what)
{
	char letters[64] = "h";
	size_t n = 1;
	int c;

	*t = (struct trial){.address = "127.0.0.1",
			    .path = "/tmp/smc_r_bench.socket",
			    .port = 17609,
			    .client_cpu = -1,
			    .server_cpu = -1,
			    .seconds = 1,
			    .size = 64,
			    .read_size = 1 << 20,
			    .ring_size = 256 << 10,
			    .busy = 1,
			    .ready_fd = -1};
	for (; *allowed && n + 3 < sizeof(letters); allowed++) {
		letters[n++] = *allowed;
		if (*allowed != 'd')
			letters[n++] = ':';
	}
	letters[n] = '\0';
	while ((c = getopt(argc, argv, letters)) != -1) {
		if (c == 'h' || c == '?')
			usage(letters + 1, what, c == 'h' ? 0 : 2);
		set_option(t, c, optarg);
	}
	if (optind < argc)
		usage(letters + 1, what, 2);
	if (t->ring_size & (t->ring_size - 1)) {
		fprintf(stderr, "%s: -B: the size of a ring is a power of 2\n",
			program_invocation_short_name);
		exit(2);
	}
	t->shared = map_shared(sizeof(*t->shared));
	if (t->transport == TRANSPORT_RING) {
		size_t size = ring_footprint(t->ring_size);

		t->to_server = ring_init(map_shared(size), t->ring_size);
		t->to_client = ring_init(map_shared(size), t->ring_size);
	}
}

static uint64_t spent(const struct usage *u)
{
	return u->user_ns + u->system_ns;
}

double trial_cpu_ns(const struct shared *s)
{
	uint64_t both = spent(&s->client.usage) + spent(&s->server.usage);

	return (double)both / (double)(s->client.calls ? s->client.calls : 1);
}

uint64_t trial_length_ns(const struct trial *t)
{
	return (uint64_t)(t->seconds * 1e9);
}

void trial_ready(struct trial *t)
{
	if (t->ready_fd < 0)
		return;
	if (write(t->ready_fd, "", 1) != 1)
		measure_fail("cannot tell that the server is ready");
	close(t->ready_fd);
	t->ready_fd = -1;
}

static void run_end(struct trial *t, void (*end)(struct trial *), int cpu)
{
	/* A hung end must not keep its core for ever. */
	alarm((unsigned)t->seconds + GRACE);
	measure_pin(cpu);
	end(t);
	alarm(0);
}

static pid_t start_server(struct trial *t, void (*server)(struct trial *))
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) < 0)
		measure_fail("cannot make a pipe");
	pid = fork();
	if (pid < 0)
		measure_fail("cannot fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		t->ready_fd = ready[1];
		run_end(t, server, t->server_cpu);
		exit(0);
	}
	close(ready[1]);
	errno = 0;
	if (read(ready[0], &byte, 1) != 1)
		measure_fail("the server ended before it was ready");
	close(ready[0]);
	return pid;
}

void trial_run(struct trial *t, void (*server)(struct trial *),
	       void (*client)(struct trial *))
{
	pid_t pid;
	int status;

	signal(SIGPIPE, SIG_IGN);
	if (t->role == ROLE_SERVER) {
		run_end(t, server, t->server_cpu);
		return;
	}
	if (t->role == ROLE_CLIENT) {
		run_end(t, client, t->client_cpu);
		return;
	}
	fflush(NULL);
	pid = start_server(t, server);
	run_end(t, client, t->client_cpu);
	alarm(GRACE);
	if (waitpid(pid, &status, 0) != pid)
		measure_fail("cannot wait for the server");
	alarm(0);
	errno = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		measure_fail("the server failed");
}
