/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ldpreload: our line in /etc/ld.so.preload. */
#include "ldpreload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attrdb/whole_file.h"

#define FILE_BYTES_MAX 65536

static int explain(int error, const char *path, char *why, size_t size)
{
	snprintf(why, size, "%s: %s", path, strerror(-error));
	return error;
}

const char *ldpreload_path(void)
{
	const char *named = secure_getenv(LDPRELOAD_FILE_VARIABLE);

	return named && named[0] == '/' ? named : LDPRELOAD_FILE_DEFAULT;
}

/* The real name, so that a symbolic link survives the rename. */
static int find_file(char path[PATH_MAX])
{
	const char *named = ldpreload_path();
	char real[PATH_MAX];

	if (realpath(named, real))
		named = real;
	else if (errno != ENOENT)
		return -errno;
	if (strlen(named) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(path, named);
	return 0;
}

static int read_bytes(int fd, char **out, size_t *length)
{
	char *bytes = malloc(FILE_BYTES_MAX);

	if (!bytes)
		return -ENOMEM;
	*length = 0;
	for (;;) {
		ssize_t n = read(fd, bytes + *length, FILE_BYTES_MAX - *length);
		int error = n < 0 ? -errno : -EFBIG;

		if (error == -EINTR)
			continue;
		if (n == 0)
			break;
		if (n > 0)
			*length += (size_t)n;
		if (n < 0 || *length == FILE_BYTES_MAX) {
			free(bytes);
			return error;
		}
	}
	*out = bytes;
	return 0;
}

static int load(struct ldpreload_edit *edit, const char *path)
{
	struct stat st;
	int error = 0;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		edit->mode = 0644;
		return errno == ENOENT ? 0 : -errno;
	}
	if (fstat(fd, &st) < 0)
		error = -errno;
	else if (!S_ISREG(st.st_mode))
		error = -EINVAL;
	else
		error = read_bytes(fd, &edit->bytes, &edit->length);
	close(fd);
	if (error)
		return error;
	edit->existed = true;
	edit->mode = st.st_mode & 07777;
	edit->uid = st.st_uid;
	edit->gid = st.st_gid;
	return 0;
}

static int flush_directory(const char *path)
{
	int fd = whole_file_directory(path);

	if (fd < 0)
		return fd;
	fsync(fd);
	close(fd);
	return 0;
}

static int write_temporary(const struct ldpreload_edit *edit, int fd,
			   const char *bytes, size_t length)
{
	if (edit->existed && fchown(fd, edit->uid, edit->gid) < 0)
		return -errno;
	return fchmod(fd, edit->mode) < 0 ? -errno
					  : whole_file_write(fd, bytes, length);
}

