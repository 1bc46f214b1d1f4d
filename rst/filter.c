/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>

#include "format/rst/sparc.h"
#include "rst/filter.h"

/* --- small helpers --------------------------------------------------------------------------------------- */

static inline bool is_head(const struct filter *f, const uint8_t *rec)
{
	return rec[0] == RST_HEADER || (rec[0] == RST_TRACEINFO && f->n <= 1);
}

static inline unsigned int cpu_of(const struct filter *f, const uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, f->version);

	return cpu < 0 ? 0 : (unsigned int)cpu & 1023;
}

static int keep_if(struct filter *f, const uint8_t *rec, bool keep)
{
	return keep || is_head(f, rec) ? filter_emit(f, rec) : 0;
}

static enum sparc_kind kind_of(const uint8_t *rec)
{
	return rec[0] == RST_INSTR ? sparc_kind(rst_instr_word(rec)) : SPARC_OTHER;
}

static int parse_number(struct filter *f)
{
	return util_parse_u64(f->param, 10, UINT64_MAX, &f->number) || !f->number ? -EINVAL : 0;
}

/* --- fields ------------------------------------------------------------------------------------------------ */

static int f_ihash(struct filter *f, uint8_t *rec)
{
	const struct rst_field *fld = rec[0] == RST_INSTR ? rst_field_find(RST_INSTR, rec, f->version, "ihash") : NULL;

	if (fld)
		rst_field_set(fld, rec, sparc_ihash(rst_instr_word(rec)));
	return filter_emit(f, rec);
}

static int f_clear_ihash(struct filter *f, uint8_t *rec)
{
	const struct rst_field *fld = rec[0] == RST_INSTR ? rst_field_find(RST_INSTR, rec, f->version, "ihash") : NULL;

	if (fld)
		rst_field_set(fld, rec, 0);
	return filter_emit(f, rec);
}

static int f_add_br_targ(struct filter *f, uint8_t *rec)
{
	enum sparc_kind k = kind_of(rec);

	if (rec[0] == RST_PREG)
		f->has[cpu_of(f, rec)] = rst_be16(rec + 6) & RST_PSTATE_AM;
	if (rec[0] == RST_INSTR && sparc_is_pcrel(k) && !(rec[1] & RST_I_AN)) {
		uint64_t to = rst_instr_pc(rec) + (uint64_t)sparc_disp(rst_instr_word(rec), k);

		rec[1] |= RST_I_EA;
		rst_put64(rec + 16, f->has[cpu_of(f, rec)] ? to & 0xffffffff : to);
	}
	return filter_emit(f, rec);
}

/* Untaken transfers as the manual wants them: no address. */
static int f_no_untaken_ea(struct filter *f, uint8_t *rec)
{
	if (sparc_is_transfer(kind_of(rec)) && !(rec[1] & RST_I_BT)) {
		rec[1] &= (uint8_t)~RST_I_EA;
		rst_put64(rec + 16, 0);
	}
	return filter_emit(f, rec);
}

static int f_clean_ea(struct filter *f, uint8_t *rec)
{
	if ((rec[0] == RST_INSTR && !(rec[1] & RST_I_EA)) ||
	    ((rec[0] == RST_PAVADIFF || rec[0] == RST_PHYSADDR) && !(rec[1] & 0x80)))
		rst_put64(rec + 16, 0);
	return filter_emit(f, rec);
}

static int f_clear_unused(struct filter *f, uint8_t *rec)
{
	uint8_t out[RST_REC_SIZE] = { rec[0] };
	size_t n;
	const struct rst_field *fld = rst_rec_fields(rec[0], rec, f->version, &n);

	if (!fld)
		return filter_emit(f, rec);
	for (; n; n--, fld++) {
		if (fld->is_bytes)
			memcpy(out + fld->bit / 8, rec + fld->bit / 8, fld->size);
		else
			rst_field_set(fld, out, rst_field_get(fld, rec));
	}
	if (rec[0] == RST_STRDESC || rec[0] == RST_HEADER) {
		uint8_t *from = out + (rec[0] == RST_HEADER ? 4 : 1), *nul = memchr(from, 0, (size_t)(out + RST_REC_SIZE - from));

		if (nul)
			memset(nul, 0, (size_t)(out + RST_REC_SIZE - nul));
	}
	return filter_emit(f, out);
}

