/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampler/why.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/io.h"
#include "sampler/procinfo.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

bool why_sysctl(const char *path, int64_t *ret)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(256);
	char *end;
	long long v;

	if (io_slurp(AT_FDCWD, path, &text) < 0 || !text.len)
		return false;
	v = strtoll(text.buf, &end, 10);
	if (end == text.buf)
		return false;
	*ret = v;
	return true;
}

int why_paranoid(void)
{
	int64_t v;

	return why_sysctl("/proc/sys/kernel/perf_event_paranoid", &v) ? (int)v : INT32_MAX;
}

/* A line of /proc/self/status: this process's own, whatever proc_root is. */
static bool status_value(const char *key, int base, uint64_t *ret)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(65536);
	const char *p;

	if (io_slurp(AT_FDCWD, "/proc/self/status", &text) < 0)
		return false;
	p = strstr(strbuf_str(&text), key);
	if (!p)
		return false;
	*ret = strtoull(p + strlen(key), NULL, base);
	return true;
}

bool why_privileged(void)
{
	uint64_t caps;

	if (!status_value("\nCapEff:", 16, &caps))
		return geteuid() == 0;
	return (caps >> CAP_PERFMON & 1) || (caps >> CAP_SYS_ADMIN & 1);
}

bool why_seccomp(void)
{
	uint64_t mode;

	return status_value("\nSeccomp:", 10, &mode) && mode == 2;
}

static void add_blocked(struct strbuf *why, int paranoid)
{
	if (why_seccomp())
		strbuf_addf(why, "although kernel.perf_event_paranoid (%d) allows it: a seccomp filter on this process blocks it, as containers have; "
			    "start the container with --cap-add PERFMON and a seccomp profile that allows perf_event_open", paranoid);
	else
		strbuf_addf(why, "although kernel.perf_event_paranoid (%d) allows it: a security module (SELinux, AppArmor, lockdown) or a missing "
			    "CAP_PERFMON of this container blocks it; see dmesg and the audit log, or run outside the container", paranoid);
}

static void why_denied(struct strbuf *why, const struct why_ask *a)
{
	int paranoid = why_paranoid();
	bool privileged = why_privileged();
	AUTO(procinfo_done) struct procinfo p = { 0 };

	if (paranoid == INT32_MAX) {
		strbuf_addstr(why, "/proc/sys/kernel/perf_event_paranoid is missing, so the kernel has no perf events; use a kernel with "
				   "CONFIG_PERF_EVENTS");
	} else if (!privileged && a->pid < 0 && paranoid > 0) {
		strbuf_addf(why, "kernel.perf_event_paranoid is %d, which keeps users from watching the whole machine; run as root, give "
			    "CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=0", paranoid);
	} else if (!privileged && paranoid > 2) {
		strbuf_addf(why, "kernel.perf_event_paranoid is %d, which keeps users from all perf events; run as root, give CAP_PERFMON, or: "
			    "sysctl kernel.perf_event_paranoid=2", paranoid);
	} else if (!privileged && a->tracepoint) {
		strbuf_addf(why, "kernel.perf_event_paranoid is %d, which keeps users from tracepoints; run as root, give CAP_PERFMON, or: sysctl "
			    "kernel.perf_event_paranoid=-1", paranoid);
	} else if (!privileged && a->target == SAMPLER_PIDS && procinfo_read(&p, a->proc_root, a->pid) == 0 && p.uid != getuid()) {
		strbuf_addf(why, "process %d (%s) belongs to uid %u and you are uid %u; run as that user, as root, or give CAP_PERFMON and "
			    "CAP_SYS_PTRACE", a->pid, p.comm, p.uid, (unsigned int)getuid());
	} else if (!privileged && a->target == SAMPLER_PIDS && !why_seccomp()) {
		strbuf_addf(why, "process %d may not be inspected by this user (it changed its uid, has capabilities, is not dumpable, or Yama or "
			    "another security module forbids); run as root or give CAP_PERFMON and CAP_SYS_PTRACE", a->pid);
	} else {
		add_blocked(why, paranoid);
	}
}

