/* SPDX-License-Identifier: GPL-3.0-or-later */
/* convert: pmclog, opnd and opsd; which formats there are. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "format/abi/ophd.h"
#include "format/abi/opnd.h"
#include "format/abi/opsd.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "report/opevlog.h"

/* --- to pmclog, current numbering ---------------------------------------------------------------------- */
struct to_pmc {
	FILE *f;
	struct evlog_merge *m;
	bool begun;
	uint64_t left_out;
	uint8_t rec[32 + 8 * 512 + 64];
};

static size_t put32(uint8_t *p, size_t at, uint32_t v)
{
	v = htole32(v);
	memcpy(p + at, &v, 4);
	return at + 4;
}
static size_t put64(uint8_t *p, size_t at, uint64_t v)
{
	put32(p, at, (uint32_t)v);
	return put32(p, at + 4, (uint32_t)(v >> 32));
}
static size_t put_text(uint8_t *p, size_t at, const char *s, size_t room)
{
	size_t n = s ? strnlen(s, room - 1) : 0, padded = ALIGN_UP(n + 1, 4u);

	memset(p + at, 0, padded);
	if (n)
		memcpy(p + at, s, n);
	return at + padded;
}
static int pmc_out(struct to_pmc *t, uint32_t type, uint64_t tsc, size_t len)
{
	put32(t->rec, 0, 0xee000000u | type << 16 | (uint32_t)len);
	put32(t->rec, 4, 0);
	put64(t->rec, 8, tsc);
	return fwrite(t->rec, 1, len, t->f) == len ? 0 : -EIO;
}

static int pmc_begin(struct to_pmc *t, uint64_t time)
{
	uint64_t real = evlog_merge_realtime(t->m, time);
	size_t at = put32(t->rec, 16, 0x0a010000);

	t->begun = true;
	at = put32(t->rec, at, 0);
	at = put64(t->rec, at, NSEC_PER_SEC);
	at = put64(t->rec, at, real / NSEC_PER_SEC);
	at = put64(t->rec, at, real % NSEC_PER_SEC);
	memset(t->rec + at, 0, 64);
	snprintf((char *)t->rec + at, 64, "%.63s", evlog_merge_meta(t->m)->machine);
	return pmc_out(t, 3, time, 112);
}

static int pmc_sample(struct to_pmc *t, const struct ev *e)
{
	uint32_t n = e->u.sample.n_chain ? MIN(e->u.sample.n_chain, 512u) : 1;
	size_t at = put32(t->rec, 16, (uint32_t)e->pid);

	at = put32(t->rec, at, (uint32_t)e->tid);
	at = put32(t->rec, at, e->u.sample.event);
	at = put32(t->rec, at, (e->cpu & 0xffff) << 16 | (e->u.sample.mode == EV_USER));
	for (uint32_t i = 0; i < n; i++)
		at = put64(t->rec, at, e->u.sample.n_chain ? e->u.sample.chain[i] : e->u.sample.ip);
	return pmc_out(t, 16, e->time_ns, at);
}

static int pmc_task(struct to_pmc *t, const struct ev *e)
{
	bool thread = e->pid != e->tid;
	size_t at;

	switch (e->type) {
	case EV_COMM:
		at = put32(t->rec, 16, (uint32_t)(thread ? e->tid : e->pid));
		if (thread) {
			at = put32(t->rec, at, (uint32_t)e->pid);
			at = put64(t->rec, at, e->u.comm.flags);
		} else {
			at = put32(t->rec, at, e->u.comm.flags);
		}
		memset(t->rec + at, 0, 20);
		put_text(t->rec, at, e->u.comm.comm, 20);
		return pmc_out(t, thread ? 18 : 20, e->time_ns, at + 20);
	case EV_FORK:
		if (e->pid == e->u.fork.ppid) {
			at = put32(t->rec, 16, (uint32_t)e->tid);
			at = put32(t->rec, at, (uint32_t)e->pid);
			at = put64(t->rec, at, 0);
			memset(t->rec + at, 0, 20);
			return pmc_out(t, 18, e->time_ns, at + 20);
		}
		put32(t->rec, 16, (uint32_t)e->u.fork.ppid);
		put32(t->rec, 20, (uint32_t)e->pid);
		return pmc_out(t, 11, e->time_ns, 24);
	case EV_EXIT:
		put32(t->rec, 16, (uint32_t)(thread ? e->tid : e->pid));
		put32(t->rec, 20, 0);
		return pmc_out(t, thread ? 19 : 12, e->time_ns, 24);
	}
	at = put32(t->rec, 16, (uint32_t)e->pid); /* EV_PROC */
	at = put32(t->rec, at, 0);
	at = put64(t->rec, at, 0);
	at = put64(t->rec, at, 0);
	at = put_text(t->rec, at, e->u.proc.exe, 1024);
	return pmc_out(t, 9, e->time_ns, at);
}

