/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_child: runs a program as if it had taken the place of this one.
 *
 * The child stays in our process group, so the terminal is its own and keys
 * such as ^C reach it without us. What is sent to our process id alone is
 * handed on. When the child stops for the terminal, we stop too.
 *
 * Ownership: none.
 * Locking:   blocks signals in the calling thread for good; call it from a
 *            program with one thread that only reports and ends afterwards.
 */
#ifndef CMD_RUN_CHILD_H
#define CMD_RUN_CHILD_H

/*
 * Runs argv by execvp(3) and waits: 0 and *status as from waitpid(2), or the
 * negative errno of fork or exec.
 */
int run_child(char **argv, int *status);

/*
 * Ends this process as the child ended: with its exit status or by the same
 * signal.
 */
_Noreturn void run_child_imitate(int status);

#endif
