/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What exists before the first record: events for the kernel, its modules and the processes, from /proc and /sys. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "lib/io.h"
#include "sampler/priv.h"
#include "sampler/procinfo.h"

#define NO_CPU UINT32_MAX

static int emit_kernel_map(uint64_t t, const char *name, uint64_t addr, uint64_t len, ev_sink_fn *sink, void *arg)
{
	struct ev e = { .type = EV_MMAP, .cpu = NO_CPU, .time_ns = t, .pid = -1, .tid = -1 };

	e.u.mmap.addr = addr;
	e.u.mmap.len = len;
	e.u.mmap.prot = PROT_READ | PROT_EXEC;
	e.u.mmap.path = name;
	return sink(arg, &e);
}

/* _stext … _etext out of the symbol list; reading stops as soon as both are known. */
static int kernel_text(const char *proc_root, uint64_t *from, uint64_t *to)
{
	char path[512], line[512], name[256], type;
	uint64_t addr, text = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kallsyms", proc_root);
	*from = *to = 0;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) != 3)
			continue;
		if (!strcmp(name, "_text"))
			text = addr;
		else if (!strcmp(name, "_stext"))
			*from = addr;
		else if (!strcmp(name, "_etext"))
			*to = addr;
		if ((*from && *to) || ((!strcmp(name, "_stext") || !strcmp(name, "_text")) && !addr))
			break;
	}
	fclose(f);
	if (!*from)
		*from = text;
	return *from && *to > *from ? 0 : -EACCES;
}

struct module { uint64_t addr, size; char name[64]; };

