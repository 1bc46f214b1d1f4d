/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include "rst/record.h"

static void put(struct recorder *r, const uint8_t *rec)
{
	if (r->error)
		return;
	r->error = cli_out_write(r->out, rec, 1);
	r->n_recs++;
}

static void put_rec(struct recorder *r, const struct rst_rec *rec)
{
	uint8_t b[RST_REC_SIZE];
	int rc = rst_rec_encode(rec, RST_VERSION, b, NULL);

	if (rc && !r->error)
		r->error = rc;
	else
		put(r, b);
}

void record_string(struct recorder *r, const char *text)
{
	size_t len = MIN(strlen(text), (size_t)2000), n = rst_string_n_recs(len);
	uint8_t recs[90 * RST_REC_SIZE];

	rst_string_make(recs, text, len);
	for (size_t i = 0; i < n; i++)
		put(r, recs + i * RST_REC_SIZE);
}

static void put_cpu_model(struct recorder *r)
{
	char line[300], text[320] = "";
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(text, sizeof(text), "cpu=%s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
	if (text[0])
		record_string(r, text);
}

void record_head(struct recorder *r, const char *const *command)
{
	uint8_t b[RST_REC_SIZE];
	struct rst_rec level = { .rtype = RST_TRACEINFO };
	struct rst_rec cpus = { .rtype = RST_HWINFO };
	AUTO_STRBUF sb = STRBUF_INIT;
	struct utsname u;

	rst_header_make(b, RST_VERSION);
	put(r, b);
	level.u.traceinfo.subtype = RST_TRACEINFO_LEVEL;
	level.u.traceinfo.time = (uint64_t)time(NULL);
	put_rec(r, &level);
	record_string(r, "opjit optrace version " PACKAGE_VERSION);
	record_string(r, "isa=x86-64");
	if (!uname(&u)) {
		strbuf_addf(&sb, "host=%s", u.nodename);
		record_string(r, strbuf_str(&sb));
		strbuf_reset(&sb);
		strbuf_addf(&sb, "os=%s %s", u.sysname, u.release);
		record_string(r, strbuf_str(&sb));
		strbuf_reset(&sb);
	}
	put_cpu_model(r);
	strbuf_addstr(&sb, "command=");
	for (size_t i = 0; command && command[i]; i++)
		strbuf_addf(&sb, "%s%s", i ? " " : "", command[i]);
	if (command)
		record_string(r, strbuf_str(&sb));
	cpus.u.hwinfo.category = 7;
	cpus.u.hwinfo.infotype = 3;
	cpus.u.hwinfo.val = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	put_rec(r, &cpus);
	r->cpu = UINT32_MAX;
}

void record_code(struct recorder *r, uint64_t addr, uint64_t size, const char *name, size_t name_len)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	if (name)
		strbuf_addf(&sb, "jit load 0x%llx %llu %.*s", (unsigned long long)addr, (unsigned long long)size, (int)MIN(name_len, 1800u),
			    name);
	else
		strbuf_addf(&sb, "jit unload 0x%llx", (unsigned long long)addr);
	record_string(r, strbuf_str(&sb));
}

void record_who(struct recorder *r, pid_t pid, pid_t tid, unsigned int cpu, bool clock)
{
	bool other_thread = tid != r->tid;

	cpu = MIN(cpu, 1023u);
	if (pid == r->pid && !other_thread && cpu == r->cpu && !clock)
		return;
	{
		struct rst_rec c = { .rtype = RST_CPU };

		r->time_ns = util_now_ns();
		c.u.cpu.cpu = (uint16_t)cpu;
		c.u.cpu.timestamp = r->time_ns;
		put_rec(r, &c);
	}
	if (pid != r->pid) {
		struct rst_rec p = { .rtype = RST_PROCESS };

		p.u.process.old_pid = (uint32_t)r->pid;
		p.u.process.new_pid = (uint32_t)pid;
		p.u.process.new_context = 1;
		put_rec(r, &p);
	}
	if (other_thread) {
		struct rst_rec t = { .rtype = RST_THREAD };

		t.u.thread.tid = (uint64_t)tid;
		t.u.thread.icontext = 1;
		put_rec(r, &t);
	}
	if (cpu != r->cpu) {
		/* A process traced from outside has no physical addresses: the difference is 0. */
		struct rst_rec d = { .rtype = RST_PAVADIFF };

		d.u.pavadiff.cpu = (uint16_t)cpu;
		d.u.pavadiff.ea_valid = 1;
		d.u.pavadiff.icontext = d.u.pavadiff.dcontext = 1;
		put_rec(r, &d);
	}
	r->pid = pid;
	r->tid = tid;
	r->cpu = cpu;
}

