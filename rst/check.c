/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "format/rst/sparc.h"
#include "rst/check.h"

#define RING 16
#define LATE 4 /* a record is looked at again when this many followed */
#define MAX_CPUS 1024
#define MAX_NEST 32

static const struct rule {
	enum check_severity sev;
	const char *name;
} rules[CHECK_RULES] = {
	[1] = { CHECK_ERROR, "size" }, [2] = { CHECK_ERROR, "header" }, [3] = { CHECK_WARNING, "version" },
	[4] = { CHECK_WARNING, "level-record" }, [5] = { CHECK_ERROR, "type" }, [6] = { CHECK_ERROR, "string" },
	[7] = { CHECK_WARNING, "producer" }, [8] = { CHECK_WARNING, "unused-bits" }, [9] = { CHECK_ERROR, "pc-aligned" },
	[10] = { CHECK_WARNING, "pavadiff-first" }, [11] = { CHECK_WARNING, "pavadiff-instr" }, [13] = { CHECK_WARNING, "ea-diff" },
	[14] = { CHECK_NOTE, "memory-ea" }, [15] = { CHECK_WARNING, "stray-ea" }, [16] = { CHECK_WARNING, "branch-target" },
	[17] = { CHECK_NOTE, "untaken-ea" }, [18] = { CHECK_WARNING, "pc-continuity" }, [19] = { CHECK_WARNING, "annulled" },
	[20] = { CHECK_WARNING, "trap-bit" }, [21] = { CHECK_WARNING, "trap" }, [22] = { CHECK_WARNING, "syscall" },
	[23] = { CHECK_WARNING, "trapping" }, [25] = { CHECK_WARNING, "am" }, [26] = { CHECK_WARNING, "hpriv-priv" },
	[27] = { CHECK_WARNING, "prim" }, [28] = { CHECK_WARNING, "tlb" }, [29] = { CHECK_WARNING, "pairs" },
	[30] = { CHECK_ERROR, "memval" }, [31] = { CHECK_WARNING, "count" }, [32] = { CHECK_WARNING, "regval" },
	[33] = { CHECK_WARNING, "timestamp" }, [34] = { CHECK_WARNING, "cpu" }, [35] = { CHECK_WARNING, "rfs" },
	[36] = { CHECK_NOTE, "no-address" }, [37] = { CHECK_WARNING, "eof" }, [41] = { CHECK_WARNING, "x86" },
	[42] = { CHECK_NOTE, "no-slot" },
};

struct cpu_state {
	bool has_pa, has_ea_pa, am, has_pc, free_pc; /* free_pc: any pc may follow */
	bool returned;          /* npc is what follows the next instruction, wherever that is */
	bool slot_annul;        /* the next instruction is the slot of a branch that annuls it */
	bool in_slot_of_annul;  /* the last one had the annul bit */
	uint64_t pc, npc, timestamp;
	bool has_timestamp;
	uint64_t trap_pc[16], trap_npc[16]; /* of the last trap at each level */
};
struct nest {
	uint8_t type, id;
	uint64_t at;
	uint64_t length;
};
struct check {
	uint64_t mask;
	check_report_fn *report;
	void *arg;
	unsigned int version;
	bool bad_header, x86, has_producer, in_string, string_had_nul, saw_eof, done_producer;
	uint64_t n;             /* of the next record */
	uint64_t string_at, eof_at, pava_at[MAX_CPUS];
	uint8_t ring[RING][RST_REC_SIZE];
	struct cpu_state cpu[MAX_CPUS];
	struct nest nest[MAX_NEST];
	size_t n_nest;
	bool last_memval;       /* the record before was a MEMVAL */
	uint32_t ncpus;
	uint64_t gap_at, gap_end; /* the last RECNUM, and the first instruction behind it */
	uint64_t rfs_left, rfs_at;
	uint8_t rfs_section, x86_len;
	struct rst_string_joiner joiner;
};

const char *check_rule_name(unsigned int rule)
{
	return rule < CHECK_RULES && rules[rule].name ? rules[rule].name : "?";
}

