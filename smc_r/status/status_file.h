/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_file: opens one status segment and copies from it.
 *
 * Any user's files are read.
 * Nothing of it is used before it was copied and checked, and it is never
 * mapped: a mapping of a file that its owner cuts short is a deadly signal.
 *
 * Ownership: the caller closes what it opened.
 * Locking:   none; a copy is a picture of one moment, word by word.
 *
 * Uses libc only.
 */
#ifndef SMC_R_STATUS_FILE_H
#define SMC_R_STATUS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "smc_r/os/status.h"

/* What a segment's file is called: <pid>.<start time>, both decimal. */
struct status_name {
	pid_t pid;      /* > 0 */
	uint64_t start; /* field 22 of /proc/<pid>/stat */
};

struct status_file {
	int fd;
	uid_t uid;    /* owner of the file, as fstat says */
	dev_t device; /* this and inode name the file for good */
	ino_t inode;
	uint32_t slot_count;         /* slots that are in the file */
	struct status_header header; /* a copy; program ends with NUL */
};

/* False for a name that no engine gives to a segment. */
bool status_name_decode(const char *name, struct status_name *out);

/*
 * 0 and *out is open; -EPROTO when the file is not a segment, is not the
 * process's that its name says, or has another owner than the directory;
 * another -errno. Nothing is open on failure.
 */
int status_file_open(int dir, const char *name, struct status_file *out);

void status_file_close(struct status_file *file);

/* Copies the header again, as it is now: 0 or a negative errno. */
int status_file_refresh(struct status_file *file);

/*
 * Copies `count` slots from number `first` on: how many there were (0 at the
 * end), or a negative errno.
 */
int status_file_slots(const struct status_file *file, uint32_t first,
		      struct status_slot *out, uint32_t count);

/*
 * Calls each() with a copy of every slot, free ones too; stops when it returns
 * other than 0, and returns that. Else 0 or a negative errno.
 */
int status_file_each_slot(const struct status_file *file,
			  int (*each)(void *owner,
				      const struct status_slot *slot),
			  void *owner);

/*
 * Calls each() with the name of every directory entry, or so many; stops when
 * it returns other than 0, and returns that. Else 0 or a negative errno.
 */
#define STATUS_NAMES_MAX 1000000 /* no user makes a command work for ever */
int status_dir_each(int dir,
		    int (*each)(void *owner, int dir, const char *name),
		    void *owner);

/* Calls each() with every segment, opened; what is not one is passed over. */
int status_file_each(int dir,
		     int (*each)(void *owner, struct status_file *file),
		     void *owner);

/*
 * Bit i is set when header.holders[i] lives. A maker that has not yet entered
 * itself counts as holder 0.
 */
uint64_t status_file_living(const struct status_file *file);

/* Does any process live that made or holds this segment? */
bool status_file_is_alive(const struct status_file *file);

#endif