/* bt means a branch or trap taken, or a conditional move done; some producers set it on every load and store. */
static int f_clear_mem_bt(struct filter *f, uint8_t *rec)
{
	if (kind_of(rec) == SPARC_MEMORY)
		rec[1] &= (uint8_t)~RST_I_BT;
	return filter_emit(f, rec);
}

static int f_mask_am(struct filter *f, uint8_t *rec)
{
	unsigned int cpu = cpu_of(f, rec);

	if (rec[0] == RST_PREG)
		f->has[cpu] = rst_be16(rec + 6) & RST_PSTATE_AM;
	if (rec[0] == RST_INSTR && f->has[cpu]) {
		memset(rec + 8, 0, 4);
		memset(rec + 16, 0, 4);
	}
	return filter_emit(f, rec);
}

static int f_fix_prim(struct filter *f, uint8_t *rec)
{
	if (rec[0] == RST_PREG)
		memcpy(rec + 16, rec + 20, 2);
	return filter_emit(f, rec);
}

static int f_clear_time(struct filter *f, uint8_t *rec)
{
	if (rec[0] == RST_CPU)
		rst_put64(rec + 16, 0);
	if (rec[0] == RST_TRACEINFO && rec[1] == RST_TRACEINFO_LEVEL)
		rst_put64(rec + 8, 0);
	return filter_emit(f, rec);
}

static int f_clear_slots(struct filter *f, uint8_t *rec)
{
	for (unsigned int i = 0; rec[0] == RST_REGVAL && i < 2; i++) {
		if (rec[2 + i] != 5)
			continue;
		rec[4 + i] = 0;
		rst_put64(rec + 8 + 8 * i, 0);
	}
	return filter_emit(f, rec);
}

static int f_zero_word(struct filter *f, uint8_t *rec)
{
	if (rec[0] == RST_INSTR)
		rst_put32(rec + 4, 0);
	return filter_emit(f, rec);
}

/* Changes the layouts of the records: decode as the one, encode as the other. */
static int setup_version(struct filter *f)
{
	unsigned int major, minor;
	char end;

	if (!f->param)
		f->number = RST_VERSION;
	else if (sscanf(f->param, "%u.%u%c", &major, &minor, &end) == 2 && major < 3 && minor < 100)
		f->number = major * 100 + minor;
	else
		return -EINVAL;
	return f->number >= 102 && f->number <= RST_VERSION ? 0 : -EINVAL;
}

static int f_version(struct filter *f, uint8_t *rec)
{
	struct rst_rec r;
	uint8_t out[RST_REC_SIZE];

	if (rec[0] == RST_HEADER && !f->n) {
		rst_header_make(out, (unsigned int)f->number);
		f->version_out = (unsigned int)f->number;
		return filter_emit(f, out);
	}
	if (rst_rec_decode(rec, f->version, &r))
		return filter_emit(f, rec);
	/* One context was enough before 1.4. */
	if (rec[0] == RST_PAVADIFF && f->version < 104)
		r.u.pavadiff.icontext = r.u.pavadiff.dcontext = r.u.pavadiff.context;
	if (rec[0] == RST_PAVADIFF && f->number < 104)
		r.u.pavadiff.context = r.u.pavadiff.icontext;
	if (rst_rec_encode(&r, (unsigned int)f->number, out, NULL))
		return -EILSEQ;
	return filter_emit(f, out);
}

/* --- keeping and dropping ------------------------------------------------------------------------------- */

