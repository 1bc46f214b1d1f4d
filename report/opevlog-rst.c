/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * convert: samples as an RST trace, for tools that read instruction traces. Each sample is one INSTR without instruction bytes
 * behind a RECNUM (instructions are missing between them), with process, thread, cpu and time where they change.
 */
#include <errno.h>
#include <inttypes.h>

#include "format/rst/rst.h"
#include "lib/msg.h"
#include "report/opevlog.h"

struct to_rst {
	FILE *f;
	uint64_t n, samples;
	int32_t pid, tid;
	bool seen[1024];
};

static int put(struct to_rst *t, const struct rst_rec *r)
{
	uint8_t b[RST_REC_SIZE];
	int rc = rst_rec_encode(r, RST_VERSION, b, NULL);

	t->n++;
	return rc ? rc : fwrite(b, RST_REC_SIZE, 1, t->f) == 1 ? 0 : -EIO;
}

static int put_string(struct to_rst *t, const char *text)
{
	uint8_t recs[12 * RST_REC_SIZE];
	size_t len = MIN(strlen(text), (size_t)250), n = rst_string_n_recs(len);

	rst_string_make(recs, text, len);
	t->n += n;
	return fwrite(recs, RST_REC_SIZE, n, t->f) == n ? 0 : -EIO;
}

static int begin(struct to_rst *t)
{
	struct rst_rec level = { .rtype = RST_TRACEINFO };
	uint8_t b[RST_REC_SIZE];
	int rc;

	rst_header_make(b, RST_VERSION);
	if (fwrite(b, RST_REC_SIZE, 1, t->f) != 1)
		return -EIO;
	t->n++;
	level.u.traceinfo.subtype = RST_TRACEINFO_LEVEL;
	rc = put(t, &level);
	if (!rc)
		rc = put_string(t, "opjit opevlog version " PACKAGE_VERSION);
	/* The words are left 0: nothing is to be disassembled, and nothing may be taken for SPARC. */
	if (!rc)
		rc = put_string(t, "isa=x86-64");
	return rc ? rc : put_string(t, "samples, one instruction each");
}

static int put_who(struct to_rst *t, const struct ev *e, uint32_t cpu)
{
	struct rst_rec c = { RST_CPU, { .cpu = { .cpu = cpu, .timestamp = e->time_ns } } };
	struct rst_rec p = { RST_PROCESS, { .process = { .old_pid = (uint32_t)t->pid, .new_pid = (uint32_t)e->pid } } };
	struct rst_rec th = { RST_THREAD, { .thread = { .tid = (uint64_t)(uint32_t)e->tid } } };
	struct rst_rec d = { RST_PAVADIFF, { .pavadiff = { .cpu = (uint16_t)cpu } } };
	int rc = put(t, &c);

	if (!rc && t->pid != e->pid)
		rc = put(t, &p);
	if (!rc && (t->tid != e->tid || t->pid != e->pid))
		rc = put(t, &th);
	if (!rc && !t->seen[cpu])
		rc = put(t, &d);
	t->seen[cpu] = true;
	t->pid = e->pid;
	t->tid = e->tid;
	return rc;
}

static int on_event(void *arg, const struct ev *e)
{
	struct to_rst *t = arg;
	uint32_t cpu = e->cpu < 1024 ? e->cpu : 0;
	struct rst_rec gap = { RST_FILEMARKER, { .filemarker = { .is_recnum = 1, .rec_type = RST_INSTR, .cpu = (uint16_t)cpu,
								.incount = t->samples } } };
	struct rst_rec i = { .rtype = RST_INSTR };
	int rc;

	if (e->type != EV_SAMPLE)
		return 0;
	t->samples++;
	i.u.instr.cpu = (uint16_t)cpu;
	i.u.instr.pc_va = e->u.sample.ip;
	i.u.instr.pr = e->u.sample.mode == EV_KERNEL;
	i.u.instr.hpriv = e->u.sample.mode == EV_HYPERVISOR;
	rc = put(t, &gap);
	if (!rc)
		rc = put_who(t, e, cpu);
	return rc ? rc : put(t, &i);
}

int convert_to_rst(const struct evfile *f, FILE *out)
{
	struct to_rst *t = calloc(1, sizeof(*t));
	struct rst_rec eof = { RST_STATUS, { .status = { .status = 2, .analyzer = 3 } } };
	struct evlog_merge *m = NULL;
	int rc = -ENOMEM;

	if (t) {
		t->f = out;
		t->pid = t->tid = -1;
		rc = begin(t);
	}
	if (!rc)
		rc = evfile_merge(f, on_event, NULL, t, &m);
	if (!rc)
		rc = put(t, &eof);
	evlog_merge_free(m);
	free(t);
	return rc;
}
