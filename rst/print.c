/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>

#include "rst/print.h"

int printer_init(struct printer *p, const struct print_opts *o, unsigned int version)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->o = *o;
	p->version = version;
	p->shown_cpu = -1;
	p->line = (struct strbuf)STRBUF_INIT_CAP(65536);
	rc = dis_new(&p->dis);
	return rc ? rc : o->gnu ? dis_use_gnu_sparc(p->dis) : 0;
}

void printer_done(struct printer *p)
{
	dis_free(p->dis);
	syms_done(&p->syms);
	strbuf_done(&p->line);
}

void printer_banner(struct strbuf *out, const char *name)
{
	strbuf_addf(out, "RST trace format (%s)\n================\n", name);
	strbuf_addstr(out, "                          User/                                                        Branch\n");
	strbuf_addstr(out, "  Rec # Type              Priv  PC                  Disassembly                         Taken EA\n");
}

/* Text from a trace: newlines stay (the old form printed them), other control characters are shown as \xNN. */
static void add_text(struct strbuf *sb, const void *text, size_t len)
{
	const uint8_t *s = text;

	for (size_t i = 0; i < len; i++) {
		if ((s[i] < 32 && s[i] != '\n' && s[i] != '\t') || s[i] == 127)
			strbuf_addf(sb, "\\x%02x", s[i]);
		else
			strbuf_addch(sb, (char)s[i]);
	}
}

static size_t text_len(const uint8_t *text, size_t max)
{
	const uint8_t *nul = memchr(text, 0, max);

	return nul ? (size_t)(nul - text) : max;
}

void printer_note(struct printer *p, const uint8_t *rec)
{
	int cpu;

	switch (rec[0]) {
	case RST_STRCONT:
	case RST_STRDESC:
		if (!rst_string_join(&p->joiner, rec))
			break;
		if (!strcmp(p->joiner.text, "isa=x86-64"))
			p->is_x86 = true;
		syms_take_string(&p->syms, p->joiner.text);
		break;
	case RST_X86_INSTR:
		memcpy(p->x86, rec, RST_REC_SIZE);
		break;
	case RST_PAVADIFF:
		cpu = rst_rec_cpu(rec, p->version);
		cpu = cpu < 0 || cpu > 1023 ? 0 : cpu;
		if (rec[1] & 0x80) {
			p->ea_diff[cpu] = rst_be64(rec + 16);
			p->has_ea_diff[cpu] = true;
		}
		break;
	}
}

/* --- the types the manual shows -------------------------------------------------------------------------- */

static void put_cpu(struct printer *p, const uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, p->version);

	if (cpu >= 0)
		strbuf_addf(&p->line, "cpuid=%d ", cpu);
}

static void put_symbol(struct printer *p, uint64_t addr)
{
	const struct sym *s = syms_find(&p->syms, addr);

	if (!s)
		return;
	strbuf_addstr(&p->line, " <");
	add_text(&p->line, s->name, strlen(s->name));
	if (addr != s->addr)
		strbuf_addf(&p->line, "+0x%" PRIx64, addr - s->addr);
	strbuf_addch(&p->line, '>');
}

static void put_disassembly(struct printer *p, const uint8_t *rec)
{
	uint64_t pc = rst_instr_pc(rec);

	if (p->is_x86) {
		size_t before = p->line.len;
		bool has = p->x86[0] == RST_X86_INSTR && p->x86[1] <= 15;
		const uint8_t *bytes = has ? p->x86 + 8 : rec + 4;

		if (dis_x86(p->dis, bytes, has ? p->x86[1] : 4, pc, &p->line) < 0) {
			p->line.len = before;
			strbuf_addf(&p->line, "(bytes 0x%08x)", rst_instr_word(rec));
		}
		p->x86[0] = 0;
	} else {
		dis_sparc(p->dis, rst_instr_word(rec), pc, &p->line);
	}
}

static void put_instr(struct printer *p, const uint8_t *rec)
{
	struct strbuf *l = &p->line;
	uint8_t f = rec[1];
	size_t from;
	int cpu;

	put_cpu(p, rec);
	strbuf_addf(l, "%c [0x%016" PRIx64 "] ", p->version >= 212 && f & RST_I_HPRIV ? 'h' : f & RST_I_PR ? 'p' : 'u',
		    rst_instr_pc(rec));
	from = l->len;
	put_disassembly(p, rec);
	if (p->syms.n)
		put_symbol(p, rst_instr_pc(rec));
	if (f & (RST_I_BT | RST_I_EA | RST_I_TR | RST_I_AN))
		strbuf_addf(l, "%*s", l->len - from < 36 ? (int)(36 - (l->len - from)) : 1, "");
	/* The producers set bt on loads and stores too; the column is for branches and traps. */
	if (f & RST_I_BT)
		strbuf_addstr(l, "T ");
	if (f & RST_I_EA)
		strbuf_addf(l, "[0x%016" PRIx64 "] ", rst_instr_ea(rec));
	if (f & RST_I_TR)
		strbuf_addstr(l, "tr ");
	if (f & RST_I_AN)
		strbuf_addstr(l, "an ");
	cpu = rst_rec_cpu(rec, p->version);
	cpu = cpu < 0 ? 0 : cpu;
	if (p->o.phys && f & RST_I_EA && rst_instr_word(rec) >> 30 == 3 && p->has_ea_diff[cpu])
		strbuf_addf(l, "pa=0x%" PRIx64 " ", rst_instr_ea(rec) + p->ea_diff[cpu]);
	while (l->len && l->buf[l->len - 1] == ' ')
		l->buf[--l->len] = 0;
}