static int f_user(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_INSTR || !(rec[1] & (RST_I_PR | (f->version >= 212 ? RST_I_HPRIV : 0))));
}
static int f_priv(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_INSTR || rec[1] & RST_I_PR);
}
static int f_hpriv(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_INSTR || (f->version >= 212 && rec[1] & RST_I_HPRIV));
}
static int f_no_annul(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_INSTR || !(rec[1] & RST_I_AN)); }
static int f_no_trapped(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_INSTR || !(rec[1] & RST_I_TR)); }
static int f_instr_only(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] == RST_INSTR); }
static int f_no_instr(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_INSTR && rec[0] != RST_X86_INSTR); }
static int f_mem_only(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_INSTR || kind_of(rec) == SPARC_MEMORY);
}
static int f_branch_only(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_INSTR || sparc_is_transfer(kind_of(rec)));
}
static int f_no_null(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_NULLREC); }
static int f_no_unknown(struct filter *f, uint8_t *rec)
{
	size_t n;

	return keep_if(f, rec, rec[0] == RST_NULLREC || rst_rec_fields(rec[0], rec, f->version, &n));
}
static int f_no_strings(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_STRDESC && rec[0] != RST_STRCONT); }
static int f_no_tlb(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_TLB); }
static int f_no_regval(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_REGVAL); }
static int f_no_memval(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_MEMVAL); }
static int f_no_traps(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_TRAP && rec[0] != RST_TRAPEXIT && rec[0] != RST_TRAPPING_INSTR);
}
static int f_no_pavadiff(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_PAVADIFF); }
static int f_no_preg(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_PREG); }
static int f_no_physaddr(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_PHYSADDR); }
static int f_no_bus(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_BUSTRACE && rec[0] != RST_SNOOP); }
static int f_no_dma(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_DMA); }
static int f_no_hwinfo(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_HWINFO); }
static int f_no_status(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_STATUS); }
static int f_no_cpu_recs(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_CPU); }
static int f_no_x86(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_X86_INSTR); }
static int f_no_rfs(struct filter *f, uint8_t *rec)
{
	return keep_if(f, rec, rec[0] != RST_RFS_HEADER && rec[0] != RST_RFS_CW && rec[0] != RST_RFS_BT);
}
static int f_no_process(struct filter *f, uint8_t *rec) { return keep_if(f, rec, rec[0] != RST_PROCESS && rec[0] != RST_THREAD); }

/* Without the marks, and without what stands between them if it was patched in. */
static int f_no_patch(struct filter *f, uint8_t *rec)
{
	if (rec[0] == RST_PATCH) {
		f->count = rec[1] & 1 ? f->count + 1 : f->count ? f->count - 1 : 0;
		return 0;
	}
	return f->count ? 0 : filter_emit(f, rec);
}

static int setup_cpus(struct filter *f)
{
	const char *s = f->param;

	while (*s) {
		char *end;
		unsigned long a = strtoul(s, &end, 10), b = a;

		if (end == s)
			return -EINVAL;
		if (*end == '-') {
			s = end + 1;
			b = strtoul(s, &end, 10);
			if (end == s)
				return -EINVAL;
		}
		if (a > b || b > 1023)
			return -EINVAL;
		for (; a <= b; a++)
			f->cpus[a] = true;
		if (*end && *end != ',')
			return -EINVAL;
		s = *end ? end + 1 : end;
	}
	return 0;
}

static int f_cpu(struct filter *f, uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, f->version);

	return keep_if(f, rec, cpu < 0 || (cpu < 1024 && f->cpus[cpu]));
}

static int f_first(struct filter *f, uint8_t *rec)
{
	if (f->count >= f->number)
		return 0;
	f->count += rec[0] == RST_INSTR;
	return filter_emit(f, rec);
}

static int f_skip(struct filter *f, uint8_t *rec)
{
	if (rec[0] != RST_INSTR || f->count >= f->number)
		return filter_emit(f, rec);
	f->count++;
	return 0;
}

/* --- translation ------------------------------------------------------------------------------------------- */

static int f_dedup_pavadiff(struct filter *f, uint8_t *rec)
{
	unsigned int cpu = cpu_of(f, rec);

	if (rec[0] == RST_PAVADIFF) {
		if (f->has[cpu] && !memcmp(f->last[cpu], rec, rec[1] & 0x80 ? RST_REC_SIZE : 16))
			return 0;
		f->has[cpu] = true;
		memcpy(f->last[cpu], rec, RST_REC_SIZE);
	}
	return filter_emit(f, rec);
}