static PRINTF_LIKE(4, 5) void say(struct check *c, unsigned int rule, uint64_t recno, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!(c->mask >> rule & 1))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->report(c->arg, rule, rules[rule].sev, recno, text);
}

int check_new(struct check **ret, uint64_t mask, check_report_fn *report, void *arg)
{
	struct check *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->mask = mask;
	c->report = report;
	c->arg = arg;
	c->version = RST_VERSION;
	*ret = c;
	return 0;
}

void check_free(struct check *c)
{
	free(c);
}

void check_set_am(struct check *c, bool am)
{
	for (size_t i = 0; i < MAX_CPUS; i++)
		c->cpu[i].am = am;
}

static const uint8_t *rec_at(const struct check *c, uint64_t n)
{
	return n < c->n && c->n - n <= RING ? c->ring[n % RING] : NULL;
}

/* --- the beginning and strings --------------------------------------------------------------------------- */

static void check_header(struct check *c, const uint8_t *rec)
{
	int v = rst_header_version(rec);
	unsigned int major, minor;

	if (v < 0) {
		say(c, 2, 0, "record 0 is no header");
		c->bad_header = true;
		return;
	}
	c->version = (unsigned int)v;
	if (v < 102 || v > (int)RST_VERSION)
		say(c, 3, 0, "version %u.%u is not a known one", rec[1], rec[2]);
	if (sscanf((const char *)rec + 4, "RST Header v%u.%u", &major, &minor) != 2)
		say(c, 3, 0, "the header's text has no version");
	else if (major != rec[1] || minor != rec[2])
		say(c, 3, 0, "the header's text says %u.%u, its bytes %u.%u", major, minor, rec[1], rec[2]);
}

static void check_string(struct check *c, const uint8_t *rec)
{
	unsigned int ncpus;

	if (rec[0] != RST_STRCONT && rec[0] != RST_STRDESC) {
		if (c->joiner.open)
			say(c, 6, c->n - 1, "a string is broken off by a record of type %u", rec[0]);
		c->joiner.open = false;
		return;
	}
	if (!rst_string_join(&c->joiner, rec))
		return;
	if (c->joiner.no_nul)
		say(c, 6, c->n, "a closing string record without NUL");
	if (!strcmp(c->joiner.text, "isa=x86-64"))
		c->x86 = true;
	if (sscanf(c->joiner.text, "blz::ncpus=%u", &ncpus) == 1 || sscanf(c->joiner.text, "ncpus=%u", &ncpus) == 1)
		c->ncpus = ncpus;
	/* A program with its version: name=V1.4, name::version=5.30, opjit 0.1.0, … */
	if (strpbrk(c->joiner.text, "0123456789") &&
	    (strstr(c->joiner.text, "ersion") || strstr(c->joiner.text, "=V") || strstr(c->joiner.text, "compiled against") ||
	     strstr(c->joiner.text, " v")))
		c->has_producer = true;
}

static void check_type(struct check *c, const uint8_t *rec)
{
	size_t n;

	if (c->n && rec[0] == RST_HEADER)
		say(c, 5, c->n, "a second header");
	else if (rec[0] <= RST_ONE)
		say(c, 5, c->n, "type %u is never valid", rec[0]);
	else if (rec[0] > 63)
		say(c, 5, c->n, "type %u is beyond the types in use", rec[0]);
	else if (rec[0] == RST_RFS_RST || (rec[0] != RST_NULLREC && !rst_rec_fields(rec[0], rec, c->version, &n)))
		say(c, 5, c->n, "type %u is not known in this version", rec[0]);
	if (!rst_rec_is_clean(rec, c->version))
		say(c, 8, c->n, "unused bits of a %s record are not zero", rst_type_name(rec[0], c->version));
	if (c->n == 1 && c->version >= 206 && (rec[0] != RST_TRACEINFO || rec[1] != RST_TRACEINFO_LEVEL))
		say(c, 4, 1, "record 1 is no level record");
	if (rec[0] == RST_INSTR && !c->done_producer) {
		c->done_producer = true;
		if (!c->has_producer)
			say(c, 7, c->n, "no string before the first instruction names the program that made the trace and its version");
	}
}