static int pmc_event(void *arg, const struct ev *e)
{
	struct to_pmc *t = arg;
	size_t at;
	int ret = t->begun ? 0 : pmc_begin(t, e->time_ns);

	if (ret < 0)
		return ret;
	switch (e->type) {
	case EV_SAMPLE:
		return pmc_sample(t, e);
	case EV_COMM:
	case EV_FORK:
	case EV_EXIT:
	case EV_PROC:
		return pmc_task(t, e);
	case EV_LOST:
		return pmc_out(t, 2, e->time_ns, 16);
	case EV_MMAP:
		put32(t->rec, 16, (uint32_t)e->pid);
		put32(t->rec, 20, 0);
		put64(t->rec, 24, e->u.mmap.addr);
		at = put_text(t->rec, 32, e->u.mmap.path, 1024);
		return pmc_out(t, 14, e->time_ns, at);
	case EV_MUNMAP:
		put32(t->rec, 16, (uint32_t)e->pid);
		put32(t->rec, 20, 0);
		put64(t->rec, 24, e->u.mmap.addr);
		put64(t->rec, 32, e->u.mmap.addr + e->u.mmap.len);
		return pmc_out(t, 15, e->time_ns, 40);
	case EV_EVENTDESC:
		at = put32(t->rec, 16, e->u.desc.index);
		at = put32(t->rec, at, 0);
		at = put64(t->rec, at, 0);
		memset(t->rec + at, 0, 64);
		put_text(t->rec, at, e->u.desc.name, 64);
		return pmc_out(t, 17, e->time_ns, at + 64);
	}
	t->left_out++;
	return 0;
}

int convert_to_pmclog(const struct evfile *f, FILE *out)
{
	struct to_pmc *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	t->f = out;
	ret = evfile_merge(f, pmc_event, NULL, t, &t->m);
	if (!ret && !t->begun)
		ret = pmc_begin(t, evlog_merge_meta(t->m)->anchor_mono);
	if (!ret)
		ret = pmc_out(t, 1, 0, 16);
	if (!ret && t->left_out)
		msg_warn("%s: %" PRIu64 " events have no record in that format (JIT code and the like) and were left out", f->name, t->left_out);
	evlog_merge_free(t->m);
	free(t);
	return ret;
}