static int module_cmp(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int synth_modules(struct sampler *s, uint64_t t, ev_sink_fn *sink, void *arg)
{
	AUTO_FREE struct module *m = NULL;
	size_t n = 0, room = 0;
	char path[512], line[4096];
	int r = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/modules", s->proc_root);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (r >= 0 && fgets(line, sizeof(line), f)) {
		struct module one = { 0 };
		const char *hex = strstr(line, " 0x");
		if (!hex || sscanf(line, "%63s %" SCNu64, one.name, &one.size) != 2)
			continue;
		one.addr = strtoull(hex + 1, NULL, 16);
		if (!one.addr || !one.size || one.size > (uint64_t)1 << 32)
			continue;
		r = grow(&m, &room, n + 1, sizeof(*m));
		if (r >= 0)
			m[n++] = one;
	}
	fclose(f);
	if (r < 0)
		return r;
	if (n)
		qsort(m, n, sizeof(*m), module_cmp);
	for (size_t i = 0; i < n; i++) {
		/* The size counts data too, which may lie elsewhere: never into the next module. */
		if (i + 1 < n && m[i].addr + m[i].size > m[i + 1].addr)
			m[i].size = m[i + 1].addr - m[i].addr;
		r = m[i].size ? emit_kernel_map(t, m[i].name, m[i].addr, m[i].size, sink, arg) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int synth_kernel(struct sampler *s, uint64_t t, ev_sink_fn *sink, void *arg)
{
	uint64_t from, to;
	int r;

	if (s->stats.user_only)
		return 0;
	if (kernel_text(s->proc_root, &from, &to) < 0) {
		sampler_notice(s, "the kernel hides its addresses (kernel.kptr_restrict): its functions stay unnamed; run as root, or sysctl "
			       "kernel.kptr_restrict=0");
		return 0;
	}
	r = emit_kernel_map(t, "vmlinux", from, to - from, sink, arg);
	return r < 0 ? r : synth_modules(s, t, sink, arg);
}

/* The kernel writes a newline in a path as \012 here, and as itself in its records. */
static void unescape(char *p)
{
	char *out = p;

	for (; *p; p++) {
		if (!strncmp(p, "\\012", 4)) {
			*out++ = '\n';
			p += 3;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

/* One line of /proc/PID/maps; 0 = not executable. */
static int maps_line(char *line, struct ev *e)
{
	uint64_t from, to, pgoff, ino;
	unsigned int major, minor;
	char prot[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &from, &to, prot, &pgoff, &major, &minor, &ino,
		   &at) != 7 || to <= from)
		return -EBADMSG;
	if (prot[2] != 'x')
		return 0;
	e->u.mmap.addr = from;
	e->u.mmap.len = to - from;
	e->u.mmap.pgoff = pgoff;
	e->u.mmap.dev = major || minor ? makedev(major, minor) : 0;
	e->u.mmap.ino = ino;
	e->u.mmap.prot = (prot[0] == 'r' ? PROT_READ : 0u) | (prot[1] == 'w' ? PROT_WRITE : 0u) | PROT_EXEC;
	e->u.mmap.flags = prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	unescape(line + at);
	/* As the kernel's records name them. */
	e->u.mmap.path = !line[at] || !strncmp(line + at, "[anon:", 6) ? "//anon" : line + at;
	return 1;
}

int procinfo_mappings(const char *proc_root, int32_t pid, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg)
{
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	char path[512];
	ssize_t n;
	int r = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/maps", proc_root, pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (r >= 0 && (n = getline(&line, &room, f)) > 0) {
		struct ev e = { .type = EV_MMAP, .cpu = cpu, .time_ns = t, .pid = pid, .tid = pid };
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (maps_line(line, &e) == 1)
			r = sink(arg, &e);
	}
	fclose(f);
	return r;
}

static int synth_comms(struct sampler *s, int32_t pid, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg)
{
	AUTO_FREE int32_t *tids = NULL;
	size_t n = 0;
	char path[512];
	int r = target_threads(s->proc_root, pid, &tids, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		AUTO_STRBUF comm = STRBUF_INIT_CAP(256);
		struct ev e = { .type = EV_COMM, .cpu = cpu, .time_ns = t, .pid = pid, .tid = tids[i] };
		snprintf(path, sizeof(path), "%s/%d/task/%d/comm", s->proc_root, pid, tids[i]);
		if (io_slurp(AT_FDCWD, path, &comm) < 0)
			continue;
		if (comm.len && comm.buf[comm.len - 1] == '\n')
			comm.buf[comm.len - 1] = '\0';
		e.u.comm.comm = strbuf_str(&comm);
		r = sink(arg, &e);
	}
	return r == -ESRCH || r == -EACCES ? 0 : r;
}

int synth_process(struct sampler *s, int32_t pid, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg)
{
	int r = track_read(s, pid, t, cpu, false, sink, arg);

	if (r < 0)
		return r == -ESRCH ? 0 : r;
	r = synth_comms(s, pid, t, cpu, sink, arg);
	if (r >= 0)
		r = procinfo_mappings(s->proc_root, pid, t, cpu, sink, arg);
	return r == -ENOENT || r == -ESRCH || r == -EACCES || r == -EPERM ? 0 : r;
}

static int synth_all(struct sampler *s, uint64_t t, ev_sink_fn *sink, void *arg)
{
	struct dirent *d;
	uint64_t pid;
	int r = 0;
	DIR *dir = opendir(s->proc_root);

	if (!dir)
		return -errno;
	while (r >= 0 && (d = readdir(dir)))
		if (!util_parse_u64(d->d_name, 10, INT32_MAX, &pid))
			r = synth_process(s, (int32_t)pid, t, NO_CPU, sink, arg);
	closedir(dir);
	return r;
}

static int synth_descs(struct sampler *s, uint64_t t, ev_sink_fn *sink, void *arg)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->n_events; i++) {
		const struct sampled *ev = &s->events[i];
		struct ev e = { .type = EV_EVENTDESC, .cpu = NO_CPU, .time_ns = t, .pid = -1, .tid = -1 };
		e.u.desc.index = (uint32_t)i;
		e.u.desc.name = ev->spec.name;
		e.u.desc.desc = ev->spec.desc;
		e.u.desc.count = ev->attr.freq ? 0 : ev->attr.sample_period;
		e.u.desc.freq = ev->attr.freq ? ev->attr.sample_freq : 0;
		e.u.desc.um = ev->spec.um;
		e.u.desc.flags = ev->spec.timer;
		r = sink(arg, &e);
	}
	return r;
}

/* A name for what the kernel gives no pid of. */
static int synth_outside(struct sampler *s, uint64_t t, ev_sink_fn *sink, void *arg)
{
	struct ev e = { .type = EV_COMM, .cpu = NO_CPU, .time_ns = t, .pid = 0, .tid = 0 };

	if (procinfo_first_pid_ns())
		return 0;
	sampler_notice(s, "we are in a container with pids of its own: all processes outside of it count as [outside], without names (run on the "
		       "host, or in a container with the host's pids, --pid=host)");
	e.u.comm.comm = "[outside]";
	return sink(arg, &e);
}

int sampler_synthesize(struct sampler *s, ev_sink_fn *sink, void *arg)
{
	uint64_t t = util_now_ns();
	int r = synth_descs(s, t, sink, arg);

	s->synth_ns = s->told_ns = t;
	if (r >= 0)
		r = synth_kernel(s, t, sink, arg);
	if (r >= 0 && s->o.target == SAMPLER_SYSTEM)
		r = synth_all(s, t, sink, arg);
	if (r >= 0 && s->o.target == SAMPLER_SYSTEM)
		r = synth_outside(s, t, sink, arg);
	for (size_t i = 0; r >= 0 && s->o.target == SAMPLER_PIDS && i < s->n_pids; i++)
		r = synth_process(s, s->pids[i], t, NO_CPU, sink, arg);
	return MIN(r, 0);
}