static void why_full(struct strbuf *why, int err, const struct why_ask *a)
{
	struct rlimit rl = { 0 };

	if (err == ENFILE) {
		strbuf_addf(why, "the whole machine is out of file descriptors (%zu are ours); raise it: sysctl fs.file-max", a->n_fds);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &rl);
	strbuf_addf(why, "%zu descriptors are open and the limit of this process is %llu; one is needed for each thread, CPU and event: raise it "
		    "(ulimit -n, or LimitNOFILE= of the service) or use --system-wide", a->n_fds, (unsigned long long)rl.rlim_cur);
}

void why_open(struct strbuf *why, int err, const struct why_ask *a)
{
	strbuf_addf(why, "perf_event_open for '%s' says %s: ", a->event, strerror(err));
	switch (err) {
	case EACCES:
	case EPERM:
		why_denied(why, a);
		break;
	case EMFILE:
	case ENFILE:
		why_full(why, err, a);
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		if (a->hardware)
			strbuf_addstr(why, "this CPU or virtual machine has no counter for it; choose another event, such as cpu-clock (operf --list)");
		else
			strbuf_addf(why, "this kernel does not have that event%s; choose another one (operf --list) or another kernel",
				    why_seccomp() ? ", or a seccomp filter on this process, as containers have, answers so in its place" : "");
		break;
	case ENOSPC:
		strbuf_addstr(why, "all counters of that kind are taken; ask for fewer events or end the other profilers");
		break;
	case EBUSY:
		strbuf_addstr(why, "another tool holds the counters for itself (a hypervisor, nmi_watchdog, another profiler); end it, or use cpu-clock");
		break;
	case ESRCH:
		strbuf_addf(why, "process %d has ended; start the profiler while it runs", a->pid);
		break;
	case ENOSYS:
		strbuf_addstr(why, why_seccomp() ? "a seccomp filter on this process hides the call, as containers have; allow perf_event_open in its profile"
						 : "the kernel has no perf events; use one with CONFIG_PERF_EVENTS");
		break;
	case EINVAL:
		strbuf_addstr(why, "the kernel does not take this combination of event, count and options, or is older than 4.1; try the event without "
				   "a count, or cpu-clock");
		break;
	case ENOMEM:
		strbuf_addstr(why, "the kernel is out of memory for it; watch fewer threads, or use --system-wide");
		break;
	default:
		strbuf_addf(why, "unexpected%s; look at dmesg, or try the event cpu-clock", why_seccomp() ? ", perhaps from a seccomp filter on this process" : "");
	}
}

void why_mmap(struct strbuf *why, int err, uint32_t pages)
{
	int64_t kb = 0;
	struct rlimit rl = { 0 };

	strbuf_addf(why, "mmap of a ring of %u page%s says %s: ", pages, pages == 1 ? "" : "s", strerror(err));
	if (err == EPERM || err == EACCES || err == ENOMEM) {
		why_sysctl("/proc/sys/kernel/perf_event_mlock_kb", &kb);
		getrlimit(RLIMIT_MEMLOCK, &rl);
		if (err != ENOMEM && why_privileged() && why_seccomp())
			strbuf_addstr(why, "root has no limit here, so a seccomp filter on this process blocks it; allow mmap of perf events in its profile");
		else
			strbuf_addf(why, "memory that may be locked is used up (kernel.perf_event_mlock_kb is %lld, ulimit -l is %lld KiB); end other "
				    "profilers, or raise it: sysctl kernel.perf_event_mlock_kb=%lld, or ulimit -l", (long long)kb,
				    rl.rlim_cur == RLIM_INFINITY ? -1LL : (long long)(rl.rlim_cur / 1024), (long long)MAX(kb * 2, (int64_t)516));
	} else {
		strbuf_addf(why, "unexpected%s; look at dmesg", why_seccomp() ? ", perhaps from a seccomp filter on this process" : "");
	}
}
