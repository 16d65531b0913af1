/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pair: one connection, and what the wire and its two sockets tell of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smc_r/peer/offer.h"
#include "tests/net/option.h"
#include "tests/net/wiretap.h"

#define WAIT_MS 20000

struct pair {
	const char *client_run, *server_run;
	const char *client_ns, *server_ns;
	const char *listen, *to, *from, *tap;
	const char *mark_client, *mark_server, *remark, *state, *fastopen;
	const char *between;
	unsigned heal_after;
	const char *heal;
	uint16_t port;
	int home; /* the namespace that we came from */
	struct wiretap wire;
};

static void enter(const struct pair *p, const char *name)
{
	char path[256];
	int fd;

	if (!name) {
		if (p->home >= 0 && setns(p->home, CLONE_NEWNET) != 0)
			option_die("back to the first namespace");
		return;
	}
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		option_die(path);
	close(fd);
}

static socklen_t address_of(struct sockaddr_storage *out, const char *word,
			    uint16_t port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, word, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		return sizeof(*four);
	}
	if (inet_pton(AF_INET6, word, &six->sin6_addr) != 1) {
		errno = EINVAL;
		option_die(word);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	return sizeof(*six);
}

static int server_listen(const struct pair *p)
{
	struct sockaddr_storage address;
	socklen_t length = address_of(&address, p->listen, p->port);
	int one = 1, queue = 16, fd;

	enter(p, p->server_ns);
	option_check(offer_init(p->server_run), p->server_run);
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		option_die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (p->fastopen && setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue,
				      sizeof(queue)) != 0)
		option_die("TCP_FASTOPEN");
	if (bind(fd, (struct sockaddr *)&address, length) != 0)
		option_die("bind");
	if (strcmp(p->mark_server, "before") == 0 ||
	    strcmp(p->mark_server, "undone") == 0)
		option_check(offer_mark(fd), "mark the listener");
	if (strcmp(p->mark_server, "defers") == 0)
		option_check(offer_mark_deferred(fd), "mark the listener");
	if (listen(fd, 16) != 0)
		option_die("listen");
	if (strcmp(p->mark_server, "after") == 0)
		option_check(offer_mark(fd), "mark the listener, after listen");
	if (strcmp(p->mark_server, "defers-after") == 0)
		option_check(offer_mark_deferred(fd), "mark it, after listen");
	if (strcmp(p->mark_server, "undone") == 0)
		option_check(offer_unmark(fd), "unmark the listener");
	return fd;
}

/* Waits until the connection is there, and heals the network on the way. */
static void client_wait(struct pair *p, int fd)
{
	struct pollfd events[] = {{.fd = fd, .events = POLLOUT},
				  {.fd = p->wire.fd, .events = POLLIN}};
	int error = 0;
	socklen_t length = sizeof(error);

	do {
		if (poll(events, 2, WAIT_MS) <= 0) {
			errno = ETIMEDOUT;
			option_die("connect");
		}
		if (p->tap)
			wiretap_read(&p->wire);
		if (p->heal && (strlen(p->wire.syn) >= p->heal_after ||
				strlen(p->wire.synack) >= p->heal_after)) {
			if (system(p->heal) != 0)
				option_die(p->heal);
			p->heal = NULL;
		}
	} while (!events[0].revents);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	option_check(-error, "connect");
}

/* Where nobody would answer it stays as it is. */
static void mark_visitor(const struct pair *p, int fd)
{
	int error = offer_mark_visitor(fd, &in6addr_any, p->port, NULL);

	if (error != -ENOENT)
		option_check(error, "mark the visitor");
}