/* --- instructions ---------------------------------------------------------------------------------------- */

static void check_ea(struct check *c, const struct cpu_state *s, const uint8_t *rec, enum sparc_kind k)
{
	bool ea_valid = rec[1] & RST_I_EA;

	if (k == SPARC_MEMORY && !ea_valid)
		say(c, 14, c->n, "a load or store without its address");
	else if (k == SPARC_MEMORY && !s->has_ea_pa && s->has_pa)
		say(c, 13, c->n, "a load or store before any PA-VA of data of its cpu");
	else if (ea_valid && k == SPARC_OTHER && !(rec[1] & RST_I_TR))
		say(c, 15, c->n, "an address with an instruction that has none");
}

static void check_target(struct check *c, struct cpu_state *s, const uint8_t *rec, enum sparc_kind k)
{
	uint8_t f = rec[1];
	uint64_t pc = rst_instr_pc(rec), ea = rst_instr_ea(rec), to;
	bool ea_valid = f & RST_I_EA;

	to = pc + (uint64_t)sparc_disp(rst_instr_word(rec), k);
	if (s->am)
		to &= 0xffffffff;
	if (f & RST_I_BT) {
		if (!ea_valid && !(f & RST_I_TR))
			say(c, 16, c->n, "a taken transfer without its target");
		else if (ea_valid && sparc_is_pcrel(k) && ea != to)
			say(c, 16, c->n, "the target is 0x%" PRIx64 ", by its displacement 0x%" PRIx64, ea, to);
	} else if (ea_valid && ea != pc + 8 && (!sparc_is_pcrel(k) || ea != to)) {
		say(c, 17, c->n, "an untaken transfer with the address 0x%" PRIx64, ea);
	}
}

/* Moves the expected pc on over this instruction. */
static void step_pc(struct cpu_state *s, const uint8_t *rec, enum sparc_kind k)
{
	uint8_t f = rec[1];
	uint64_t pc = rst_instr_pc(rec), npc = s->has_pc && pc == s->pc ? s->npc : pc + 4;

	/* Back where a trap was taken, perhaps in a delay slot: the trap said what comes after. Else some producers put the pc
	 * after the next into the address of RETRY. */
	if (s->returned) {
		if (s->npc != pc)
			npc = s->npc;
		for (size_t i = 0; i < ARRAY_SIZE(s->trap_pc); i++)
			if (s->trap_pc[i] == pc)
				npc = s->trap_npc[i];
	}

	s->in_slot_of_annul = s->slot_annul = s->returned = false;
	s->pc = npc;
	s->npc = npc + 4;
	s->has_pc = true;
	s->free_pc = f & RST_I_TR || (k == SPARC_DONE_RETRY && !(f & RST_I_AN));
	if (f & RST_I_AN || (!sparc_is_transfer(k) && k != SPARC_DONE_RETRY))
		return;
	if (k == SPARC_DONE_RETRY && f & RST_I_EA && f & RST_I_BT) {
		s->npc = rst_instr_ea(rec);
		s->returned = true;
		return;
	}
	if (f & RST_I_BT && f & RST_I_EA)
		s->npc = rst_instr_ea(rec);
	if (k <= SPARC_BPR && sparc_has_annul(rst_instr_word(rec))) {
		s->in_slot_of_annul = true;
		s->slot_annul = !(f & RST_I_BT) || sparc_is_always(rst_instr_word(rec));
	}
}

static void check_pc(struct check *c, struct cpu_state *s, const uint8_t *rec, enum sparc_kind k)
{
	uint64_t pc = rst_instr_pc(rec);

	if (pc & 3)
		say(c, 9, c->n, "pc 0x%" PRIx64 " is not a multiple of 4", pc);
	if (s->has_pc && !s->free_pc && pc != s->pc) {
		/* Some producers leave the annulled slot out. */
		if (s->slot_annul && pc == s->npc) {
			say(c, 42, c->n, "the annulled slot before this instruction is left out");
			s->pc = pc;
			s->npc = pc + 4;
		} else {
			say(c, 18, c->n, "pc 0x%" PRIx64 " after one that leads to 0x%" PRIx64, pc, s->pc);
		}
	} else if (rec[1] & RST_I_AN && s->has_pc && !s->free_pc && !s->in_slot_of_annul) {
		say(c, 19, c->n, "annulled, but the instruction before is no branch that annuls");
	}
	if (rec[1] & RST_I_AN && rec[1] & RST_I_EA)
		say(c, 19, c->n, "annulled, and with an address");
	step_pc(s, rec, k);
}