static void put_pavadiff(struct printer *p, const struct rst_pavadiff *v)
{
	struct strbuf *l = &p->line;

	if (p->version >= 110) {
		/* No blank after cpuid: readers of this text came to expect it. */
		strbuf_addf(l, "cpuid=%uicontext=%u dcontext=%u ", v->cpu, v->icontext, v->dcontext);
	} else {
		strbuf_addf(l, "context=%u ", p->version >= 104 ? v->icontext : v->context);
		if (p->version >= 106 && p->shown_cpu != v->cpu)
			strbuf_addf(l, "cpu=%u ", v->cpu);
		p->shown_cpu = v->cpu;
	}
	strbuf_addf(l, "pc_pa_va=0x%016" PRIx64 " ", v->pc_pa_va);
	strbuf_addf(l, p->version < 110 && !v->ea_valid ? "((ea_pa_va=0x%016" PRIx64 ")) " : "ea_pa_va=0x%016" PRIx64 " ", v->ea_pa_va);
	strbuf_addf(l, "ea_valid=%u", v->ea_valid);
}

static void put_preg(struct printer *p, const uint8_t *rec, const struct rst_preg *v)
{
	put_cpu(p, rec);
	strbuf_addf(&p->line, "asi=0x%04x ", v->asi);
	if (p->version < 109)
		strbuf_addf(&p->line, "last_context=0x%04x ", v->last_context);
	strbuf_addf(&p->line, "trap_lvl=0x%02x trap_type=0x%02x pstate=0x%04x primA=0x%04x secA=0x%04x primD=0x%04x secD=0x%04x",
		    v->traplevel, v->traptype, v->pstate, v->prim_a, v->sec_a, v->prim_d, v->sec_d);
}

static void put_tlb(struct printer *p, const uint8_t *rec, const struct rst_tlb *v)
{
	strbuf_addf(&p->line, "demap=%u type=%u ", v->demap, v->is_data);
	if (p->version < 106)
		strbuf_addf(&p->line, "valid=%u index=%u state=0x%04x ", v->valid, v->index, v->state);
	else
		strbuf_addf(&p->line, "index=%u unit=%u cpuid=%u ", v->index, v->unit, v->cpu);
	strbuf_addf(&p->line, "context=0x%04x tag=0x%016" PRIx64 " data=0x%016" PRIx64 " pa=0x%" PRIx64,
		    (unsigned int)(v->tag & 0x1fff), v->tag, v->data, v->data & UINT64_C(0x7ffffffe000));
}

static void put_trap(struct printer *p, const uint8_t *rec, const struct rst_trap *v)
{
	put_cpu(p, rec);
	/* "async==" is what the original prints, and scripts match it. */
	strbuf_addf(&p->line, "is_async=%u async==%u tl=%u ttype=0x%03x pstate=0x%03x syscall=0x%04x", v->is_async, v->is_async,
		    v->tl, v->ttype, v->pstate, v->syscall);
	if (p->o.verbose)
		strbuf_addf(&p->line, " pc=0x%016" PRIx64 " npc=0x%016" PRIx64, v->pc, v->npc);
}

static void put_regval(struct printer *p, const uint8_t *rec, const struct rst_regval *v)
{
	static const char *const kinds[] = { "?", "int", "float", "priv", "other", "unused", "cc", "fcc", "win", "mmu" };

	put_cpu(p, rec);
	strbuf_addf(&p->line, "postInstr=%u", v->post);
	for (int i = 0; i < 2; i++) {
		if (v->regtype[i] == 5)
			continue;
		strbuf_addf(&p->line, " %s", v->regtype[i] < ARRAY_SIZE(kinds) ? kinds[v->regtype[i]] : "?");
		if (v->regtype[i] == 1 && v->regid[i] < 32)
			strbuf_addf(&p->line, " %%%c%u", "goli"[v->regid[i] / 8], v->regid[i] % 8);
		else
			strbuf_addf(&p->line, " %u", v->regid[i]);
		if (v->regtype[i] != 6)
			strbuf_addf(&p->line, "=0x%016" PRIx64, v->value[i]);
		if (p->o.values && !i && v->regtype[1] != 5)
			strbuf_addstr(&p->line, "\n                           ");
	}
}

