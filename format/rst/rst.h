/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_RST_H
#define OPJIT_FORMAT_RST_RST_H
/*
 * RST instruction traces: a run of 24-byte big-endian records, the first byte of each is its type. This header has the
 * records as structs and the pure codecs between the two; nothing here allocates, opens or prints. Offset tables, the
 * version history and where each fact comes from: doc/format-rst.md.
 *
 *	struct rst_rec r;
 *	rst_rec_decode(bytes, version, &r);
 *	if (r.rtype == RST_INSTR)
 *		… r.u.instr.pc_va …
 *
 * A version is a number major * 100 + minor: 2.9 is 209, 1.10 is 110. It comes from the header record
 * (rst_header_version). Bits that a version does not use are ignored on decoding and written as 0.
 * Everything is thread-safe.
 */
#include <string.h>

#include "lib/util.h"

#define RST_REC_SIZE 24
#define RST_VERSION 213u           /* the newest version known, and what our writers write */
#define RST_MAX_STRING 8191        /* characters of a joined string */

enum rst_type {
	RST_ZERO = 0, RST_ONE = 1, RST_HEADER = 2, RST_INSTR = 3, RST_TRACEINFO = 4, RST_TLB = 5, RST_THREAD = 6,
	RST_TRAP = 7, RST_TRAPEXIT = 8, RST_REGVAL = 9, RST_CPU = 11, RST_PROCESS = 12, RST_DMA = 13, RST_STRDESC = 14,
	RST_LEFTDELIM = 15, RST_RIGHTDELIM = 16, RST_PREG = 17, RST_PHYSADDR = 18, RST_PAVADIFF = 19, RST_NULLREC = 20,
	RST_STRCONT = 21, RST_FILEMARKER = 22, RST_STATUS = 23, RST_PATCH = 24, RST_HWINFO = 25, RST_MEMVAL = 26,
	RST_BUSTRACE = 27, RST_SNOOP = 28, RST_TSB_ACCESS = 29, RST_RFS_HEADER = 30, RST_RFS_CW = 31, RST_RFS_BT = 32,
	RST_RFS_RST = 33, /* only a section's type, never a record */
	RST_TRAPPING_INSTR = 34,
	/* Ours, in the room for private types; other readers skip them. */
	RST_X86_INSTR = 48, /* bytes of the x86 instruction in the INSTR that follows */
};

#define RST_TRACEINFO_LEVEL 2
#define RST_MEMVAL_64 0
#define RST_MEMVAL_128 1