static void check_instr(struct check *c, const uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, c->version);
	struct cpu_state *s = &c->cpu[cpu < 0 ? 0 : cpu];
	uint8_t f = rec[1];
	uint32_t w = rst_instr_word(rec);
	enum sparc_kind k = sparc_kind(w);

	if (!s->has_pa) {
		say(c, 10, c->n, "the first instruction of cpu %d has no PAVADIFF before it", cpu < 0 ? 0 : cpu);
		s->has_pa = s->has_ea_pa = true; /* said once */
	}
	if (c->version >= 212 && f & RST_I_HPRIV && f & RST_I_PR)
		say(c, 26, c->n, "both hyperprivileged and privileged");
	if (rst_addr_is_marker(rst_instr_pc(rec))) {
		say(c, 36, c->n, "the pc is a \"no address\" mark");
		return;
	}
	if (c->x86) {
		if (c->x86_len && f & RST_I_AN)
			say(c, 41, c->n, "x86 instructions are not annulled");
		return;
	}
	if (s->am && (rst_instr_pc(rec) >> 32 || (f & RST_I_EA && rst_instr_ea(rec) >> 32)))
		say(c, 25, c->n, "an address above 4 GiB though PSTATE.AM is set");
	if (!(f & RST_I_AN) && sparc_is_transfer(k))
		check_target(c, s, rec, k);
	else if (!(f & RST_I_AN))
		check_ea(c, s, rec, k);
	check_pc(c, s, rec, k);
}

/* --- traps, looked at when the records around are known ---------------------------------------------------- */

static const uint8_t *near(const struct check *c, uint64_t n, unsigned int before, unsigned int after, uint8_t type, int cpu)
{
	for (uint64_t i = n > before ? n - before : 0; i <= n + after; i++) {
		const uint8_t *r = i == n ? NULL : rec_at(c, i);

		if (r && r[0] == type && rst_rec_cpu(r, c->version) == cpu)
			return r;
	}
	return NULL;
}

static void late_trap(struct check *c, uint64_t n, const uint8_t *rec, int cpu)
{
	struct rst_rec t;
	const uint8_t *near_tr = NULL;

	rst_rec_decode(rec, c->version, &t);
	for (uint64_t i = n > 2 ? n - 2 : 0; i <= n + 2; i++) {
		const uint8_t *r = i == n ? NULL : rec_at(c, i);

		if (r && r[0] == RST_INSTR && r[1] & RST_I_TR && rst_rec_cpu(r, c->version) == cpu && rst_instr_pc(r) == t.u.trap.pc)
			near_tr = r;
	}
	if (!near_tr && !t.u.trap.is_async)
		say(c, 21, n, "no trapping instruction at pc 0x%" PRIx64 " near this trap", t.u.trap.pc);
	if (t.u.trap.ttype >= 0x200)
		say(c, 21, n, "trap type 0x%x is beyond 0x1ff", t.u.trap.ttype);
	if (!t.u.trap.syscall)
		return;
	if (t.u.trap.ttype != 0x108 && t.u.trap.ttype != 0x140)
		say(c, 22, n, "a system call number with trap type 0x%x", t.u.trap.ttype);
	else if (near_tr && !c->x86 && sparc_kind(rst_instr_word(near_tr)) != SPARC_TCC)
		say(c, 22, n, "a system call by an instruction that is no trap");
}

