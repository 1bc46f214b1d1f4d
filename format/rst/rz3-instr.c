/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RZ3: the prediction of instruction records. */
#include <errno.h>

#include "format/rst/rz3.h"

/* The hit bits of one instruction. The writer gathers them, the reader has them from the start. */
struct hits {
	bool enc;
	uint8_t bits;
};
enum { H_PC, H_WORD, H_BT, H_AN, H_TR, H_PR, H_EA, H_HPRIV };

static inline bool hit(struct hits *h, unsigned int bit, bool v)
{
	if (h->enc)
		h->bits |= (uint8_t)(v << bit);
	return h->bits >> bit & 1;
}

static void ras_push(struct rz3_cpu *s, uint64_t pc)
{
	s->ras_top = (s->ras_top + 1) % RZ3_RAS;
	s->ras[s->ras_top] = pc;
	if (s->ras_depth < RZ3_RAS)
		s->ras_depth++;
}

static uint64_t ras_pop(struct rz3_cpu *s)
{
	uint64_t v;

	if (!s->ras_depth)
		return 0;
	v = s->ras[s->ras_top];
	s->ras_top = (s->ras_top + RZ3_RAS - 1) % RZ3_RAS;
	s->ras_depth--;
	return v;
}

static struct rz3_word_entry *word_find(struct rz3_cpu *s, uint64_t pc)
{
	uint64_t tag = pc >> 2;
	size_t set = tag % RZ3_WORD_SETS;

	for (unsigned int i = 0; i < 2; i++) {
		if (s->word[set][i].tag == tag) {
			s->word_lru[set] = !i;
			return &s->word[set][i];
		}
	}
	return NULL;
}

static struct rz3_word_entry *word_store(struct rz3_cpu *s, struct rz3_word_entry *old, uint64_t pc, uint32_t word, bool annulled)
{
	enum sparc_kind k = sparc_kind(word);
	struct rz3_word_entry *e = old;

	if (!e)
		e = &s->word[(pc >> 2) % RZ3_WORD_SETS][s->word_lru[(pc >> 2) % RZ3_WORD_SETS]];
	e->tag = pc >> 2;
	e->word = word;
	e->target = !annulled && sparc_is_pcrel(k) ? pc + (uint64_t)sparc_disp(word, k) : 0;
	return e;
}

static void set_npc(struct rz3_cpu *s, uint64_t npc)
{
	s->pred_npc = s->amask ? npc & 0xffffffff : npc;
}

static void jump(struct rz3_cpu *s, uint32_t w, uint64_t pc, uint64_t ea, bool ea_hit)
{
	if (sparc_is_ret(w)) {
		set_npc(s, ras_pop(s) + 8);
		if (!ea_hit)
			s->ras_depth = s->ras_top = 0;
	} else if (sparc_rd(w) == 15) {
		ras_push(s, pc);
		s->call_slot = 1;
		set_npc(s, s->jump[(pc >> 2) % 2048]);
		if (!ea_hit)
			s->jump[(pc >> 2) % 2048] = ea;
	}
}

struct transfer {
	uint32_t w;
	enum sparc_kind k;
	bool branch, always, never, conditional, bt, ea_hit;
	uint64_t pc, ea;
};

/* Writer: whether the address will be what transfer() comes to. The jump table and the return stack need to know before. */
static bool ea_will_hit(const struct rz3_cpu *s, const struct transfer *t, uint64_t target)
{
	uint64_t npc = s->pred_npc;

	if ((t->conditional && t->bt) || t->always || t->k == SPARC_CALL)
		npc = target;
	else if (t->k == SPARC_JMPL && sparc_is_ret(t->w))
		npc = (s->ras_depth ? s->ras[s->ras_top] : 0) + 8;
	else if (t->k == SPARC_JMPL && sparc_rd(t->w) == 15)
		npc = s->jump[(t->pc >> 2) % 2048];
	return (s->amask ? npc & 0xffffffff : npc) == t->ea;
}

static void conditional(struct rz3_cpu *s, struct hits *h, struct transfer *t, uint64_t target)
{
	uint8_t *n = &s->counter[(t->pc >> 2) % 16384];
	bool pred = *n >= 2;

	t->bt = hit(h, H_BT, pred == t->bt) ? pred : !pred;
	if (t->bt && *n < 3)
		(*n)++;
	else if (!t->bt && *n)
		(*n)--;
	if (t->bt)
		set_npc(s, target);
}