/* --- from pmclog --------------------------------------------------------------------------------------- */
/* 0: *e is what the record says; 1: it says nothing that our log holds. */
static int from_record(const struct pmclog_ev *p, struct ev *e)
{
	memset(e, 0, sizeof(*e));
	e->cpu = UINT32_MAX;
	e->time_ns = (uint64_t)p->pl_ts.tv_sec * NSEC_PER_SEC + (uint64_t)p->pl_ts.tv_nsec;
	e->pid = e->tid = -1;
	switch (p->pl_type) {
	case PMCLOG_TYPE_PCSAMPLE:
		e->type = EV_SAMPLE;
		e->pid = e->tid = p->pl_u.pl_s.pl_pid;
		e->u.sample.ip = p->pl_u.pl_s.pl_pc;
		e->u.sample.event = p->pl_u.pl_s.pl_pmcid & 0xff;
		e->u.sample.mode = p->pl_u.pl_s.pl_usermode ? EV_USER : EV_KERNEL;
		return 0;
	case PMCLOG_TYPE_CALLCHAIN:
		e->type = EV_SAMPLE;
		e->pid = p->pl_u.pl_cc.pl_pid;
		e->tid = p->pl_u.pl_cc.pl_tid < 0 ? e->pid : p->pl_u.pl_cc.pl_tid;
		e->cpu = p->pl_u.pl_cc.pl_cpuflags >> 16;
		e->u.sample.mode = p->pl_u.pl_cc.pl_cpuflags & 1 ? EV_USER : EV_KERNEL;
		e->u.sample.event = p->pl_u.pl_cc.pl_pmcid & 0xff;
		e->u.sample.chain = p->pl_u.pl_cc.pl_pc;
		e->u.sample.n_chain = p->pl_u.pl_cc.pl_npc > 1 ? p->pl_u.pl_cc.pl_npc : 0;
		e->u.sample.ip = p->pl_u.pl_cc.pl_npc ? p->pl_u.pl_cc.pl_pc[0] : 0;
		if (e->u.sample.mode == EV_KERNEL)
			e->u.sample.n_kernel = e->u.sample.n_chain;
		return 0;
	case PMCLOG_TYPE_MAP_IN:
		e->type = EV_MMAP;
		e->pid = e->tid = p->pl_u.pl_mi.pl_pid;
		e->u.mmap.addr = p->pl_u.pl_mi.pl_start;
		e->u.mmap.len = p->pl_u.pl_mi.pl_size;
		e->u.mmap.prot = 4;
		e->u.mmap.path = p->pl_u.pl_mi.pl_pathname;
		return 0;
	case PMCLOG_TYPE_MAPPINGCHANGE:
		e->type = p->pl_u.pl_m.pl_kind == 2 ? EV_MUNMAP : EV_MMAP;
		e->pid = e->tid = p->pl_u.pl_m.pl_pid;
		e->u.mmap.addr = p->pl_u.pl_m.pl_start;
		e->u.mmap.len = p->pl_u.pl_m.pl_end - p->pl_u.pl_m.pl_start;
		e->u.mmap.prot = 4;
		e->u.mmap.path = p->pl_u.pl_m.pl_pathname;
		return 0;
	case PMCLOG_TYPE_MAP_OUT:
		e->type = EV_MUNMAP;
		e->pid = e->tid = p->pl_u.pl_mo.pl_pid;
		e->u.mmap.addr = p->pl_u.pl_mo.pl_start;
		e->u.mmap.len = p->pl_u.pl_mo.pl_end - p->pl_u.pl_mo.pl_start;
		return 0;
	case PMCLOG_TYPE_PROCEXEC:
		e->type = EV_PROC;
		e->pid = e->tid = p->pl_u.pl_x.pl_pid;
		e->u.proc.ppid = e->u.proc.nspid = -1;
		e->u.proc.exe = p->pl_u.pl_x.pl_pathname;
		e->u.proc.app = "";
		return 0;
	case PMCLOG_TYPE_PROCFORK:
		e->type = EV_FORK;
		e->pid = e->tid = p->pl_u.pl_f.pl_newpid;
		e->u.fork.ppid = e->u.fork.ptid = p->pl_u.pl_f.pl_oldpid;
		return 0;
	case PMCLOG_TYPE_SYSEXIT:
		e->type = EV_EXIT;
		e->pid = e->tid = p->pl_u.pl_se.pl_pid;
		return 0;
	case PMCLOG_TYPE_THR_EXIT:
		e->type = EV_EXIT;
		e->tid = p->pl_u.pl_te.pl_tid;
		return 0;
	case PMCLOG_TYPE_THR_CREATE:
		e->type = EV_COMM;
		e->pid = p->pl_u.pl_tc.pl_pid;
		e->tid = p->pl_u.pl_tc.pl_tid;
		e->u.comm.comm = p->pl_u.pl_tc.pl_tdname;
		return 0;
	case PMCLOG_TYPE_PROC_CREATE:
		e->type = EV_COMM;
		e->pid = e->tid = p->pl_u.pl_pc.pl_pid;
		e->u.comm.comm = p->pl_u.pl_pc.pl_pcomm;
		e->u.comm.flags = p->pl_u.pl_pc.pl_flags & EV_COMM_EXEC;
		return 0;
	case PMCLOG_TYPE_DROPNOTIFY:
		e->type = EV_LOST;
		e->u.lost.count = MAX(p->pl_u.pl_dn.pl_lost, 1u);
		return 0;
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		e->type = EV_EVENTDESC;
		e->u.desc.index = p->pl_u.pl_ad.pl_pmcid & 0xff;
		e->u.desc.name = e->u.desc.desc = p->pl_u.pl_ad.pl_evname;
		return 0;
	default:
		return 1;
	}
}