static void late_pavadiff(struct check *c, uint64_t n, int cpu)
{
	const uint8_t *r = NULL;

	/* Behind a gap the state of all cpus stands before the first instruction. */
	if (c->gap_at && n > c->gap_at && (c->gap_end < c->gap_at || n < c->gap_end))
		return;
	/* Others may stand between them that are not instructions: strings, register values. */
	for (uint64_t i = n + 1; i <= n + LATE && (r = rec_at(c, i)); i++)
		if (r[0] == RST_INSTR || r[0] == RST_PAVADIFF)
			break;
	if (r && r[0] == RST_INSTR && rst_rec_cpu(r, c->version) != cpu)
		say(c, 11, n, "a PAVADIFF of cpu %d before an instruction of cpu %d", cpu, rst_rec_cpu(r, c->version));
	else if (r && r[0] == RST_PAVADIFF && rst_rec_cpu(r, c->version) == cpu)
		say(c, 11, n, "a PAVADIFF that no instruction follows");
}

static void late(struct check *c, uint64_t n)
{
	const uint8_t *rec = rec_at(c, n);
	int cpu;

	if (!rec)
		return;
	cpu = rst_rec_cpu(rec, c->version);
	switch (rec[0]) {
	case RST_PAVADIFF:
		late_pavadiff(c, n, cpu);
		break;
	case RST_INSTR:
		if (rec[1] & RST_I_TR && !c->x86 && !near(c, n, 3, 3, RST_TRAP, cpu))
			say(c, 20, n, "an instruction that trapped, and no TRAP next to it");
		break;
	case RST_TRAP:
		late_trap(c, n, rec, cpu);
		break;
	case RST_TRAPPING_INSTR:
		if (!near(c, n, 0, 3, RST_TRAP, cpu))
			say(c, 23, n, "no TRAP of this cpu within 3 records");
		if (rec[1] & 0x08 && !(rec[1] & 0x10))
			say(c, 23, n, "a physical address without a virtual one");
		if (rec[1] & 0x20 && rst_be32(rec + 4))
			say(c, 23, n, "an instruction word though the fetch trapped");
		break;
	}
}

/* --- the other types --------------------------------------------------------------------------------------- */

static void check_pairs(struct check *c, const uint8_t *rec)
{
	bool patch = rec[0] == RST_PATCH, opens = patch ? rec[1] & 1 : rec[0] == RST_LEFTDELIM;
	uint8_t id = patch ? rec[3] : rec[1];
	struct nest *top = c->n_nest ? &c->nest[c->n_nest - 1] : NULL;
	uint64_t length = patch ? rst_be16(rec + 4) : rst_be32(rec + 4), inside;

	if (opens) {
		if (c->n_nest < MAX_NEST)
			c->nest[c->n_nest++] = (struct nest){ patch ? RST_PATCH : RST_LEFTDELIM, id, c->n, length };
		return;
	}
	if (!top || top->type != (patch ? RST_PATCH : RST_LEFTDELIM) || top->id != id) {
		say(c, 29, c->n, "an end (id %u) without its beginning", id);
		return;
	}
	inside = c->n - top->at - 1;
	if (patch && (top->length != inside || length != inside))
		say(c, 29, c->n, "a patch of %" PRIu64 " records says %" PRIu64 " and %" PRIu64, inside, top->length, length);
	if (!patch && top->length != inside * RST_REC_SIZE)
		say(c, 29, c->n, "%" PRIu64 " bytes between the delimiters, said were %" PRIu64, inside * RST_REC_SIZE, top->length);
	c->n_nest--;
}

static void check_memval(struct check *c, const uint8_t *rec)
{
	uint8_t zero = rec[1] & (rec[1] & 0x80 ? 0x1c : 0x3c);

	if (zero)
		say(c, 30, c->n, "bits that must be zero are not");
	if (!(rec[1] & 0x80) && ((rec[3] & 15) < 1 || (rec[3] & 15) > 8))
		say(c, 30, c->n, "a value of %u bytes", rec[3] & 15);
	if (rec[1] & 0x80 && rec[1] & 0x20 && !c->last_memval)
		say(c, 30, c->n, "a continuation without a memory value before it");
}

