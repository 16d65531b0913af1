/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * parameters: the table of settings, and the reader of /etc/ofed.conf.
 */
#include "ofed_core/base/parameters.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 512

const char *const parameter_log_level_name[4] = {"ERROR", "WARNING", "INFO",
						 "DEBUG"};

const struct parameter parameter_table[PARAMETER_COUNT] = {
    [PARAMETER_TAVOR_QUIRK] = {"tavor_quirk", NULL, 0, 0, 1, "0/1",
			       PARAMETER_AIX},
    [PARAMETER_CMA_RESPONSE_TIMEOUT] = {"cma_response_timeout", NULL, 20, 1, 31,
					"exponent", PARAMETER_AIX},
    [PARAMETER_DEF_PREC2SL] = {"def_prec2sl", NULL, 3, 0, 7, "service level",
			       PARAMETER_AIX},
    [PARAMETER_MAD_SENDQ_SIZE] = {"mad_sendq_size", NULL, 128, 16, 65536,
				  "messages", PARAMETER_AIX},
    [PARAMETER_MAD_RCVQ_SIZE] = {"mad_rcvq_size", "mad_recvq_size", 512, 16,
				 65536, "messages", PARAMETER_AIX},
    [PARAMETER_MAX_TIMEOUT] = {"max_timeout", NULL, 21, 1, 31, "exponent",
			       PARAMETER_AIX},
    [PARAMETER_UNIFY_TCP_PORT_SPACE] = {"unify_tcp_port_space", NULL, 0, 0, 1,
					"0/1", PARAMETER_AIX},
    [PARAMETER_MCAST_LEAVE_RETRIES] = {"mcast_leave_retries", NULL, 3, 0, 100,
				       "times", PARAMETER_AIX},
    [PARAMETER_DELAY_KILL] = {"delay_kill", NULL, 10000, 0, 3600000, "ms",
			      PARAMETER_AIX},
    [PARAMETER_DELAY_BETWEEN_SIGNALS] = {"delay_between_signals", NULL, 10000,
					 0, 3600000, "ms", PARAMETER_AIX},
    [PARAMETER_BIND_ROUTE_INTERFACE] = {"bind_route_interface", NULL, 0, 0, 1,
					"0/1", PARAMETER_AIX},
    [PARAMETER_CM_CONNECT_TIMEOUT] = {"cm_connect_timeout", NULL, 8000, 10,
				      600000, "ms", PARAMETER_AIX},
    [PARAMETER_CM_CONNECT_MAX_RETRY] = {"cm_connect_max_retry", NULL, 15, 0, 15,
					"times", PARAMETER_AIX},
    [PARAMETER_CM_DISCONNECT_TIMEOUT] = {"cm_disconnect_timeout", NULL, 1000,
					 10, 600000, "ms", PARAMETER_AIX},
    [PARAMETER_CM_DISCONNECT_MAX_RETRY] = {"cm_disconnect_max_retry", NULL, 2,
					   0, 15, "times", PARAMETER_AIX},
    [PARAMETER_ENFORCE_INTERFACE_STATE] = {"enforce_interface_state", NULL, 0,
					   0, 1, "0/1", PARAMETER_AIX},
    [PARAMETER_RAS_LOG_LEVEL] = {"ras_log_level", NULL, 1, 0, 3, "level",
				 PARAMETER_AIX},
    [PARAMETER_WIRE_LOSS] = {"wire_loss", NULL, 0, 0, 900, "packets of 1000",
			     PARAMETER_TEST_AID},
    [PARAMETER_WIRE_DUPLICATE] = {"wire_duplicate", NULL, 0, 0, 900,
				  "packets of 1000", PARAMETER_TEST_AID},
    [PARAMETER_WIRE_REORDER] = {"wire_reorder", NULL, 0, 0, 900,
				"packets of 1000", PARAMETER_TEST_AID},
    [PARAMETER_WIRE_LOSS_SEED] = {"wire_loss_seed", NULL, 1, 1, 2147483647,
				  "number", PARAMETER_TEST_AID},
};

const char *parameters_path(void)
{
	const char *path = getenv("OFED_CONF");

	return path && *path ? path : "/etc/ofed.conf";
}

void parameters_init(struct parameters *p)
{
	for (int i = 0; i < PARAMETER_COUNT; i++)
		p->value[i] = parameter_table[i].initial;
}

int parameter_find(const char *name)
{
	for (int i = 0; i < PARAMETER_COUNT; i++) {
		const struct parameter *t = &parameter_table[i];

		if (strcmp(t->name, name) == 0 ||
		    (t->alias && strcmp(t->alias, name) == 0))
			return i;
	}
	return -ENOENT;
}

int parameters_set(struct parameters *p, const char *name, const char *text)
{
	int id = parameter_find(name);
	char *end;
	long v;

	if (id < 0)
		return id;
	if (!isdigit((unsigned char)*text) && *text != '-')
		return -EINVAL;
	errno = 0;
	v = strtol(text, &end, 10);
	if (end == text || *end)
		return -EINVAL;
	if (errno || v < parameter_table[id].min || v > parameter_table[id].max)
		return -ERANGE;
	p->value[id] = v;
	return 0;
}

/* Cuts white space at both ends; returns the new start. */
static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

static int read_line(struct parameters *p, char *line)
{
	char *hash = strchr(line, '#');
	char *name;
	char *equals;

	if (hash)
		*hash = '\0';
	name = trim(line);
	if (!*name)
		return 0;
	equals = strchr(name, '=');
	if (!equals)
		return -EINVAL;
	*equals = '\0';
	return parameters_set(p, trim(name), trim(equals + 1));
}

/* A regular file of root's or our own, which neither a FIFO nor a lease in its
 * place makes us wait for; NULL with errno. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	FILE *f = NULL;
	int error;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		errno = EPERM;
		if (S_ISREG(st.st_mode) &&
		    (st.st_uid == 0 || st.st_uid == geteuid()))
			f = fdopen(fd, "r");
	}
	if (f)
		return f;
	error = errno;
	close(fd);
	errno = error;
	return NULL;
}

int parameters_read(struct parameters *p, const char *path, int *line)
{
	char text[LINE_BYTES];
	int rc = 0;
	FILE *f = open_file(path);

	*line = 0;
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	while (rc == 0 && fgets(text, sizeof(text), f)) {
		++*line;
		if (!strchr(text, '\n') && !feof(f))
			rc = -EINVAL;
		else
			rc = read_line(p, text);
	}
	fclose(f);
	return rc;
}

int parameter_format(char *out, size_t size, int id, long value)
{
	if (id == PARAMETER_RAS_LOG_LEVEL && value >= 0 && value <= 3)
		return snprintf(out, size, "(%ld) %s", value,
				parameter_log_level_name[value]);
	if (id >= PARAMETER_CM_CONNECT_TIMEOUT &&
	    id <= PARAMETER_CM_DISCONNECT_MAX_RETRY &&
	    strcmp(parameter_table[id].unit, "ms") == 0)
		return snprintf(out, size, "%ld ms", value);
	return snprintf(out, size, "%ld", value);
}
