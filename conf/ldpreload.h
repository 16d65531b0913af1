/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ldpreload: our line in /etc/ld.so.preload.
 *
 * The file names libraries that the loader puts into every program. We add one
 * line at the top, and take that one away again; every other byte stays. The
 * file is replaced by rename(2), and never names a library that is not there.
 *
 * $SMC_R_LDPRELOAD_FILE names another file, for tests.
 *
 * Ownership: an edit holds the old content; ldpreload_fini() frees it.
 * Locking:   the caller holds the write lock of the attribute database.
 */
#ifndef CONF_LDPRELOAD_H
#define CONF_LDPRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LDPRELOAD_DIRECTORY     "/etc"
#define LDPRELOAD_FILE_DEFAULT  LDPRELOAD_DIRECTORY "/ld.so.preload"
#define LDPRELOAD_FILE_VARIABLE "SMC_R_LDPRELOAD_FILE"

/* Which file it is. */
const char *ldpreload_path(void);

struct ldpreload_edit {
	bool is_done; /* the file was changed */
	bool existed; /* there was a file before */
	char *bytes;  /* its content */
	size_t length;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/* The file as it shall be. */
struct ldpreload_content {
	char *bytes; /* our line, if it is wanted, then those of others */
	size_t length;
	bool is_changed;
};

/* Makes it of the old bytes: 0, and out->bytes is from malloc; or -ENOMEM. */
int ldpreload_compose(const struct ldpreload_edit *edit, const char *line,
		      bool wanted, struct ldpreload_content *out);

/*
 * May the line be there? library is its real path, without links; line is the
 * same file as the loader is to be told of it, which may hold $LIB of ld.so(8).
 * 0, or -errno with the reason in why: -ENOENT when the library is not there,
 * -EPERM when others could replace it or may write to a directory above it,
 * -EINVAL when the loader could not read the line.
 */
int ldpreload_check(const char *library, const char *line, char *why,
		    size_t size);

/*
 * Adds the line (wanted), which ldpreload_check() has found right, or takes it
 * away, if that needs doing. 0, or -errno with the reason in why, and nothing
 * changed.
 */
int ldpreload_set(struct ldpreload_edit *edit, const char *line, bool wanted,
		  char *why, size_t size);

/* Puts the old content back; 0 or -errno. */
int ldpreload_undo(struct ldpreload_edit *edit);

/* Accepts an edit of zeros. */
void ldpreload_fini(struct ldpreload_edit *edit);

#endif