static void check_regval(struct check *c, const uint8_t *rec)
{
	for (unsigned int i = 0; i < 2; i++) {
		uint8_t type = rec[2 + i], id = rec[4 + i];

		if (type < 1 || type > 9)
			say(c, 32, c->n, "register type %u is not known", type);
		if (!c->x86 && type == 1 && id == 0 && rst_be64(rec + 8 + 8 * i))
			say(c, 32, c->n, "%%g0 is not zero");
		if (type == 2 && id >= 64 && i == 1)
			say(c, 32, c->n, "a quad float in the second slot");
		if (type == 2 && id >= 64 && i == 0 && rec[3] != 5 && rec[3] != 6)
			say(c, 32, c->n, "a quad float with another register beside it");
	}
}

static void check_rfs(struct check *c, const uint8_t *rec)
{
	uint64_t count = rst_be64(rec + 8);

	if (c->rfs_section && c->rfs_section != RST_RFS_RST && c->rfs_left)
		say(c, 35, c->n, "the section before lacks %" PRIu64 " records", c->rfs_left);
	if (c->rfs_section == RST_RFS_RST)
		say(c, 35, c->n, "a section after the one of records");
	if (rec[1] < RST_RFS_CW || rec[1] > RST_RFS_RST)
		say(c, 35, c->n, "a section of type %u", rec[1]);
	if (count == INT64_MAX && rec[1] != RST_RFS_RST)
		say(c, 35, c->n, "only the section of records may have an unknown count");
	c->rfs_section = rec[1];
	c->rfs_left = count;
	c->rfs_at = c->n;
}

static void check_rfs_count(struct check *c, const uint8_t *rec)
{
	if (!c->rfs_section || rec[0] == RST_RFS_HEADER)
		return;
	if (c->rfs_left)
		c->rfs_left -= c->rfs_left != INT64_MAX;
	else if (c->rfs_section == RST_RFS_RST)
		say(c, 35, c->n, "more records than the section's count"), c->rfs_section = 0;
	else if (rec[0] == c->rfs_section)
		say(c, 35, c->n, "more records than the section's count"), c->rfs_section = 0;
	else
		c->rfs_section = 0;
	if (c->rfs_section && c->rfs_section != RST_RFS_RST && rec[0] != c->rfs_section)
		say(c, 35, c->rfs_at, "the section lacks %" PRIu64 " records", c->rfs_left + 1), c->rfs_section = 0;
}

static void check_cpu_no(struct check *c, const uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, c->version);

	if (cpu >= MAX_CPUS)
		say(c, 34, c->n, "cpu %d is beyond 1,023", cpu);
	else if (cpu >= 0 && rec[0] != RST_HEADER && c->ncpus && (uint32_t)cpu >= c->ncpus)
		say(c, 34, c->n, "cpu %d, but the trace says it has %u", cpu, c->ncpus);
}

/* Records that change what is known of a cpu. */
static void take_state(struct check *c, const uint8_t *rec)
{
	int cpu = rst_rec_cpu(rec, c->version);
	struct cpu_state *s = &c->cpu[cpu < 0 || cpu >= MAX_CPUS ? 0 : cpu];
	uint64_t t;

	if (rec[0] == RST_INSTR && c->gap_end < c->gap_at)
		c->gap_end = c->n;
	switch (rec[0]) {
	case RST_PREG:
		s->am = rst_be16(rec + 6) & RST_PSTATE_AM;
		if (rst_be16(rec + 16) != rst_be16(rec + 20))
			say(c, 27, c->n, "primA 0x%x is not primD 0x%x", rst_be16(rec + 16), rst_be16(rec + 20));
		break;
	case RST_PAVADIFF:
		s->has_pa = true;
		s->has_ea_pa |= rec[1] >> 7;
		break;
	case RST_PHYSADDR:
		s->has_pa = true;
		s->has_ea_pa = true;
		break;
	case RST_TRAP:
		s->free_pc = true;
		s->returned = false;
		s->trap_pc[rec[1] & 15] = rst_be64(rec + 8);
		s->trap_npc[rec[1] & 15] = rst_be64(rec + 16);
		break;
	case RST_FILEMARKER:
		c->gap_at = c->n;
		for (size_t i = 0; i < MAX_CPUS; i++)
			c->cpu[i].has_pc = false;
		break;
	case RST_CPU:
		t = rst_be64(rec + 16);
		if (s->has_timestamp && t < s->timestamp)
			say(c, 33, c->n, "time runs back from 0x%" PRIx64 " to 0x%" PRIx64, s->timestamp, t);
		s->timestamp = t;
		s->has_timestamp = true;
		break;
	}
}

