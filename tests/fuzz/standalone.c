/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * standalone: main() for a fuzz harness without libFuzzer. Each argument is a
 * file of the corpus, or a directory of them; the harness sees every file
 * once. It exits 1 when there was no file to run: a corpus that went missing
 * must not look like one that passed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long ran;

static int run_file(const char *path)
{
	struct stat st;
	uint8_t *data;
	FILE *f = fopen(path, "rb");

	if (!f || fstat(fileno(f), &st) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		if (f)
			fclose(f);
		return -1;
	}
	/* A block of exactly this size, so that a sanitizer sees one byte too
	 * many being read. */
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!data ||
	    fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
		fprintf(stderr, "%s: cannot read all of it\n", path);
		free(data);
		fclose(f);
		return -1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	free(data);
	ran++;
	return 0;
}

static int run_directory(const char *path)
{
	struct dirent *entry;
	char name[4096];
	int bad = 0;
	DIR *d = opendir(path);

	if (!d) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(name, sizeof(name), "%s/%s", path,
			     entry->d_name) >= (int)sizeof(name) ||
		    run_file(name) != 0)
			bad = -1;
	}
	closedir(d);
	return bad;
}

int main(int argc, char **argv)
{
	struct stat st;
	int bad = 0;
	int i;

	for (i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			bad |= run_directory(argv[i]);
		else
			bad |= run_file(argv[i]);
	}
	if (ran == 0) {
		fprintf(stderr, "%s: no corpus file to run\n", argv[0]);
		return 1;
	}
	printf("%lu corpus files\n", ran);
	return bad ? 1 : 0;
}