struct from_pmc {
	struct evout out;
	uint64_t left_out;
};

int convert_from_pmclog(const struct evfile *f, const char *output)
{
	struct from_pmc s = { 0 };
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	void *p = pmclog_open(PMCLOG_FD_NONE);
	struct evlog_meta anchor = { .have_init = true, .anchor_mono = 1, .anchor_real = 1, .machine = "hwpmc" };
	struct ev e;
	size_t pos = 0;
	int ret = -ENOMEM, err = 0;

	if (p && ev)
		ret = evout_open(&s.out, output, 1, &anchor); /* times are the wall clock's */
	while (!ret) {
		if (pmclog_read(p, ev)) {
			size_t n = MIN(f->len - pos, (size_t)1 << 30);
			err = errno;
			if (ev->pl_state != PMCLOG_REQUIRE_DATA || !n)
				break;
			pmclog_feed(p, (const char *)f->data + pos, (int)n);
			pos += n;
			continue;
		}
		if (from_record(ev, &e))
			s.left_out += ev->pl_type != PMCLOG_TYPE_INITIALIZE && ev->pl_type != PMCLOG_TYPE_CLOSELOG;
		else
			ret = evlog_write(s.out.w, 1, &e);
	}
	if (!ret && ev->pl_state == PMCLOG_ERROR)
		ret = msg_errno(err, "%s: offset %lld", f->name, (long long)ev->pl_offset);
	if (!ret && ev->pl_state == PMCLOG_REQUIRE_DATA)
		msg_warn("%s: offset %lld: the log ends here without being closed", f->name, (long long)ev->pl_offset);
	if (s.left_out)
		msg_warn("%s: %" PRIu64 " records have no place in an opel log (counts, attachments) and were left out", f->name, s.left_out);
	ret = evout_close(&s.out, ret);
	pmclog_close(p);
	free(ev);
	return ret;
}

/* --- opnd, opsd and ophd ------------------------------------------------------------------------------- */
struct to_abi {
	struct abi_format nf, sf, hf;
	struct strbuf notes, samples;
	struct ophd_builder names;
	struct opsd_sample buf[1024];
	uint64_t n, cpu, left_out;
};

static int abi_note(struct to_abi *t, const struct opnd_note *n)
{
	uint8_t raw[OPND_WORDS * 8];
	int ret = opnd_write(&t->nf, raw, n);

	return ret < 0 ? ret : strbuf_add(&t->notes, raw, sizeof(raw));
}

static int abi_flush(struct to_abi *t)
{
	struct opsd_head h = { .cpu = t->cpu, .n = t->n, .state = OPSD_RUNNING };
	uint8_t raw[OPSD_SAMPLE_WORDS * 8];

	if (!t->n)
		return 0;
	if (opsd_head_write(&t->sf, raw, &h) < 0)
		return -ERANGE;
	strbuf_add(&t->samples, raw, OPSD_HEAD_WORDS * 8);
	for (uint64_t i = 0; i < t->n; i++) {
		if (opsd_sample_write(&t->sf, raw, &t->buf[i]) < 0)
			return -ERANGE;
		strbuf_add(&t->samples, raw, sizeof(raw));
	}
	t->n = 0;
	return t->samples.error;
}

/* Names that are no paths ([heap], //anon) hang below the root as one component each. */
static uint64_t abi_path(struct to_abi *t, const char *path)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	int64_t id;

	if (!path || !*path)
		return OPND_NO_PATH;
	if (path[0] == '/' && !strstr(path, "//"))
		id = ophd_builder_add_path(&t->names, path);
	else {
		while (*path == '/')
			path++;
		strbuf_addf(&sb, "/%s", path);
		id = ophd_builder_add_path(&t->names, strbuf_str(&sb));
	}
	return id < 0 ? OPND_NO_PATH : (uint64_t)id;
}