static void unconditional(struct rz3_cpu *s, struct hits *h, struct transfer *t, uint64_t target)
{
	t->bt = hit(h, H_BT, t->bt);
	if (t->always || t->k == SPARC_CALL)
		set_npc(s, target);
	if (t->k == SPARC_CALL) {
		ras_push(s, t->pc);
		s->call_slot = 1;
	}
	if (t->k == SPARC_JMPL)
		jump(s, t->w, t->pc, t->ea, t->ea_hit);
}

/* A transfer of control that was not annulled. Sets bt, ea_valid and ea_va. */
static void transfer(struct rz3 *c, struct rz3_cpu *s, struct hits *h, const struct rz3_word_entry *e, uint64_t pc, uint8_t *rec,
		     uint8_t in)
{
	struct transfer t = { .w = e->word, .k = sparc_kind(e->word), .pc = pc, .ea = rst_instr_ea(rec), .bt = in & RST_I_BT };
	bool ea_valid;

	t.branch = t.k >= SPARC_BICC && t.k <= SPARC_BPR;
	t.always = t.branch && sparc_is_always(t.w);
	t.never = t.branch && sparc_is_never(t.w) && c->minor > 17;
	t.conditional = t.branch && !t.always && !t.never;
	ea_valid = hit(h, H_EA, in & RST_I_EA);
	t.ea_hit = rz3_bit(c, RZ3_CTI_EA_HIT, c->enc && ea_will_hit(s, &t, e->target));
	if (!t.ea_hit)
		t.ea = rz3_io(c, RZ3_RAW64, t.ea);
	set_npc(s, s->pred_npc);
	if (t.conditional)
		conditional(s, h, &t, e->target);
	else if (t.never)
		t.bt = !hit(h, H_BT, !t.bt);
	else
		unconditional(s, h, &t, e->target);
	if (t.ea_hit)
		t.ea = s->pred_npc;
	else
		s->pred_npc = t.ea;
	if (t.branch && sparc_has_annul(t.w) && (!t.conditional || !t.bt))
		s->pred_an = 1; /* it stays until an instruction that is no transfer ran */
	rec[1] |= (uint8_t)((t.bt ? RST_I_BT : 0) | (ea_valid ? RST_I_EA : 0));
	rst_put64(rec + 16, t.ea);
}

static void finish_pavadiff(struct rz3_cpu *s, uint64_t pc, const uint8_t *instr)
{
	uint8_t *p = s->pending;
	uint64_t *slot = &s->pd_i[(pc >> 13) % 512];

	s->pending = NULL;
	if (s->pend_pc)
		rst_put64(p + 8, *slot << 13);
	else
		*slot = rst_be64(p + 8) >> 13;
	if (!(p[1] & 0x80) || !(instr[1] & RST_I_EA))
		return;
	slot = &s->pd_d[(rst_instr_ea(instr) >> 13) % 2048];
	if (s->pend_ea)
		rst_put64(p + 16, *slot << 13);
	else
		*slot = rst_be64(p + 16) >> 13;
}

static uint64_t code_pc(struct rz3 *c, struct rz3_cpu *s, struct hits *h, uint64_t pc)
{
	if (hit(h, H_PC, pc == s->pred_pc)) {
		pc = s->pred_pc;
	} else {
		pc = rz3_io(c, RZ3_RAW64, pc);
		if ((uint32_t)pc == (uint32_t)s->pred_pc)
			s->amask = pc >> 32 == 0;
		s->pred_npc = pc + 4;
	}
	s->pred_pc = s->pred_npc;
	s->pred_npc += 4;
	s->prev_pc = pc;
	return pc;
}

static const struct rz3_word_entry *code_word(struct rz3 *c, struct rz3_cpu *s, struct hits *h, uint64_t pc, uint32_t word, bool an)
{
	struct rz3_word_entry *e = word_find(s, pc);

	if (hit(h, H_WORD, e && e->word == word)) {
		if (e)
			return e;
		c->error = -EBADMSG; /* reader: a hit where nothing is stored */
		c->fault = "an instruction word is said to be known and is not";
		word = 0;
	} else {
		word = (uint32_t)rz3_io(c, RZ3_WORD, word);
	}
	return word_store(s, e, pc, word, an);
}

