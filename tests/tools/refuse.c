/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * refuse WHAT COMMAND…: runs the command where the kernel refuses one thing with EPERM, by a seccomp filter.
 *	mmap-shared   mmap with MAP_SHARED       exec-mmap-shared   mmap with MAP_SHARED and PROT_EXEC
 *	write-mmap-shared   mmap with MAP_SHARED and PROT_WRITE: a VM can still map its own files
 *	fallocate     (EOPNOTSUPP)
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char **argv)
{
	struct sock_filter shared[] = {
		LOAD(offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		LOAD(ARG(3)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), ALLOW,
	}, exec[] = {
		LOAD(offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		LOAD(ARG(3)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 3),
		LOAD(ARG(2)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), ALLOW,
	}, write[] = {
		LOAD(offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		LOAD(ARG(3)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 3),
		LOAD(ARG(2)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), ALLOW,
	}, fallocate[] = {
		LOAD(offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP), ALLOW,
	};
	struct sock_fprog p;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "mmap-shared"))
		p = (struct sock_fprog){ .len = sizeof(shared) / sizeof(*shared), .filter = shared };
	else if (!strcmp(argv[1], "exec-mmap-shared"))
		p = (struct sock_fprog){ .len = sizeof(exec) / sizeof(*exec), .filter = exec };
	else if (!strcmp(argv[1], "write-mmap-shared"))
		p = (struct sock_fprog){ .len = sizeof(write) / sizeof(*write), .filter = write };
	else if (!strcmp(argv[1], "fallocate"))
		p = (struct sock_fprog){ .len = sizeof(fallocate) / sizeof(*fallocate), .filter = fallocate };
	else
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0) {
		perror("refuse");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