static void check_rest(struct check *c, const uint8_t *rec)
{
	switch (rec[0]) {
	case RST_INSTR: check_instr(c, rec); break;
	case RST_PATCH: case RST_LEFTDELIM: case RST_RIGHTDELIM: check_pairs(c, rec); break;
	case RST_MEMVAL: check_memval(c, rec); break;
	case RST_REGVAL: check_regval(c, rec); break;
	case RST_RFS_HEADER: check_rfs(c, rec); break;
	case RST_DMA:
		if (!rst_be32(rec + 4))
			say(c, 31, c->n, "a DMA of 0 bytes");
		break;
	case RST_HWINFO:
		if (rst_be16(rec + 4) >= MAX(rst_be16(rec + 6), 1))
			say(c, 31, c->n, "entry %u of %u", rst_be16(rec + 4), rst_be16(rec + 6));
		break;
	case RST_TLB:
		if (!(rec[1] & 0x80) && rst_be64(rec + 16) >> 63 && rst_be64(rec + 16) >> 61 == 7 && rst_be64(rec + 16) << 3 == 0)
			say(c, 28, c->n, "a valid entry that maps nothing");
		break;
	case RST_STATUS:
		if (c->saw_eof && rec[1] == 2)
			say(c, 37, c->n, "a second end of file");
		if (rec[1] == 2 && !c->saw_eof) {
			c->saw_eof = true;
			c->eof_at = c->n;
		}
		break;
	case RST_X86_INSTR:
		if (!rec[1] || rec[1] > 15)
			say(c, 41, c->n, "an x86 instruction of %u bytes", rec[1]);
		break;
	}
}

void check_record(struct check *c, const uint8_t rec[RST_REC_SIZE])
{
	const uint8_t *before = c->n ? rec_at(c, c->n - 1) : NULL;

	if (!c->n)
		check_header(c, rec);
	check_string(c, rec);
	check_type(c, rec);
	check_rfs_count(c, rec);
	check_cpu_no(c, rec);
	if (c->saw_eof && c->eof_at + 1 == c->n)
		say(c, 37, c->eof_at, "the end of file is not the last record");
	if (before && before[0] == RST_X86_INSTR && rec[0] != RST_INSTR)
		say(c, 41, c->n - 1, "instruction bytes that no instruction follows");
	if (rec[0] == RST_INSTR)
		c->x86_len = before && before[0] == RST_X86_INSTR ? before[1] : 0;
	if (rec[0] == RST_INSTR && before && before[0] == RST_X86_INSTR && memcmp(before + 8, rec + 4, 4))
		say(c, 41, c->n, "the instruction's word is not the first of its bytes");
	check_rest(c, rec);
	take_state(c, rec);
	c->last_memval = rec[0] == RST_MEMVAL;
	memcpy(c->ring[c->n % RING], rec, RST_REC_SIZE);
	c->n++;
	if (c->n > LATE)
		late(c, c->n - 1 - LATE);
}

void check_end(struct check *c, size_t n_fragment)
{
	for (uint64_t i = c->n > LATE ? c->n - LATE : 0; i < c->n; i++)
		late(c, i);
	if (n_fragment)
		say(c, 1, c->n, "%zu bytes are left over behind the last record", n_fragment);
	if (!c->n)
		say(c, 2, 0, "no records");
	if (c->joiner.open)
		say(c, 6, c->n - 1, "the trace ends within a string");
	for (size_t i = 0; i < c->n_nest; i++)
		say(c, 29, c->nest[i].at, "a beginning (id %u) without its end", c->nest[i].id);
	if (c->rfs_section && c->rfs_left && c->rfs_left != INT64_MAX)
		say(c, 35, c->rfs_at, "the section lacks %" PRIu64 " records", c->rfs_left);
}