static int client_connect(struct pair *p)
{
	struct sockaddr_storage address;
	socklen_t length;
	int fd;

	enter(p, p->client_ns);
	option_check(offer_init(p->client_run), p->client_run);
	if (p->tap)
		option_check(wiretap_open(&p->wire, p->tap, p->port), p->tap);
	length = address_of(&address, p->to, p->port);
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		option_die("socket");
	if (p->from) {
		length = address_of(&address, p->from, 0);
		if (bind(fd, (struct sockaddr *)&address, length) != 0)
			option_die("bind");
		length = address_of(&address, p->to, p->port);
	}
	if (strcmp(p->mark_client, "yes") == 0)
		option_check(offer_mark(fd), "mark the client");
	else if (strcmp(p->mark_client, "visit") == 0)
		mark_visitor(p, fd);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (p->fastopen) {
		if (sendto(fd, "f", 1, MSG_FASTOPEN,
			   (struct sockaddr *)&address, length) < 0 &&
		    errno != EINPROGRESS)
			option_die("sendto");
	} else if (connect(fd, (struct sockaddr *)&address, length) != 0 &&
		   errno != EINPROGRESS) {
		option_die("connect");
	}
	client_wait(p, fd);
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/* The name that comes with the answer is the kernel's. */
static void check_name(int fd)
{
	struct sockaddr_storage name = {0};
	const struct sockaddr_in *v4 = (const void *)&name;
	const struct sockaddr_in6 *v6 = (const void *)&name;
	uint32_t address[4] = {0, 0, htonl(0xffff), 0};
	socklen_t length = sizeof(name);
	struct option_answer answer;
	int state = offer_look(fd, &answer);
	uint16_t port = (uint16_t)answer.port;

	if (state < 0)
		return;
	/* Its length differs as the last one was. */
	if (offer_look_accepted(fd, &answer) != state || answer.port != port)
		option_die("another answer to who has accepted");
	if (getsockname(fd, (struct sockaddr *)&name, &length) != 0)
		option_die("getsockname");
	address[3] = v4->sin_addr.s_addr;
	if (name.ss_family == AF_INET6)
		memcpy(address, &v6->sin6_addr, sizeof(address));
	if (answer.port != ntohs(v4->sin_port) ||
	    memcmp(answer.address, address, sizeof(address)) != 0)
		option_die("another name than the kernel's");
}

static int state_of(const struct pair *p, int fd)
{
	int status, state;
	pid_t child;

	check_name(fd);

	if (!p->state)
		return offer_state(fd);
	child = fork();
	if (child == 0) {
		state = offer_state(fd);
		_exit(state < 0 ? 255 : state);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		option_die("fork");
	return WEXITSTATUS(status) == 255 ? -EIO : WEXITSTATUS(status);
}

static const char *state_words(int state)
{
	static char words[2][8];
	static unsigned turn;
	char *w = words[turn++ % 2];

	if (state < 0)
		return strerrorname_np(-state);
	snprintf(w, sizeof(words[0]), "%s%s%s%s%s",
		 state & OFFER_WANT ? "W" : "", state & OFFER_SENT ? "S" : "",
		 state & OFFER_AGREED ? "A" : "",
		 state & OFFER_DEFERS ? "D" : "", state ? "" : "-");
	return w;
}

/* Segments with data, in both directions, for the wiretap to see. */
static void exchange(int client, int server)
{
	char byte = 'x';

	if (send(client, &byte, 1, 0) != 1 || recv(server, &byte, 1, 0) != 1 ||
	    send(server, &byte, 1, 0) != 1 || recv(client, &byte, 1, 0) != 1)
		option_die("the connection does not carry bytes");
}

static int pair_run(struct pair *p)
{
	int listener, client, server, client_state;

	p->home = p->client_ns || p->server_ns
		      ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)
		      : -1;
	p->wire.fd = -1;
	listener = server_listen(p);
	if (p->between && system(p->between) != 0)
		option_die(p->between);
	if (p->remark)
		option_check(offer_mark(listener), "mark the listener again");
	client = client_connect(p);
	client_state = state_of(p, client);
	option_check(offer_init(p->server_run), p->server_run);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0)
		option_die("accept");
	exchange(client, server);
	if (p->tap) {
		wiretap_read(&p->wire);
		printf("syn=%s synack=%s other=%u ", p->wire.syn,
		       p->wire.synack, p->wire.other);
		wiretap_close(&p->wire);
	}
	printf("client=%s server=%s\n", state_words(client_state),
	       state_words(state_of(p, server)));
	/* The client first, so that TIME_WAIT is not on the server's port. */
	close(client);
	close(server);
	close(listener);
	return 0;
}

static bool pair_set(struct pair *p, char *word)
{
	const struct {
		const char *key;
		const char **value;
	} keys[] = {
	    {"listen", &p->listen},
	    {"to", &p->to},
	    {"from", &p->from},
	    {"tap", &p->tap},
	    {"client-ns", &p->client_ns},
	    {"server-ns", &p->server_ns},
	    {"client-run", &p->client_run},
	    {"server-run", &p->server_run},
	    {"mark-client", &p->mark_client},
	    {"mark-server", &p->mark_server},
	    {"remark", &p->remark},
	    {"between", &p->between},
	    {"state", &p->state},
	    {"fastopen", &p->fastopen},
	    {"heal", &p->heal},
	};
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (strcmp(word, "port") == 0) {
		p->port = (uint16_t)atoi(value);
		return true;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(word, keys[i].key) == 0) {
			*keys[i].value = value;
			return true;
		}
	}
	return false;
}

int option_pair(const char *rundir, char **argv)
{
	struct pair p = {
	    .client_run = rundir,
	    .server_run = rundir,
	    .listen = "127.0.0.1",
	    .to = "127.0.0.1",
	    .mark_client = "yes",
	    .mark_server = "before",
	};

	for (; *argv; argv++) {
		if (!pair_set(&p, *argv)) {
			fprintf(stderr, "option: what is %s?\n", *argv);
			return 2;
		}
	}
	if (p.heal) {
		char *command;

		p.heal_after = (unsigned)strtoul(p.heal, &command, 10);
		p.heal = command + 1;
	}
	return pair_run(&p);
}
