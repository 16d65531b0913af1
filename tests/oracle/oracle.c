/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * oracle: runs one script on two processes and prints what happened.
 *
 *   oracle [-A PREFIX] [-B PREFIX] SEED|FILE
 *   oracle -p SEED		prints the script of a seed
 *
 * Run it once on plain TCP and once with PREFIX "smc_run": the logs must be
 * equal. The end of a log is "# end", so that a crash cannot look equal.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "director.h"
#include "generate.h"

static int usage(void)
{
	fprintf(stderr, "usage: oracle [-A PREFIX] [-B PREFIX] SEED|FILE\n"
			"       oracle -p SEED\n");
	return 2;
}

static FILE *script_open(const char *what)
{
	FILE *f;

	if (!isdigit((unsigned char)*what)) {
		f = fopen(what, "r");
		if (!f)
			fprintf(stderr, "oracle: %s: %s\n", what,
				strerror(errno));
		return f;
	}
	f = tmpfile();
	if (!f) {
		fprintf(stderr, "oracle: no room for a script: %s\n",
			strerror(errno));
		return NULL;
	}
	generate(strtoul(what, NULL, 10), f);
	rewind(f);
	return f;
}

/*
 * ORACLE_WARM: each listener has served the other process before the script
 * goes on, so that the two share a link group and the next client may knock
 * (smc_r/handshake/knock.h).
 */
static int warm(struct director *d, const char *listen)
{
	char server, client, name[16], host[64], text[9][96];
	const char *family;
	int failed = 0;

	/* Not "listenon", of which a blank in the format would know nothing. */
	if (!getenv("ORACLE_WARM") || strncmp(listen + 1, "0 listen ", 9) ||
	    sscanf(listen, "%c0 listen %15s %63s", &server, name, host) != 3)
		return 0;
	client = server == 'A' ? 'B' : 'A';
	family = strchr(host, ':') ? "inet6" : "inet";
	snprintf(text[0], sizeof(text[0]), "%c0 socket wc %s", client, family);
	snprintf(text[1], sizeof(text[1]), "%c0 connect wc %s @%s", client,
		 host, name);
	snprintf(text[2], sizeof(text[2]), "%c0 accept %s ws", server, name);
	snprintf(text[3], sizeof(text[3]), "%c0 send wc 10 1", client);
	snprintf(text[4], sizeof(text[4]), "%c0 recv ws 10", server);
	snprintf(text[5], sizeof(text[5]), "%c0 close wc", client);
	snprintf(text[6], sizeof(text[6]), "%c0 await ws events=rdhup", server);
	snprintf(text[7], sizeof(text[7]), "%c0 recv ws 10", server);
	snprintf(text[8], sizeof(text[8]), "%c0 close ws", server);
	for (int i = 0; i < 18 && !failed; i++)
		failed = director_step(d, text[i % 9]);
	return failed;
}

/*
 * "connection C S [HOST]": C in A0 connects to S in B0. Scenarios begin so.
 */
static int connection(struct director *d, const char *words)
{
	char c[16], s[16], host[64] = "127.0.0.1", l[20], text[7][128];
	int failed = 0;

	if (sscanf(words, "%15s %15s %63s", c, s, host) < 2)
		return -1;
	snprintf(l, sizeof(l), "l%s", s);
	snprintf(text[0], sizeof(text[0]), "B0 listen %s %s", l, host);
	snprintf(text[1], sizeof(text[1]), "A0 socket %s %s", c,
		 strchr(host, ':') ? "inet6" : "inet");
	snprintf(text[2], sizeof(text[2]), "A0 connect %s %s @%s", c, host, l);
	snprintf(text[3], sizeof(text[3]), "B0 accept %s %s", l, s);
	snprintf(text[4], sizeof(text[4]), "B0 close %s", l);
	snprintf(text[5], sizeof(text[5]), "A0 await %s events=out", c);
	snprintf(text[6], sizeof(text[6]), "B0 await %s events=out", s);
	for (int i = 0; i < 7 && !failed; i++) {
		failed = director_step(d, text[i]);
		if (i == 0 && !failed)
			failed = warm(d, text[0]);
	}
	return failed;
}

static int perform(struct director *d, FILE *script)
{
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), script)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "connection ", 11) ? connection(d, line + 11)
						      : director_step(d, line))
			return 1;
		if (warm(d, line))
			return 1;
	}
	printf("# end\n");
	return 0;
}

int main(int argc, char **argv)
{
	char program[4096] = "";
	const char *prefix[2] = {"", ""};
	struct director *d;
	FILE *script;
	int option, ret;

	if (argc > 2 && !strcmp(argv[1], "--actor"))
		return actor_main(argc - 2, argv + 2);
	while ((option = getopt(argc, argv, "A:B:p:")) != -1) {
		if (option == 'A') {
			prefix[0] = optarg;
		} else if (option == 'B') {
			prefix[1] = optarg;
		} else if (option == 'p') {
			generate(strtoul(optarg, NULL, 10), stdout);
			return 0;
		} else {
			return usage();
		}
	}
	if (optind + 1 != argc)
		return usage();
	signal(SIGPIPE, SIG_IGN);
	script = script_open(argv[optind]);
	if (!script)
		return 2;
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return 2;
	d = director_open(program, prefix, stdout);
	if (!d)
		return 2;
	ret = perform(d, script);
	director_close(d);
	fclose(script);
	return ret;
}