static int abi_event(void *arg, const struct ev *e)
{
	struct to_abi *t = arg;
	uint64_t pid = (uint32_t)e->pid;
	int ret = 0;

	switch (e->type) {
	case EV_SAMPLE:
		if (t->n == ARRAY_SIZE(t->buf) || (t->n && t->cpu != e->cpu))
			ret = abi_flush(t);
		t->cpu = e->cpu;
		t->buf[t->n++] = (struct opsd_sample){ e->u.sample.ip, 1, e->u.sample.event, pid };
		return ret;
	case EV_MMAP:
		return abi_note(t, &(struct opnd_note){ e->u.mmap.addr, e->u.mmap.len, e->u.mmap.pgoff, abi_path(t, e->u.mmap.path), pid, OPND_MAP });
	case EV_PROC:
		return abi_note(t, &(struct opnd_note){ 0, 0, 0, abi_path(t, e->u.proc.exe), pid, OPND_EXEC });
	case EV_FORK:
		if (e->pid != e->u.fork.ppid)
			return abi_note(t, &(struct opnd_note){ pid, 0, 0, 0, (uint32_t)e->u.fork.ppid, OPND_FORK });
		break;
	case EV_EXIT:
		if (e->pid == e->tid)
			return abi_note(t, &(struct opnd_note){ 0, 0, 0, OPND_NO_PATH, pid, OPND_EXIT });
		break;
	}
	t->left_out++;
	return 0;
}

static int write_file(const char *name, const struct strbuf *sb)
{
	int ret = evfile_may_write(name);

	if (ret < 0)
		return ret;
	ret = sb->error ? sb->error : io_write_file(name, sb->buf, sb->len, 0644);

	return ret < 0 ? msg_errno(ret, "%s", name) : 0;
}

int convert_to_abi(const struct evfile *f, const struct options *o)
{
	struct to_abi *t = calloc(1, sizeof(*t));
	struct evlog_merge *m = NULL;
	AUTO_STRBUF names = STRBUF_INIT;
	uint8_t prefix[ABI_MAX_PREFIX];
	int ret;

	if (!t)
		return -ENOMEM;
	t->notes.cap = t->samples.cap = (size_t)8 << 30;
	abi_format_init(&t->nf, ABI_OPND, 8, NULL);
	abi_format_init(&t->sf, ABI_OPSD, 8, NULL);
	abi_format_init(&t->hf, ABI_OPHD, 8, NULL);
	abi_prefix_write(&t->nf, prefix);
	strbuf_add(&t->notes, prefix, abi_prefix_len(&t->nf));
	abi_prefix_write(&t->sf, prefix);
	strbuf_add(&t->samples, prefix, abi_prefix_len(&t->sf));
	ret = ophd_builder_init(&t->names, 65521, true);
	if (!ret)
		ret = evfile_merge(f, abi_event, NULL, t, &m);
	if (!ret)
		ret = abi_flush(t);
	if (!ret)
		ret = ophd_builder_write(&t->names, &t->hf, &names);
	if (!ret)
		ret = write_file(o->notes, &t->notes);
	if (!ret)
		ret = write_file(o->samples, &t->samples);
	if (!ret)
		ret = write_file(o->names, &names);
	if (!ret && t->left_out)
		msg_warn("%s: %" PRIu64 " events have no place in notes and samples and were left out", f->name, t->left_out);
	evlog_merge_free(m);
	strbuf_done(&t->notes);
	strbuf_done(&t->samples);
	ophd_builder_done(&t->names);
	free(t);
	return ret;
}

static int fault_say(const struct evfile *f, int ret, const struct abi_fault *fault)
{
	msg_error("%s: offset %" PRIu64 ": %s", f->name, fault->at, fault->rule ? fault->rule : ret == -EAGAIN ? "ends inside a record" : "malformed");
	return ret == -EAGAIN ? -EBADMSG : ret;
}