/* an, tr, hpriv and pr: what decides on them is known before the rest. */
static uint8_t code_flags(struct rz3 *c, struct rz3_cpu *s, struct hits *h, uint8_t flags)
{
	bool hpriv, pr, tr;

	tr = !hit(h, H_TR, !(flags & RST_I_TR));
	hpriv = flags & RST_I_HPRIV;
	if (c->wide) {
		hpriv = hit(h, H_HPRIV, hpriv == s->pred_hpriv) ? s->pred_hpriv : !s->pred_hpriv;
		s->pred_hpriv = hpriv;
		if (hpriv)
			s->pred_pr = 0;
	}
	pr = flags & RST_I_PR;
	pr = hit(h, H_PR, pr == s->pred_pr) ? s->pred_pr : !s->pred_pr;
	s->pred_pr = pr;
	return (uint8_t)((tr ? RST_I_TR : 0) | (hpriv && c->wide ? RST_I_HPRIV : 0) | (pr ? RST_I_PR : 0));
}

static void straight(struct rz3 *c, struct rz3_cpu *s, struct hits *h, uint32_t w, uint8_t *rec, uint8_t in)
{
	bool done = sparc_kind(w) == SPARC_DONE_RETRY;
	bool pred_ea = w >> 30 == 3 || done || rec[1] & RST_I_TR;
	bool bt = in & RST_I_BT, ea_valid = in & RST_I_EA;

	bt = hit(h, H_BT, bt == done) ? done : !done;
	ea_valid = hit(h, H_EA, ea_valid == pred_ea) ? pred_ea : !pred_ea;
	if (ea_valid)
		rst_put64(rec + 16, rz3_value(c, s, rst_instr_ea(rec)));
	else
		rst_put64(rec + 16, 0);
	s->pred_an = 0;
	rec[1] |= (uint8_t)((bt ? RST_I_BT : 0) | (ea_valid ? RST_I_EA : 0));
}

/* What did not run has no bt, no ea; its hit bits say how the record stood to the usual prediction and are not read. */
static void annulled(struct hits *h, uint32_t w, uint8_t *rec, uint8_t in)
{
	bool done = sparc_kind(w) == SPARC_DONE_RETRY;

	hit(h, H_BT, !!(in & RST_I_BT) == done);
	hit(h, H_EA, !!(in & RST_I_EA) == (w >> 30 == 3 || done || rec[1] & RST_I_TR));
	rst_put64(rec + 16, 0);
}

void rz3_instr(struct rz3 *c, uint8_t *in)
{
	uint8_t full = c->wide ? 0xff : 0x7f, rec[RST_REC_SIZE];
	struct hits h = { .enc = c->enc };
	unsigned int cpu = rz3_cpu_no(c, c->pcpu, c->enc ? (unsigned int)rst_rec_cpu(in, c->version) : 0);
	const struct rz3_word_entry *e;
	struct rz3_cpu *s;
	uint64_t pc;
	uint8_t flags;
	bool an;

	c->pcpu = cpu + 1 < RZ3_MAX_CPUS && c->cpus[cpu + 1] ? cpu + 1 : 0;
	c->lcpu = cpu;
	s = rz3_cpu_state(c, cpu);
	if (!s)
		return;
	if (!c->enc)
		h.bits = rz3_bit(c, RZ3_ALL_HIT, false) ? full : (uint8_t)rz3_io(c, RZ3_HITS, 0);
	memcpy(rec, in, sizeof(rec)); /* the writer's caller keeps its record */
	pc = code_pc(c, s, &h, rst_instr_pc(rec));
	an = rec[1] & RST_I_AN;
	an = hit(&h, H_AN, an == s->pred_an) ? s->pred_an : !s->pred_an;
	e = code_word(c, s, &h, pc, rst_instr_word(rec), an);
	if (s->call_slot && (sparc_is_restore(e->word) || e->word == 0x9e100001))
		ras_pop(s);
	s->call_slot = 0;
	flags = in[1];
	rec[1] = code_flags(c, s, &h, flags);
	if (an) {
		annulled(&h, e->word, rec, flags);
		rec[1] |= RST_I_AN;
	} else if (sparc_is_transfer(sparc_kind(e->word))) {
		transfer(c, s, &h, e, pc, rec, flags);
	} else {
		straight(c, s, &h, e->word, rec, flags);
	}
	if (c->enc) {
		rz3_bit(c, RZ3_ALL_HIT, h.bits == full);
		if (h.bits != full)
			rz3_io(c, RZ3_HITS, h.bits);
		return;
	}
	rec[0] = RST_INSTR;
	rst_put32(rec + 4, e->word);
	rst_put64(rec + 8, pc);
	rst_rec_set_cpu(rec, c->version, cpu);
	memcpy(in, rec, sizeof(rec));
	if (s->pending)
		finish_pavadiff(s, pc, in);
}