/* A PHYSADDR before each instruction, from the differences in force; these are taken out. */
static int f_to_physaddr(struct filter *f, uint8_t *rec)
{
	unsigned int cpu = cpu_of(f, rec);
	uint8_t out[RST_REC_SIZE] = { RST_PHYSADDR };
	int rc;

	if (rec[0] == RST_PAVADIFF) {
		if (!(rec[1] & 0x80)) {
			memcpy(rec + 16, f->last[cpu] + 16, 8);
			rec[1] |= f->last[cpu][1] & 0x80;
		}
		memcpy(f->last[cpu], rec, RST_REC_SIZE);
		f->has[cpu] = true;
		return 0;
	}
	if (rec[0] == RST_INSTR && f->has[cpu]) {
		rst_put64(out + 8, rst_instr_pc(rec) + rst_be64(f->last[cpu] + 8));
		if (kind_of(rec) == SPARC_MEMORY && rec[1] & RST_I_EA && f->last[cpu][1] & 0x80) {
			out[1] = 0x80;
			rst_put64(out + 16, rst_instr_ea(rec) + rst_be64(f->last[cpu] + 16));
		}
		rst_rec_set_cpu(out, f->version, cpu);
		rc = filter_emit(f, out);
		if (rc)
			return rc;
	}
	return filter_emit(f, rec);
}

/* The other way: a PAVADIFF where the differences change. */
static int f_to_pavadiff(struct filter *f, uint8_t *rec)
{
	unsigned int cpu = cpu_of(f, rec);
	uint8_t out[RST_REC_SIZE] = { RST_PAVADIFF };
	int rc;

	if (rec[0] == RST_PHYSADDR) {
		memcpy(f->last[cpu], rec, RST_REC_SIZE);
		f->has[cpu] = true;
		return 0;
	}
	if (rec[0] == RST_INSTR && f->has[cpu]) {
		rst_put64(out + 8, rst_be64(f->last[cpu] + 8) - rst_instr_pc(rec));
		if (f->last[cpu][1] & 0x80 && rec[1] & RST_I_EA) {
			out[1] = 0x80;
			rst_put64(out + 16, rst_be64(f->last[cpu] + 16) - rst_instr_ea(rec));
		}
		rst_rec_set_cpu(out, f->version, cpu);
		f->has[cpu] = false;
		rc = filter_emit(f, out);
		if (rc)
			return rc;
	}
	return filter_emit(f, rec);
}

/* --- cpus --------------------------------------------------------------------------------------------------- */

static int f_renum_cpu(struct filter *f, uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, f->version);

	if (cpu >= 0 && cpu < 1024) {
		if (!f->has[cpu]) {
			f->has[cpu] = true;
			f->map[cpu] = (uint16_t)f->count++;
		}
		rst_rec_set_cpu(rec, f->version, f->map[cpu]);
	}
	return filter_emit(f, rec);
}

static int put_cpu_rec(struct filter *f, unsigned int cpu)
{
	uint8_t out[RST_REC_SIZE] = { RST_CPU };

	rst_put16(out + 6, (uint16_t)cpu);
	return filter_emit(f, out);
}

static int f_cpu_recs(struct filter *f, uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, f->version), rc = 0;

	if (rec[0] == RST_CPU) {
		f->cpu = cpu + 1;
	} else if (cpu >= 0 && cpu + 1 != f->cpu) {
		f->cpu = cpu + 1;
		rc = put_cpu_rec(f, (unsigned int)cpu);
	}
	return rc ? rc : filter_emit(f, rec);
}

/* Runs of one cpu each, a CPU record before each run; within a window of that many records. */
static int flush_sorted(struct filter *f)
{
	size_t n = f->held.len / RST_REC_SIZE;
	int rc = 0;

	for (unsigned int cpu = 0; cpu < 1024 && !rc; cpu++) {
		bool begun = false;

		for (size_t i = 0; i < n && f->cpus[cpu] && !rc; i++) {
			const uint8_t *r = (const uint8_t *)f->held.buf + i * RST_REC_SIZE;

			if (cpu_of(f, r) != cpu)
				continue;
			if (!begun)
				rc = put_cpu_rec(f, cpu);
			begun = true;
			if (!rc && r[0] != RST_CPU)
				rc = filter_emit(f, r);
		}
		f->cpus[cpu] = false;
	}
	strbuf_reset(&f->held);
	return rc;
}

static int setup_mpsort(struct filter *f)
{
	f->number = 10000;
	return f->param ? parse_number(f) || f->number > 1000000 ? -EINVAL : 0 : 0;
}

