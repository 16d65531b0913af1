/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_vfork: vfork(), which notes in the thread's own variables whether its
 * child runs (process_may_be_foreign): that has them, too. The child runs on
 * the caller's stack, so the place to return to is kept in a register, which
 * the kernel keeps for either; and it is no function of C.
 */
#ifdef __x86_64__
__asm__(".pushsection .text\n"
	".globl vfork\n"
	".type vfork, @function\n"
	"vfork:\n"
	"\tendbr64\n"
	"\tpopq %rdi\n"
	"\tmovl $58, %eax\n" /* SYS_vfork */
	"\tsyscall\n"
	"\tpushq %rdi\n"
	"\tmovq process_vforks@gottpoff(%rip), %rdx\n"
	"\ttestq %rax, %rax\n"
	"\tjz 1f\n"
	"\tjs 2f\n"
	"\tdecb %fs:(%rdx)\n"
	"\tret\n"
	"1:\tincb %fs:(%rdx)\n"
	"\tret\n"
	/* libc tells why. */
	"2:\tjmp *__vfork@GOTPCREL(%rip)\n"
	".size vfork, . - vfork\n"
	".popsection\n");
#endif