static int replace(const struct ldpreload_edit *edit, const char *path,
		   const char *bytes, size_t length)
{
	char temporary[PATH_MAX];
	int error, fd;

	if (snprintf(temporary, sizeof(temporary), "%s.smc_r-XXXXXX", path) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = write_temporary(edit, fd, bytes, length);
	if (close(fd) < 0 && !error)
		error = -errno;
	if (!error && rename(temporary, path) < 0)
		error = -errno;
	if (error) {
		unlink(temporary);
		return error;
	}
	return flush_directory(path);
}

static int store(const struct ldpreload_edit *edit, const char *path,
		 const char *bytes, size_t length, bool exists)
{
	if (exists)
		return replace(edit, path, bytes, length);
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return flush_directory(path);
}

enum line_owner {
	LINE_OF_OTHERS,
	LINE_OF_US,
	LINE_OF_US_ELSEWHERE
};

/*
 * Tells the owner of this line, which has this length without its end. A
 * library of our name in another place is ours too: it was installed there
 * once, and two engines in one program would not do.
 */
static enum line_owner line_owner(const char *line, size_t length,
				  const char *ours)
{
	const char *name = strrchr(ours, '/');
	size_t name_length = strlen(name);

	while (length && strchr(" \t\r", line[0]) && line[0])
		line++, length--;
	while (length && strchr(" \t\r", line[length - 1]) && line[length - 1])
		length--;
	if (length == strlen(ours) && memcmp(line, ours, length) == 0)
		return LINE_OF_US;
	if (length > name_length && line[0] == '/' &&
	    !memchr(line, ' ', length) && !memchr(line, ':', length) &&
	    memcmp(line + length - name_length, name, name_length) == 0)
		return LINE_OF_US_ELSEWHERE;
	return LINE_OF_OTHERS;
}

/*
 * Blanks in the place of our lines: the file keeps its length, so that needs no
 * room. The loader takes blanks for nothing.
 */
static int blank(const struct ldpreload_edit *edit, const char *path,
		 const char *line)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;

	for (size_t at = 0; at < edit->length && !error;) {
		const char *text = edit->bytes + at;
		const char *newline = memchr(text, '\n', edit->length - at);
		size_t length =
		    newline ? (size_t)(newline - text) : edit->length - at;
		char blanks[PATH_MAX];

		memset(blanks, ' ', sizeof(blanks));
		if (length <= sizeof(blanks) &&
		    line_owner(text, length, line) != LINE_OF_OTHERS &&
		    pwrite(fd, blanks, length, (off_t)at) != (ssize_t)length)
			error = -EIO;
		at += length + 1;
	}
	if (!error && fsync(fd) < 0)
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

int ldpreload_compose(const struct ldpreload_edit *edit, const char *line,
		      bool wanted, struct ldpreload_content *out)
{
	size_t head = wanted ? strlen(line) + 1 : 0;
	const char *next = edit->bytes;
	unsigned here = 0, elsewhere = 0;
	size_t left = edit->length;

	out->bytes = malloc(head + edit->length + 1);
	if (!out->bytes)
		return -ENOMEM;
	out->length = head;
	if (wanted) {
		memcpy(out->bytes, line, head - 1);
		out->bytes[head - 1] = '\n';
	}
	while (left) {
		const char *newline = memchr(next, '\n', left);
		size_t text = newline ? (size_t)(newline - next) : left;
		size_t whole = newline ? text + 1 : text;
		enum line_owner owner = line_owner(next, text, line);

		here += owner == LINE_OF_US;
		elsewhere += owner == LINE_OF_US_ELSEWHERE;
		if (owner == LINE_OF_OTHERS) {
			memcpy(out->bytes + out->length, next, whole);
			out->length += whole;
		}
		next += whole;
		left -= whole;
	}
	out->is_changed = here != (wanted ? 1 : 0) || elsewhere != 0;
	return 0;
}

/* The sticky bit keeps others from removing a name, but not from making it when
 * it is gone, as those in /tmp are after a reboot. */
static int check_directory(const char *path, char *why, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return explain(-errno, path, why, size);
	if ((st.st_uid == 0 || st.st_uid == geteuid()) &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	snprintf(why, size,
		 "%s: others may write to this directory, and so put another"
		 " library into every program. Only root may, there and above:"
		 " chown root, chmod go-w, or install elsewhere",
		 path);
	return -EPERM;
}

/* All above the library; the parts of $LIB are as safe as what it is in. */
static int check_directories(const char *line, char *why, size_t size)
{
	const char *slash = line;
	char path[PATH_MAX];

	do {
		size_t length = slash == line ? 1 : (size_t)(slash - line);
		int error;

		if (length >= sizeof(path))
			return explain(-ENAMETOOLONG, line, why, size);
		memcpy(path, line, length);
		path[length] = '\0';
		error = check_directory(path, why, size);
		if (error)
			return error;
		slash = strncmp(slash, "/$LIB/", 6) == 0
			    ? NULL
			    : strchr(slash + 1, '/');
	} while (slash);
	return 0;
}

int ldpreload_check(const char *library, const char *line, char *why,
		    size_t size)
{
	struct stat st;

	if (line[0] != '/' || strpbrk(line, " \t\r\n:#")) {
		snprintf(why, size,
			 "%s: the loader needs an absolute path without"
			 " blanks, colons and #",
			 line);
		return -EINVAL;
	}
	if (stat(library, &st) < 0)
		return explain(-errno, library, why, size);
	if (!S_ISREG(st.st_mode) || access(library, R_OK) < 0) {
		snprintf(why, size, "%s: not a file that can be read", library);
		return -ENOENT;
	}
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) ||
	    (st.st_uid != 0 && st.st_uid != geteuid())) {
		snprintf(why, size,
			 "%s: others may write to it; it must not get into"
			 " every program",
			 library);
		return -EPERM;
	}
	return check_directories(line, why, size);
}

int ldpreload_set(struct ldpreload_edit *edit, const char *line, bool wanted,
		  char *why, size_t size)
{
	struct ldpreload_content content = {0};
	char path[PATH_MAX];
	int error;

	memset(edit, 0, sizeof(*edit));
	error = find_file(path);
	if (error)
		return explain(error, LDPRELOAD_FILE_DEFAULT, why, size);
	error = load(edit, path);
	if (!error)
		error = ldpreload_compose(edit, line, wanted, &content);
	if (!error && content.is_changed) {
		/* A file without a byte says the same as none. */
		error = store(edit, path, content.bytes, content.length,
			      content.length != 0);
		if (!wanted && (error == -ENOSPC || error == -EDQUOT))
			error = blank(edit, path, line);
		edit->is_done = !error;
	}
	free(content.bytes);
	return error ? explain(error, path, why, size) : 0;
}

int ldpreload_undo(struct ldpreload_edit *edit)
{
	char path[PATH_MAX];
	int error;

	if (!edit->is_done)
		return 0;
	error = find_file(path);
	if (!error)
		error =
		    store(edit, path, edit->bytes, edit->length, edit->existed);
	edit->is_done = error != 0;
	return error;
}

void ldpreload_fini(struct ldpreload_edit *edit)
{
	free(edit->bytes);
	memset(edit, 0, sizeof(*edit));
}
