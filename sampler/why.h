/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_SAMPLER_WHY_H
#define OPJIT_SAMPLER_WHY_H
/* One line for each refusal of the kernel: what it did, the likely cause, the fix. */
#include "sampler/sampler.h"

struct why_ask {
	const char *event;           /* spec of the event that was refused */
	bool hardware, tracepoint;
	enum sampler_target target;
	int32_t pid;                 /* the task, -1 for a whole CPU */
	uint32_t cpu;
	const char *proc_root;
	size_t n_fds;                /* open so far */
};

/* err: positive errno. Adds to why. */
void why_open(struct strbuf *why, int err, const struct why_ask *a);
void why_mmap(struct strbuf *why, int err, uint32_t pages);

/* kernel.perf_event_paranoid, or INT32_MAX if it cannot be read. */
int why_paranoid(void);
/* root, CAP_PERFMON or CAP_SYS_ADMIN: paranoid does not apply. */
bool why_privileged(void);
/* A seccomp filter is on this process. */
bool why_seccomp(void);
/* A number of /proc/sys; false if it cannot be read. */
bool why_sysctl(const char *path, int64_t *ret);

#endif