static int f_mpsort(struct filter *f, uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, f->version), rc;

	if (cpu < 0 || is_head(f, rec)) {
		rc = flush_sorted(f);
		return rc ? rc : filter_emit(f, rec);
	}
	f->cpus[cpu & 1023] = true;
	rc = strbuf_add(&f->held, rec, RST_REC_SIZE);
	return rc ? rc : f->held.len / RST_REC_SIZE >= f->number ? flush_sorted(f) : 0;
}

/* --- putting in ------------------------------------------------------------------------------------------- */

static int f_mark(struct filter *f, uint8_t *rec)
{
	uint8_t recs[16 * RST_REC_SIZE];
	size_t len = MIN(strlen(f->param), (size_t)300);
	int rc;

	if (is_head(f, rec) || f->flag)
		return filter_emit(f, rec);
	f->flag = true;
	rst_string_make(recs, f->param, len);
	for (size_t i = 0; i < rst_string_n_recs(len); i++) {
		rc = filter_emit(f, recs + i * RST_REC_SIZE);
		if (rc)
			return rc;
	}
	return filter_emit(f, rec);
}

static int f_recnums(struct filter *f, uint8_t *rec)
{
	uint8_t out[RST_REC_SIZE] = { RST_FILEMARKER, 0x80, RST_INSTR };
	int rc = 0;

	if (rec[0] == RST_INSTR && f->count++ % f->number == 0 && f->count > 1) {
		rst_put64(out + 8, f->count - 1);
		rc = filter_emit(f, out);
	}
	return rc ? rc : filter_emit(f, rec);
}

/* One instruction of N, with a RECNUM where some are left out: readers know the gap. */
static int f_every(struct filter *f, uint8_t *rec)
{
	uint8_t out[RST_REC_SIZE] = { RST_FILEMARKER, 0x80, RST_INSTR };
	int rc = 0;

	if (rec[0] != RST_INSTR)
		return filter_emit(f, rec);
	if (f->count++ % f->number)
		return 0;
	if (f->count > 1) {
		rst_put64(out + 8, f->count - 1);
		rc = filter_emit(f, out);
	}
	return rc ? rc : filter_emit(f, rec);
}

static int f_pass(struct filter *f, uint8_t *rec)
{
	return filter_emit(f, rec);
}

static int end_eof(struct filter *f)
{
	const uint8_t out[RST_REC_SIZE] = { RST_STATUS, 2, 3 };

	return filter_emit(f, out);
}

