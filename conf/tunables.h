/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tunables: the network tunable that the no command keeps, roce_v2_mode.
 *
 * As on AIX the values live in a directory of stanza files:
 *	nextboot	what holds from the next start of the RDMA core on
 *	lastboot	what the RDMA core was last started with
 * A stanza is `no:` at the beginning of a line; a value is a line
 * `TAB name = "value"`, a number or DEFAULT. The first line with a name wins.
 * Stanzas and lines of others stay as they are.
 *
 * Ownership: values of the caller; the table is constant.
 * Locking:   a change holds the lock file (lock_file.h) and replaces the file
 *            by rename(2).
 */
#ifndef CONF_TUNABLES_H
#define CONF_TUNABLES_H

#include <stddef.h>

#define TUNABLES_DIR      "/etc/tunables"
#define TUNABLES_VARIABLE "SMC_R_TUNABLES"
#define TUNABLES_NEXTBOOT "nextboot"
#define TUNABLES_LASTBOOT "lastboot"
#define TUNABLES_LOCK     ".lock"

struct tunable {
	const char *name;
	long initial, min, max;
	const char *unit;
	char type; /* D dynamic, R reboot: the letters of no -L */
	const char *help;
};

#define TUNABLES_COUNT 1
extern const struct tunable tunables[TUNABLES_COUNT];

/* NULL when there is none of that name. */
const struct tunable *tunables_find(const char *name);

/*
 * The directory: $SMC_R_TUNABLES, else "tunables" beside the file named in
 * $OFED_CONF, else TUNABLES_DIR. 0 or -ENAMETOOLONG.
 */
int tunables_dir(char *out, size_t size);

/*
 * The value that the file has for the tunable; its default when the file or
 * the line is missing. 0; -EINVAL with the number of the wrong line in *line;
 * another -errno. *value is untouched on failure.
 */
int tunables_get(const char *file, const struct tunable *t, long *value,
		 unsigned *line);

/* Does what tunables_get() does, with the text of a file. */
int tunables_decode(const char *text, const struct tunable *t, long *value,
		    unsigned *line);

/* The text of a file with the one line changed or added, from malloc; NULL
 * without memory. */
char *tunables_edit(const char *text, const struct tunable *t, long value);

/*
 * Writes the value into the file, which is made when there is none: 0 or
 * -errno, and then the file is what it was. -ETIMEDOUT and -EUCLEAN are of the
 * lock file: another change had it for 5 s, or others could hold it.
 */
int tunables_put(const char *file, const struct tunable *t, long value);

#endif