struct rst_header { uint8_t major, minor, percent; uint8_t text[20]; };
struct rst_instr {
	uint8_t ea_valid, tr, hpriv, pr, bt, an;
	uint16_t cpu, ihash;
	uint32_t instr;
	uint64_t pc_va, ea_va;
};
struct rst_traceinfo { uint8_t subtype; uint16_t level; uint32_t val; uint64_t time; uint8_t data[22]; };
struct rst_tlb { uint8_t demap, is_data, valid, unit; uint16_t cpu, index, state; uint64_t tag, data; };
struct rst_thread { uint16_t icontext; uint64_t tid; };
struct rst_trap { uint8_t is_async, tl; uint16_t cpu, ttype, pstate, syscall; uint64_t pc, npc; };
struct rst_trapexit { uint8_t tl; uint16_t cpu; uint32_t tstate; uint64_t pc, npc; };
struct rst_regval { uint8_t post, regtype[2], regid[2]; uint16_t cpu; uint64_t value[2]; };
struct rst_cpu { uint32_t cpu; uint64_t timestamp; };
struct rst_process { uint32_t old_pid, new_pid, old_context, new_context; };
struct rst_dma { uint8_t iswrite; uint32_t nbytes; uint64_t start_pa; };
struct rst_string { uint8_t text[23]; };
struct rst_delim { uint8_t id; uint16_t what; uint32_t length; };
struct rst_preg {
	uint8_t asi, traplevel, traptype;
	uint16_t cpu, last_context, pstate, prim_a, sec_a, prim_d, sec_d;
};
struct rst_physaddr { uint8_t ea_valid; uint16_t cpu; uint64_t pc_pa, ea_pa; };
struct rst_pavadiff { uint8_t ea_valid; uint16_t cpu, context, icontext, dcontext; uint64_t pc_pa_va, ea_pa_va; };
struct rst_filemarker { uint8_t is_recnum, level, rec_type; uint16_t cpu; uint64_t incount, outcount; };
struct rst_status { uint8_t status, analyzer, command; };
struct rst_patch { uint8_t is_begin, rewindrecs, id; uint16_t length; uint8_t descr[16]; };
struct rst_hwinfo { uint8_t sim, category, infotype; uint16_t index, count; uint64_t val, val2; };
struct rst_memval {
	uint8_t is128, addr_is_va, is_cont, size;
	uint8_t addr36;    /* 128: address bits 43:36 */
	uint16_t cpu;
	uint32_t addr4;    /* 128: address bits 35:4 */
	uint64_t addr, value;
	uint8_t bytes[16]; /* 128: the memory */
};
struct rst_bustrace {
	uint8_t dirtyvictim, shared, owned, memcancel, kind, transaction, tdiff, is_ns;
	uint16_t agent;
	uint32_t timestamp;
	uint64_t specific, pa;
};
struct rst_snoop { uint8_t request; uint16_t device, device_type; uint32_t size; uint64_t pa; };
struct rst_tsb { uint8_t isdata; uint16_t cpu; uint64_t pa, va; };
struct rst_rfs_header { uint8_t section; uint64_t count; };
struct rst_rfs_cw {
	uint8_t reftype, asi, va_valid, fcn;
	uint16_t cpu;
	uint32_t dma_size;
	uint64_t va, pa;
};
struct rst_rfs_bt { uint8_t taken; uint16_t cpu; uint32_t instr; uint64_t pc, npc; };
struct rst_trapping_instr {
	uint8_t hpriv, priv, iftrap, ea_va_valid, ea_pa_valid;
	uint16_t cpu;
	uint32_t instr;
	uint64_t pc_va, ea_va;
};
struct rst_x86 { uint8_t length, mem_size, flags; uint8_t bytes[15]; };
struct rst_raw { uint8_t data[23]; };

struct rst_rec {
	uint8_t rtype;
	union {
		struct rst_header header;
		struct rst_instr instr;
		struct rst_traceinfo traceinfo;
		struct rst_tlb tlb;
		struct rst_thread thread;
		struct rst_trap trap;
		struct rst_trapexit trapexit;
		struct rst_regval regval;
		struct rst_cpu cpu;
		struct rst_process process;
		struct rst_dma dma;
		struct rst_string string;   /* STRDESC, STRCONT */
		struct rst_delim delim;     /* LEFTDELIM, RIGHTDELIM */
		struct rst_preg preg;
		struct rst_physaddr physaddr;
		struct rst_pavadiff pavadiff;
		struct rst_filemarker filemarker;
		struct rst_status status;
		struct rst_patch patch;
		struct rst_hwinfo hwinfo;
		struct rst_memval memval;
		struct rst_bustrace bustrace;
		struct rst_snoop snoop;
		struct rst_tsb tsb;
		struct rst_rfs_header rfs_header;
		struct rst_rfs_cw rfs_cw;
		struct rst_rfs_bt rfs_bt;
		struct rst_trapping_instr trapping;
		struct rst_x86 x86;
		struct rst_raw raw;         /* types without a layout */
	} u;
};

/* One field of a layout: where it is in the record and in struct rst_rec. */
struct rst_field {
	const char *name;
	uint16_t offset;         /* in struct rst_rec */
	uint8_t size;            /* bytes there; with is_bytes the length */
	uint8_t bit, width;      /* from the most significant bit of byte 0; width 0 = none */
	uint8_t hi_bit, hi_width; /* further high-order bits, or width 0 */
	bool is_bytes;           /* text or raw bytes */
	bool is_hex;             /* how a person wants to see it */
};
/* The fields of a record of that type in that version; *n = 0 (and NULL) for types without a layout or that the
 * version does not know. `rec` (may be NULL) selects among the forms of MEMVAL, TRACEINFO and RFS_CW. */
const struct rst_field *rst_rec_fields(uint8_t rtype, const uint8_t *rec, unsigned int version, size_t *n);

