/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_vfork: vfork(), which only leaves a note that its child may be about
 * to run (process_may_be_foreign). The child runs on the caller's stack, and
 * nobody may return before it: so this is a jump, and no function of C.
 */
#ifdef __x86_64__
__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"\tendbr64\n"
	"\tmovq process_vforks@gottpoff(%rip), %rax\n"
	"\tmovb $1, %fs:(%rax)\n"
	"\tjmp *__vfork@GOTPCREL(%rip)\n"
	".size vfork, . - vfork\n"
	".popsection\n");
#endif
