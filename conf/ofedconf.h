/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofedconf: reads the configuration file of the RDMA core.
 *
 * The file is the one of AIX: lines `name=number`, blanks where one likes,
 * '#' begins a comment. What libconfig would take beyond that (groups,
 * @include, hexadecimal, several settings on a line) is refused, because the
 * core itself reads the plain form; and so is a number that libconfig would
 * cut to 32 bits without a word.
 *
 * Which names there are and what they may be is the caller's business.
 *
 * Ownership: nothing is kept.
 * Locking:   none; the file is read in one piece.
 */
#ifndef CONF_OFEDCONF_H
#define CONF_OFEDCONF_H

#include <stddef.h>

#define OFEDCONF_BYTES_MAX 65536
#define OFEDCONF_LINE_MAX  510 /* as the core reads lines */
#define OFEDCONF_NAME_SIZE 64
#define OFEDCONF_WHY_SIZE  160

struct ofedconf_setting {
	const char *name;
	const char *text; /* the number as written */
	long value;
	unsigned line; /* from 1 */
};

struct ofedconf_error {
	unsigned line; /* 0: the file as a whole */
	char why[OFEDCONF_WHY_SIZE];
};

struct ofedconf_taker {
	/* 0, or a negative errno with the reason in why. */
	int (*take)(void *owner, const struct ofedconf_setting *s,
		    char why[OFEDCONF_WHY_SIZE]);
	void *owner;
};

/*
 * Calls take() for each setting in the order of the file. 0; -ENOENT when
 * there is no file; -EPERM when it is not a regular file of root or of the
 * effective user that only its owner may write; -EFBIG; -EINVAL when a line is
 * wrong; what take() returned; another -errno. *error says more, but for
 * -ENOENT. Lines before a wrong one may have been taken.
 */
int ofedconf_read(const char *path, const struct ofedconf_taker *taker,
		  struct ofedconf_error *error);

/* Parses text in memory of `length` bytes, with a NUL behind them, in the same
 * way. */
int ofedconf_parse(const char *text, size_t length,
		   const struct ofedconf_taker *taker,
		   struct ofedconf_error *error);

#endif