/* 0, or -EPROTONOSUPPORT for a type without a layout (then u.raw holds the other 23 bytes). Never fails otherwise. */
int rst_rec_decode(const uint8_t rec[RST_REC_SIZE], unsigned int version, struct rst_rec *ret);
/* 0; -ERANGE if a value does not fit its field, with the field's name in *bad (may be NULL); rec is then undefined.
 * A type without a layout is written from u.raw. */
int rst_rec_encode(const struct rst_rec *r, unsigned int version, uint8_t rec[RST_REC_SIZE], const char **bad);
/* The value of a field that is a number. */
uint64_t rst_field_get(const struct rst_field *f, const uint8_t rec[RST_REC_SIZE]);
/* Sets a number field in place; the value is cut to the width. */
void rst_field_set(const struct rst_field *f, uint8_t rec[RST_REC_SIZE], uint64_t value);
/* The field of that name, or NULL. */
const struct rst_field *rst_field_find(uint8_t rtype, const uint8_t *rec, unsigned int version, const char *name);

/* Whether the bits that the version does not use are all 0 (header and string tails behind the NUL included). */
bool rst_rec_is_clean(const uint8_t rec[RST_REC_SIZE], unsigned int version);
/* The cpu a record belongs to, or -1 if its type has none in that version. */
int rst_rec_cpu(const uint8_t rec[RST_REC_SIZE], unsigned int version);
void rst_rec_set_cpu(uint8_t rec[RST_REC_SIZE], unsigned int version, unsigned int cpu);
/* "instr", "pavadiff", …; "preg" or "context" by version; "unknown". Never NULL. */
const char *rst_type_name(uint8_t rtype, unsigned int version);
/* The type of a name as above, or -1. */
int rst_type_of_name(const char *name);

/* The version of a header record, or -EBADMSG if it is none. */
int rst_header_version(const uint8_t rec[RST_REC_SIZE]);
void rst_header_make(uint8_t rec[RST_REC_SIZE], unsigned int version);
/* What a reader of version `reader` can do with a trace: 0 the same, 2 partly compatible, 4 not. */
int rst_version_compare(unsigned int reader, unsigned int trace);
/* "No address" markers in address fields. */
static inline bool rst_addr_is_marker(uint64_t a) { return (a & 1) && (a >> 8) == 0x314159; }

/* --- strings: zero or more STRCONT and one STRDESC ------------------------------------------------------- */
struct rst_string_joiner {
	char text[RST_MAX_STRING + 1];
	size_t len;
	bool open;      /* a STRCONT came and its STRDESC has not */
	bool too_long;  /* what is beyond the limit was dropped */
	bool no_nul;    /* the STRDESC had no NUL */
};
/* True when `rec` closes a string, which is then in j->text; the next record starts anew. */
bool rst_string_join(struct rst_string_joiner *j, const uint8_t rec[RST_REC_SIZE]);
/* How many records a string of len characters takes, and writes them; len ≤ RST_MAX_STRING. */
static inline size_t rst_string_n_recs(size_t len) { return (len + 1 + 22) / 23; }
void rst_string_make(uint8_t *recs, const char *text, size_t len);

/* --- single fields of raw records, for the hot paths ------------------------------------------------------ */
static inline uint16_t rst_be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t rst_be32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return __builtin_bswap32(v);
}
static inline uint64_t rst_be64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return __builtin_bswap64(v);
}
static inline void rst_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static inline void rst_put32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, 4);
}
static inline void rst_put64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, 8);
}
/* Flag bits in byte 1 of INSTR. */
#define RST_I_EA 0x40
#define RST_I_TR 0x20
#define RST_I_HPRIV 0x10
#define RST_I_PR 0x08
#define RST_I_BT 0x04
#define RST_I_AN 0x02
#define RST_I_SCRATCH 0x01
static inline uint32_t rst_instr_word(const uint8_t *r) { return rst_be32(r + 4); }
static inline uint64_t rst_instr_pc(const uint8_t *r) { return rst_be64(r + 8); }
static inline uint64_t rst_instr_ea(const uint8_t *r) { return rst_be64(r + 16); }

/* Bits of PSTATE */
#define RST_PSTATE_AM 0x08
#define RST_PSTATE_PRIV 0x04

#if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
#error "format/rst is written for little-endian hosts"
#endif

#endif
