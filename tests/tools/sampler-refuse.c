/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a command in which the kernel refuses certain calls, by a seccomp filter that answers with an errno. For tests.
 *
 *	sampler-refuse CALL=ERRNO… COMMAND…
 *
 * CALL: ring_mmap (mmap, shared, readable and writable, of a descriptor: what rings are mapped with) or the name of a
 * system call. ERRNO: a name such as EPERM.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/util.h"

static const struct { const char *name; int err; } errs[] = {
	{ "EACCES", EACCES }, { "EPERM", EPERM }, { "EMFILE", EMFILE }, { "ENOENT", ENOENT }, { "ENFILE", ENFILE }, { "ENOSPC", ENOSPC },
	{ "EINVAL", EINVAL }, { "ENOSYS", ENOSYS }, { "EBUSY", EBUSY }, { "ESRCH", ESRCH }, { "ENOMEM", ENOMEM }, { "EIO", EIO },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "ENODEV", ENODEV },
};

static int rule(scmp_filter_ctx ctx, const char *call, const char *name)
{
	uint32_t action = 0;

	for (size_t i = 0; i < ARRAY_SIZE(errs); i++)
		if (!strcmp(errs[i].name, name))
			action = SCMP_ACT_ERRNO(errs[i].err);
	if (!action)
		return -EINVAL;
	if (!strcmp(call, "ring_mmap"))
		return seccomp_rule_add(ctx, action, SCMP_SYS(mmap), 3, SCMP_A2(SCMP_CMP_EQ, PROT_READ | PROT_WRITE),
					SCMP_A3(SCMP_CMP_EQ, MAP_SHARED), SCMP_A4(SCMP_CMP_MASKED_EQ, 0x80000000, 0));
	int nr = seccomp_syscall_resolve_name(call);
	return nr == __NR_SCMP_ERROR ? -EINVAL : seccomp_rule_add(ctx, action, nr, 0);
}

int main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int i, r = 0;

	for (i = 1; ctx && r == 0 && i < argc; i++) {
		char *eq = strchr(argv[i], '=');
		if (!eq)
			break;
		*eq = '\0';
		r = rule(ctx, argv[i], eq + 1);
	}
	if (!ctx || r < 0 || i >= argc || seccomp_load(ctx) < 0) {
		fprintf(stderr, "usage: sampler-refuse CALL=ERRNO... COMMAND...\n");
		return 99;
	}
	seccomp_release(ctx);
	execvp(argv[i], argv + i);
	perror(argv[i]);
	return 127;
}
