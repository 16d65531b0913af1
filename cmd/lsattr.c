/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lsattr: attributes of a device, or of a kind of devices.
 *
 * Stands in front of the lsattr of e2fsprogs, and gives it what is not about
 * devices.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attrdb/device.h"

#include "command.h"
#include "database.h"
#include "kind.h"
#include "listing.h"
#include "pass_on.h"

static struct cmd cmd = {
    .name = "lsattr",
    .usage =
	"lsattr {-E | -D | -P} [-O] [-H] -l Name [-a Attribute]... [-f File]\n"
	"lsattr -D [-O] [-H] {[-c Class] [-s Subclass] [-t Type]}\n"
	"       [-a Attribute]... [-f File]\n"
	"lsattr [-E | -D | -P] -F Format [-Z Character] [-H]\n"
	"       {-l Name | [-c Class] [-s Subclass] [-t Type]}\n"
	"       [-a Attribute]... [-f File]\n"
	"lsattr -R {-l Name | [-c Class] [-s Subclass] [-t Type]}\n"
	"       -a Attribute [-f File]\n"
	"lsattr {-l Name | [-c Class] [-s Subclass] [-t Type]}\n"
	"       -o Operation... -F Format [-Z Character] [-f File]\n"
	"lsattr -h",
};

/* ---- Flags -------------------------------------------------------------- */

static int add_named(const char **list, unsigned *count, char *argument)
{
	if (*count == LISTING_NAMES_MAX)
		return message_usage(&cmd, "more than %d names.",
				     LISTING_NAMES_MAX);
	list[(*count)++] = argument;
	return EXIT_DONE;
}

static int take_selection(struct listing_request *r, int flag, char *argument)
{
	switch (flag) {
	case 'a':
		return add_named(r->attributes, &r->attribute_count, argument);
	case 'o':
		return add_named(r->operations, &r->operation_count, argument);
	case 'l':
		r->name = argument;
		return EXIT_DONE;
	default:
		return kind_take(&r->kind, flag, argument) ? EXIT_DONE
							   : EXIT_REFUSED;
	}
}

static int take_flag(void *request, int flag, char *argument)
{
	struct listing_request *r = request;

	switch (flag) {
	case 'E':
	case 'D':
	case 'P':
		r->has_two_views |= r->view && r->view != flag;
		r->view = (char)flag;
		break;
	case 'F':
		r->format = argument;
		break;
	case 'Z':
		if (strlen(argument) != 1)
			return message_usage(&cmd, "-Z needs one character.");
		r->separator = argument[0];
		break;
	case 'H':
		r->has_header = true;
		break;
	case 'O':
		r->is_colons = true;
		break;
	case 'R':
		r->lists_values = true;
		break;
	default:
		return take_selection(r, flag, argument);
	}
	return EXIT_DONE;
}

static int check_request(const struct listing_request *r)
{
	if (!r->name == !kind_is_named(&r->kind))
		return message_usage(
		    &cmd, "either -l, or some of -c, -s and -t, is needed.");
	if (r->has_two_views)
		return message_usage(&cmd, "-E, -D and -P exclude each other.");
	if (!r->view && !r->format && !r->lists_values)
		return message_usage(&cmd,
				     "one of -E, -D, -P, -F and -R is needed.");
	if (r->lists_values && (r->view || r->format || r->is_colons))
		return message_usage(&cmd,
				     "-R excludes -E, -D, -P, -F and -O.");
	if (r->lists_values && r->attribute_count != 1)
		return message_usage(&cmd, "-R needs exactly one -a.");
	if (r->is_colons && r->format)
		return message_usage(&cmd, "-O and -F exclude each other.");
	if (r->separator && !r->format)
		return message_usage(&cmd, "-Z needs -F.");
	if (r->operation_count && (!r->format || r->view || r->lists_values))
		return message_usage(&cmd,
				     "-o needs -F, and no -E, -D, -P, -R.");
	if (!r->name && (r->view == 'E' || r->view == 'P'))
		return message_usage(&cmd, "-%c needs -l.", r->view);
	return EXIT_DONE;
}

/* ---- What there is ------------------------------------------------------ */

static int find_device(struct listing *l)
{
	struct attrdb_device device;
	int error = attrdb_device_get(l->db, l->r->name, &device);

	if (error == -ENOENT)
		return listing_unknown(&cmd, MESSAGE_NO_DEVICE, l->r->name);
	if (error)
		return database_error(&cmd, l->db, error);
	strcpy(l->uniquetype, device.uniquetype);
	return EXIT_DONE;
}

/* ---- Running ------------------------------------------------------------ */

static int run(void *request, char *const *argv)
{
	struct listing l = {.cmd = &cmd, .r = request};
	int status = check_request(l.r);

	(void)argv;
	if (status != EXIT_DONE)
		return status;
	status = database_open_read(&cmd, &l.db);
	if (status != EXIT_DONE)
		return status;
	status = l.r->name ? find_device(&l)
			   : kind_find(&cmd, l.db, &l.r->kind, l.uniquetype);
	if (status == EXIT_DONE)
		status = listing_print(&l);
	listing_fini(&l);
	attrdb_close(l.db);
	return status;
}

/* Is this the name of a device, and of nothing in this directory? */
static bool is_device(const char *name)
{
	struct attrdb_place place = {attrdb_dir(), ATTRDB_READ, 1000};
	struct attrdb_device device;
	struct attrdb *db;
	char why[512];
	bool found;

	if (access(name, F_OK) == 0 ||
	    attrdb_open(&db, &place, why, sizeof(why)) != 0)
		return false;
	found = attrdb_device_get(db, name, &device) == 0;
	attrdb_close(db);
	return found;
}

/*
 * Is this about devices? The flags of e2fsprogs are R V a d l p v, and none of
 * them takes a word; any other letter of ours is for us. -l NAME could be
 * either.
 */
static bool is_for_us(int argc, char **argv)
{
	const char *name = NULL;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *word = argv[i];

		if (word[0] != '-' || word[1] == '-')
			continue;
		if (strpbrk(word + 1, "EDPFOHcstZofh"))
			return true;
		if (word[strlen(word) - 1] == 'l' && i + 1 < argc)
			name = argv[i + 1];
	}
	return name && is_device(name);
}

int main(int argc, char **argv)
{
	static const struct command command = {
	    &cmd, "EDPORHF:Z:a:l:c:s:t:o:", take_flag, run, NULL};
	struct listing_request r = {0};

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return command_main(&command, &r, argc, argv);
	if (!is_for_us(argc, argv))
		pass_on("lsattr", argv);
	/* Nobody else has this name here, so the usage below is right. */
	return command_main(&command, &r, argc, argv);
}