/* Notes have no times: they come first, a nanosecond apart; then the samples. */
static int from_notes(const struct evfile *f, const struct ophd *names, struct evlog_writer *w, uint64_t *time)
{
	struct abi_fault fault = { 0 };
	struct abi_format fmt;
	struct opnd_note n;
	int ret = abi_prefix_read(&fmt, ABI_OPND, f->data, f->len, &fault);
	size_t pos = ret > 0 ? (size_t)ret : 0;

	while (ret > 0 && (ret = opnd_next(&fmt, f->data, f->len, &pos, &n, &fault)) > 0) {
		struct ev e = { .cpu = UINT32_MAX, .pid = (int32_t)n.pid, .tid = (int32_t)n.pid, .time_ns = ++*time };
		AUTO_STRBUF path = STRBUF_INIT;
		int err = 0;
		if (n.hash != OPND_NO_PATH && n.hash <= UINT32_MAX && ophd_used(names, (uint32_t)n.hash))
			ophd_path(names, (uint32_t)n.hash, &path);
		switch (n.type) {
		case OPND_MAP:
			e.type = EV_MMAP;
			e.u.mmap.addr = n.address;
			e.u.mmap.len = n.length;
			e.u.mmap.pgoff = n.offset;
			e.u.mmap.prot = 4;
			e.u.mmap.path = strbuf_str(&path);
			break;
		case OPND_EXEC:
			e.type = EV_PROC;
			e.u.proc.exe = strbuf_str(&path);
			e.u.proc.app = "";
			e.u.proc.ppid = e.u.proc.nspid = -1;
			break;
		case OPND_FORK:
			e.type = EV_FORK;
			e.u.fork.ppid = e.u.fork.ptid = (int32_t)n.pid;
			e.pid = e.tid = (int32_t)n.address;
			break;
		case OPND_EXIT:
			e.type = EV_EXIT;
			break;
		default:
			continue;
		}
		err = evlog_write(w, 1, &e);
		if (err < 0)
			return err;
	}
	return ret < 0 ? fault_say(f, ret, &fault) : 0;
}

static int from_samples(const struct evfile *f, struct evlog_writer *w, uint64_t *time)
{
	struct abi_fault fault = { 0 };
	struct abi_format fmt;
	struct opsd_head h;
	struct opsd_sample s;
	int ret = abi_prefix_read(&fmt, ABI_OPSD, f->data, f->len, &fault), err;
	size_t pos = ret > 0 ? (size_t)ret : 0;

	while (ret > 0 && (ret = opsd_head_next(&fmt, f->data, f->len, &pos, true, &h, &fault)) > 0)
		for (uint64_t i = 0; i < h.n; i++) {
			struct ev e = { .type = EV_SAMPLE, .cpu = (uint32_t)h.cpu, .time_ns = ++*time };
			ret = opsd_sample_next(&fmt, f->data, f->len, &pos, &s, &fault);
			if (ret <= 0)
				return fault_say(f, ret ? ret : -EAGAIN, &fault);
			e.pid = e.tid = (int32_t)s.pid;
			e.u.sample.ip = s.eip;
			e.u.sample.event = (uint32_t)s.counter;
			e.u.sample.mode = s.eip >> 63 ? EV_KERNEL : EV_USER;
			if (s.count > 1 << 20)
				return fault_say(f, -EBADMSG, &(struct abi_fault){ .at = pos, .rule = "more hits than can be" });
			for (uint64_t k = 0; k < s.count; k++) {
				err = evlog_write(w, 1, &e);
				if (err < 0)
					return err;
			}
		}
	return ret < 0 ? fault_say(f, ret, &fault) : 0;
}

int convert_from_abi(const struct options *o, const char *output)
{
	struct evlog_meta anchor = { .have_init = true, .anchor_mono = 0, .anchor_real = 1, .machine = "abi" };
	struct evfile notes = { 0 }, samples = { 0 }, names = { 0 };
	struct abi_fault fault = { 0 };
	struct evout out = { 0 };
	struct ophd h = { 0 };
	uint64_t time = 0;
	int ret = 0;

	if (o->names && !(ret = evfile_open(&names, o->names))) {
		ret = ophd_read(&h, names.data, names.len, &fault);
		ret = ret < 0 ? fault_say(&names, ret, &fault) : 0;
	}
	if (!ret && o->notes)
		ret = evfile_open(&notes, o->notes);
	if (!ret && o->samples)
		ret = evfile_open(&samples, o->samples);
	if (!ret)
		ret = evout_open(&out, output, 1, &anchor);
	if (!ret && notes.name)
		ret = from_notes(&notes, &h, out.w, &time);
	if (!ret && samples.name)
		ret = from_samples(&samples, out.w, &time);
	ret = evout_close(&out, ret);
	if (names.data)
		ophd_done(&h);
	evfile_close(&notes);
	evfile_close(&samples);
	evfile_close(&names);
	return ret;
}