/* bt and the address of what is no load or store. */
static void set_target(struct rst_instr *i, const struct record_step *s)
{
	bool taken = s->insn->kind != X86_JCC || s->next_pc != s->pc + s->insn->len;

	if (s->insn->kind == X86_PLAIN || s->insn->kind == X86_SYSCALL || !s->ran)
		return;
	i->bt = taken;
	i->ea_valid = taken;
	i->ea_va = taken ? s->next_pc : 0;
}

static void put_second(struct recorder *r, uint64_t addr, uint64_t value)
{
	struct rst_rec m = { .rtype = RST_MEMVAL };

	m.u.memval.addr_is_va = 1;
	m.u.memval.cpu = (uint16_t)r->cpu;
	m.u.memval.size = 8;
	m.u.memval.addr = addr;
	m.u.memval.value = value;
	put_rec(r, &m);
}

static void put_trap(struct recorder *r, const struct record_step *s)
{
	struct rst_rec t = { .rtype = RST_TRAP };
	bool call = s->insn->kind == X86_SYSCALL;

	t.u.trap.cpu = (uint16_t)r->cpu;
	t.u.trap.ttype = call ? 0x140 : (uint16_t)s->trap;
	t.u.trap.syscall = call ? s->regs->rax & 0xfff : 0;
	t.u.trap.pc = s->pc;
	t.u.trap.npc = s->pc + s->insn->len;
	put_rec(r, &t);
}

void record_instr(struct recorder *r, const struct record_step *s)
{
	const struct x86_insn *in = s->insn;
	struct rst_rec i = { .rtype = RST_INSTR };
	uint64_t addr[3];
	unsigned int n = 0;
	uint8_t word[4] = "";

	for (unsigned int k = 0; k < in->n_mem; k++)
		addr[n++] = x86_address(in, &in->mem[k], s->regs);
	if (in->stack_down || in->stack_up)
		addr[n++] = s->regs->rsp - (in->stack_down ? 8 : 0);
	memcpy(word, in->bytes, MIN(in->len, 4u));
	i.u.instr.cpu = (uint16_t)r->cpu;
	i.u.instr.instr = rst_be32(word);
	i.u.instr.pc_va = s->pc;
	i.u.instr.tr = !s->ran || in->kind == X86_SYSCALL;
	set_target(&i.u.instr, s);
	if (n && in->kind == X86_PLAIN) {
		i.u.instr.ea_valid = 1;
		i.u.instr.ea_va = addr[0];
	}
	/* An instruction has one address; a second one stands before it. */
	if (n > 1 && in->kind == X86_PLAIN)
		put_second(r, addr[1], s->second);
	else if (in->n_mem && in->kind != X86_PLAIN)
		put_second(r, addr[0], s->next_pc);
	if (i.u.instr.tr)
		put_trap(r, s);
	if (in->len > 4) {
		struct rst_rec x = { .rtype = RST_X86_INSTR };

		x.u.x86.length = in->len;
		memcpy(x.u.x86.bytes, in->bytes, in->len);
		put_rec(r, &x);
	}
	put_rec(r, &i);
	r->n_instrs++;
}

void record_end(struct recorder *r)
{
	struct rst_rec s = { .rtype = RST_STATUS };

	s.u.status.status = 2;
	s.u.status.analyzer = 3;
	put_rec(r, &s);
}