/* Any type: each field with its name. */
static void put_fields(struct printer *p, const uint8_t *rec)
{
	size_t n, i;
	const struct rst_field *f = rst_rec_fields(rec[0], rec, p->version, &n);
	const char *sep = "";

	if (!f) {
		strbuf_addf(&p->line, "rtype=%u", rec[0]);
		for (i = 1; i < RST_REC_SIZE; i++)
			strbuf_addf(&p->line, "%s%02x", i % 4 && i > 1 ? "" : " ", rec[i]);
		return;
	}
	for (i = 0; i < n; i++, sep = " ") {
		if (!f[i].is_bytes) {
			uint64_t v = rst_field_get(&f[i], rec);

			if (f[i].is_hex)
				strbuf_addf(&p->line, "%s%s=0x%0*" PRIx64, sep, f[i].name, (f[i].width + f[i].hi_width + 3) / 4, v);
			else
				strbuf_addf(&p->line, "%s%s=%" PRIu64, sep, f[i].name, v);
			continue;
		}
		strbuf_addf(&p->line, "%s%s=", sep, f[i].name);
		if (rec[0] == RST_PATCH || rec[0] == RST_HEADER)
			add_text(&p->line, rec + f[i].bit / 8, text_len(rec + f[i].bit / 8, f[i].size));
		else
			for (size_t k = 0; k < f[i].size; k++)
				strbuf_addf(&p->line, "%02x", rec[f[i].bit / 8 + k]);
	}
}

static void put_body(struct printer *p, const uint8_t *rec, const struct rst_rec *r)
{
	switch (rec[0]) {
	case RST_HEADER:
		strbuf_addf(&p->line, "majorVer=%u minorVer=%u ", r->u.header.major, r->u.header.minor);
		add_text(&p->line, r->u.header.text, text_len(r->u.header.text, 20));
		break;
	case RST_STRDESC:
		strbuf_addstr(&p->line, p->version >= 108 ? "\"" : "string=");
		add_text(&p->line, p->joiner.text, p->joiner.len);
		strbuf_addstr(&p->line, p->version >= 108 ? "\"" : "");
		break;
	case RST_CPU:
		strbuf_addf(&p->line, "cpu=%u timestamp=0x%" PRIx64, r->u.cpu.cpu, r->u.cpu.timestamp);
		break;
	case RST_INSTR:
		if (p->o.fields)
			put_fields(p, rec);
		else
			put_instr(p, rec);
		break;
	case RST_TRAPPING_INSTR:
		if (p->o.fields) {
			put_fields(p, rec);
			break;
		}
		strbuf_addf(&p->line, "cpuid=%u %c [0x%016" PRIx64 "] ", r->u.trapping.cpu,
			    r->u.trapping.hpriv ? 'h' : r->u.trapping.priv ? 'p' : 'u', r->u.trapping.pc_va);
		if (r->u.trapping.iftrap)
			strbuf_addstr(&p->line, "(not fetched)");
		else
			dis_sparc(p->dis, r->u.trapping.instr, r->u.trapping.pc_va, &p->line);
		if (r->u.trapping.ea_va_valid)
			strbuf_addf(&p->line, " [0x%016" PRIx64 "]%s", r->u.trapping.ea_va, r->u.trapping.ea_pa_valid ? " pa" : "");
		break;
	case RST_PAVADIFF: put_pavadiff(p, &r->u.pavadiff); break;
	case RST_PREG: put_preg(p, rec, &r->u.preg); break;
	case RST_TLB: put_tlb(p, rec, &r->u.tlb); break;
	case RST_TRAP: put_trap(p, rec, &r->u.trap); break;
	case RST_REGVAL: put_regval(p, rec, &r->u.regval); break;
	case RST_NULLREC: break;
	default: put_fields(p, rec);
	}
}

const char *printer_line(struct printer *p, uint64_t recno, const uint8_t *rec)
{
	struct rst_rec r;
	const char *name = rst_type_name(rec[0], p->version);

	printer_note(p, rec);
	strbuf_reset(&p->line);
	if (rec[0] == RST_STRCONT || (rec[0] == RST_X86_INSTR && !p->o.fields && !p->o.verbose))
		return "";
	if (rec[0] == RST_MEMVAL)
		name = rec[1] & 0x80 ? "memval128" : "memval64";
	if (rec[0] == RST_FILEMARKER && rec[1] & 0x80)
		name = "recnum";
	rst_rec_decode(rec, p->version, &r);
	if (!p->o.no_recno)
		strbuf_addf(&p->line, "%7" PRIu64 " ", recno);
	strbuf_addf(&p->line, "%-8s: ", name);
	put_body(p, rec, &r);
	if (p->o.verbose) {
		strbuf_addstr(&p->line, "  {");
		for (size_t i = 0; i < RST_REC_SIZE; i++)
			strbuf_addf(&p->line, "%s%02x", i && i % 4 == 0 ? " " : "", rec[i]);
		strbuf_addch(&p->line, '}');
	}
	strbuf_addch(&p->line, '\n');
	return strbuf_str(&p->line);
}
