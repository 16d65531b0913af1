/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * runner: main() for unit tests where Criterion's own cannot run.
 *
 * Criterion's library maps memory at addresses that ThreadSanitizer keeps for
 * itself, so with -fsanitize=thread the tests are linked with this instead. It
 * knows what the headers of Criterion leave behind in a program: the list of
 * tests and suites, and calls that report an assertion. Each test runs in a
 * child; the report is TAP, on standard output.
 *
 * Not known: parameterised tests and theories, which fail by name.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS 60

enum {
	EXIT_FAILED = 101,
	EXIT_SKIPPED = 102,
	EXIT_UNKNOWN = 103
};

/* The bounds of what Test() and TestSuite() put into their sections. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

struct criterion_options criterion_options;

static int failed; /* an expectation of this child failed; it goes on */
static const struct criterion_test *current;

/* ---- What the macros of Criterion call ---------------------------------- */

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (stats->passed)
		return;
	printf("# %s:%u: %s\n", stats->file, stats->line, stats->message);
	failed = 1;
}

void criterion_abort_test(void)
{
	fflush(stdout);
	_exit(EXIT_FAILED);
}

void criterion_continue_test(void)
{
}

__attribute__((format(printf, 1, 2))) void
criterion_skip_test(const char *format, ...)
{
	va_list arguments;

	fputs("# skipped: ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	_exit(EXIT_SKIPPED);
}

void cri_asserts_passed_incr(void)
{
}

__attribute__((format(printf, 2, 3))) int cr_asprintf(char **out,
						      const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vasprintf(out, format, arguments);
	va_end(arguments);
	return n;
}

void cr_asprintf_free(char *text)
{
	free(text);
}

/* The words of an assertion that has none of its own. */
char *cr_translate_assert_msg(int message, ...)
{
	char *out = NULL;

	if (asprintf(&out, "assertion failed (kind %d)", message) < 0)
		abort();
	return out;
}

static const struct criterion_test_extra_data *suite_of(const char *name)
{
	struct criterion_suite **s;

	for (s = __start_cr_sts; s && s < __stop_cr_sts; s++) {
		if (*s && strcmp((*s)->name, name) == 0)
			return (*s)->data;
	}
	return NULL;
}

void criterion_internal_test_setup(void)
{
	const struct criterion_test_extra_data *s = suite_of(current->category);

	if (s && s->init)
		s->init();
	if (current->data->init)
		current->data->init();
}

void criterion_internal_test_main(void (*function)(void))
{
	function();
}

void criterion_internal_test_teardown(void)
{
	const struct criterion_test_extra_data *s = suite_of(current->category);

	if (current->data->fini)
		current->data->fini();
	if (s && s->fini)
		s->fini();
}

/* ---- Running ------------------------------------------------------------ */

static _Noreturn void run_child(const struct criterion_test *test)
{
	current = test;
	if (test->data->kind_ != CR_TEST_NORMAL) {
		puts("# this runner knows no parameterised tests");
		fflush(stdout);
		_exit(EXIT_FAILED);
	}
	alarm(TEST_SECONDS);
	test->test();
	fflush(stdout);
	/* exit(), so that the sanitizer has its say. */
	exit(failed ? EXIT_FAILED : 0);
}

static int run(const struct criterion_test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_child(test);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return EXIT_UNKNOWN;
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == test->data->signal)
			return 0;
		printf("# ended by signal %d\n", WTERMSIG(status));
		return EXIT_FAILED;
	}
	if (test->data->signal)
		return EXIT_FAILED;
	if (test->data->exit_code)
		return WEXITSTATUS(status) == test->data->exit_code
			   ? 0
			   : EXIT_FAILED;
	return WEXITSTATUS(status);
}

int main(void)
{
	struct criterion_test **t;
	int number = 0, bad = 0;

	for (t = __start_cr_tst; t < __stop_cr_tst; t++) {
		int result;

		/* The linker may pad the section. */
		if (!*t)
			continue;
		result = (*t)->data->disabled ? EXIT_SKIPPED : run(*t);
		printf("%sok %d - %s::%s%s\n",
		       result && result != EXIT_SKIPPED ? "not " : "", ++number,
		       (*t)->category, (*t)->name,
		       result == EXIT_SKIPPED ? " # SKIP" : "");
		bad |= result && result != EXIT_SKIPPED;
	}
	printf("1..%d\n", number);
	return bad;
}