/* --- the command --------------------------------------------------------------------------------------- */
static int to_stream(const struct evfile *f, const struct options *o, int (*fn)(const struct evfile *, FILE *))
{
	bool std = !o->output || !strcmp(o->output, "-");
	FILE *out;
	int ret;

	if (!std && evfile_may_write(o->output) < 0)
		return -EINVAL;
	out = std ? stdout : fopen(o->output, "we");
	if (!out)
		return msg_errno(errno, "%s", o->output);
	ret = fn(f, out);
	if (fflush(out) || ferror(out) || (out != stdout && fclose(out))) {
		msg_error("%s: cannot write: is the disk full?", std ? "standard output" : o->output);
		ret = ret ? ret : -EIO;
	}
	return ret;
}

/* JSON lines are dump's. */
static int to_json(const struct options *o, char **files)
{
	struct options j = *o;
	FILE *keep = stdout, *out = NULL;
	int ret;

	j.json = true;
	if (o->output && strcmp(o->output, "-")) {
		if (evfile_may_write(o->output) < 0)
			return -EINVAL;
		out = fopen(o->output, "we");
		if (!out)
			return msg_errno(errno, "%s", o->output);
		stdout = out;
	}
	ret = cmd_dump(&j, files);
	stdout = keep;
	if (out && (ferror(out) | fclose(out))) {
		msg_error("%s: cannot write: is the disk full?", o->output);
		ret = ret ? ret : -EIO;
	}
	return ret;
}

/* Logs of hwpmc begin with their magic, in one byte order or the other; else it is text. */
static int to_opel(const struct evfile *f, const struct options *o, char **files)
{
	if (evfile_is_opel(f))
		return cmd_cut(o, files);
	if (f->len < 4 || f->data[0] == 0xee || f->data[3] == 0xee || !memchr(f->data, '\n', f->len))
		return convert_from_pmclog(f, o->output);
	return convert_from_script(f, o->output);
}

int cmd_convert(const struct options *o, char **files)
{
	struct evfile f;
	struct stat st;
	int ret;

	if (!o->format) {
		msg_error("say what to with --format=opel, pmclog, ctf, script, json, abi or rst");
		return -EINVAL;
	}
	if (!files)
		return !strcmp(o->format, "opel") ? convert_from_abi(o, o->output) : (msg_error("%s: no log given", o->format), -EINVAL);
	if (!strcmp(o->format, "opel") && !stat(files[0], &st) && S_ISDIR(st.st_mode))
		return convert_from_ctf(files[0], o->output);
	ret = evfile_open(&f, files[0]);
	if (ret < 0)
		return ret;
	if (!strcmp(o->format, "opel")) {
		ret = to_opel(&f, o, files);
	} else if (!evfile_is_opel(&f)) {
		msg_error("%s: only an opel log is converted to %s; make one with --format=opel", f.name, o->format);
		ret = -EINVAL;
	} else if (!strcmp(o->format, "pmclog")) {
		ret = to_stream(&f, o, convert_to_pmclog);
	} else if (!strcmp(o->format, "rst")) {
		ret = to_stream(&f, o, convert_to_rst);
	} else if (!strcmp(o->format, "script")) {
		ret = to_stream(&f, o, convert_script);
	} else if (!strcmp(o->format, "json")) {
		ret = to_json(o, files);
	} else if (!strcmp(o->format, "ctf")) {
		ret = o->output ? convert_ctf(&f, o->output) : (msg_error("ctf: name a directory with --output"), -EINVAL);
	} else if (!strcmp(o->format, "abi")) {
		ret = o->notes && o->samples && o->names ? convert_to_abi(&f, o) :
		      (msg_error("abi: name all of --notes, --samples and --names"), -EINVAL);
	} else {
		msg_error("--format=%s: none of opel, pmclog, ctf, script, json, abi, rst", o->format);
		ret = -EINVAL;
	}
	evfile_close(&f);
	return ret;
}