#define P(n, fn, h) { .name = n, .rec = fn, .help = h }
const struct filter_ops filter_table[] = {
	P("ihash", f_ihash, "fill the opcode class (below 2.12)"),
	P("clearIhash", f_clear_ihash, "opcode class to 0"),
	P("addBrTarg", f_add_br_targ, "fill the address of PC-relative transfers with their target"),
	P("noUntakenEA", f_no_untaken_ea, "no address for untaken transfers"),
	P("cleanEA", f_clean_ea, "addresses that are not valid to 0"),
	P("clearUnused", f_clear_unused, "unused bits to 0"),
	P("clearMemBt", f_clear_mem_bt, "bt off on loads and stores"),
	P("maskAM", f_mask_am, "addresses to 32 bits while PSTATE.AM is set"),
	P("fixPrim", f_fix_prim, "PREG: primA from primD"),
	P("clearTime", f_clear_time, "time stamps to 0"),
	P("clearSlots", f_clear_slots, "REGVAL: unused slots to 0"),
	P("zeroWord", f_zero_word, "instruction words to 0 (RZ2 and RZ3 of foreign code)"),
	{ .name = "version", .rec = f_version, .setup = setup_version, .param = "X.Y", .help = "layouts of another version (2.13)" },
	P("user", f_user, "only user instructions"),
	P("priv", f_priv, "only privileged instructions"),
	P("hpriv", f_hpriv, "only hyperprivileged instructions"),
	P("noAnnul", f_no_annul, "without annulled instructions"),
	P("noTrapped", f_no_trapped, "without instructions that trapped"),
	P("instrOnly", f_instr_only, "header, level record and instructions alone"),
	P("noInstr", f_no_instr, "all but instructions"),
	P("memOnly", f_mem_only, "of the instructions only loads and stores"),
	P("branchOnly", f_branch_only, "of the instructions only transfers"),
	P("noNull", f_no_null, "without NULLREC"),
	P("noUnknown", f_no_unknown, "without types that this version does not know"),
	P("noStrings", f_no_strings, "without strings"),
	P("noTLB", f_no_tlb, "without TLB records"),
	P("noRegval", f_no_regval, "without register values"),
	P("noMemval", f_no_memval, "without memory values"),
	P("noTraps", f_no_traps, "without TRAP, TRAPEXIT and TRAPPING_INSTR"),
	P("noPavadiff", f_no_pavadiff, "without PAVADIFF"),
	P("noPreg", f_no_preg, "without PREG"),
	P("noPhysaddr", f_no_physaddr, "without PHYSADDR"),
	P("noBus", f_no_bus, "without BUSTRACE and SNOOP"),
	P("noDMA", f_no_dma, "without DMA"),
	P("noHwinfo", f_no_hwinfo, "without HWINFO"),
	P("noStatus", f_no_status, "without STATUS"),
	P("noCpuRecs", f_no_cpu_recs, "without CPU records"),
	P("noX86", f_no_x86, "without the bytes of x86 instructions"),
	P("noRFS", f_no_rfs, "without warming sections"),
	P("noProcess", f_no_process, "without PROCESS and THREAD"),
	P("noPatch", f_no_patch, "without what was patched in"),
	{ .name = "cpu", .rec = f_cpu, .setup = setup_cpus, .param = "LIST", .param_needed = true, .help = "only these cpus: 0,4-7" },
	{ .name = "first", .rec = f_first, .setup = parse_number, .param = "N", .param_needed = true, .help = "up to N instructions" },
	{ .name = "skip", .rec = f_skip, .setup = parse_number, .param = "N", .param_needed = true, .help = "without the first N instructions" },
	{ .name = "every", .rec = f_every, .setup = parse_number, .param = "N", .param_needed = true,
	  .help = "one instruction of N, gaps marked by RECNUM" },
	P("dedupPavadiff", f_dedup_pavadiff, "without PAVADIFF that repeat the last of their cpu"),
	P("pavadiffToPhys", f_to_physaddr, "PHYSADDR before each instruction instead of PAVADIFF"),
	P("physToPavadiff", f_to_pavadiff, "PAVADIFF instead of PHYSADDR"),
	P("renumCpu", f_renum_cpu, "cpus numbered 0, 1, 2 … as they appear"),
	P("cpuRecs", f_cpu_recs, "a CPU record at each change of cpu"),
	{ .name = "mpsort", .rec = f_mpsort, .end = flush_sorted, .setup = setup_mpsort, .param = "N",
	  .help = "runs of one cpu within N (10000) records, a CPU record before each" },
	{ .name = "mark", .rec = f_mark, .param = "TEXT", .param_needed = true, .help = "a string behind the header" },
	{ .name = "recnums", .rec = f_recnums, .setup = parse_number, .param = "N", .param_needed = true,
	  .help = "a RECNUM every N instructions" },
	{ .name = "addEof", .rec = f_pass, .end = end_eof, .help = "a STATUS record at the end" },
	P("null", f_pass, "nothing (to try the chain)"),
};
const size_t filter_table_size = ARRAY_SIZE(filter_table);

int filter_new(struct filter **ret, const char *spec)
{
	size_t len = strcspn(spec, "=");
	struct filter *f;
	int rc = -EINVAL;

	for (size_t i = 0; i < filter_table_size; i++) {
		const struct filter_ops *ops = &filter_table[i];

		if (strlen(ops->name) != len || memcmp(ops->name, spec, len))
			continue;
		if ((spec[len] && !ops->param) || (ops->param_needed && (!spec[len] || !spec[len + 1])))
			return -EINVAL;
		f = calloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		f->ops = ops;
		f->param = spec[len] ? spec + len + 1 : NULL;
		f->version = f->version_out = RST_VERSION;
		f->held = (struct strbuf)STRBUF_INIT;
		rc = ops->setup ? ops->setup(f) : 0;
		if (rc)
			filter_free(f);
		else
			*ret = f;
		return rc;
	}
	return -ENOENT;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	strbuf_done(&f->held);
	free(f);
}
