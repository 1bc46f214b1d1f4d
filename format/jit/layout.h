/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_LAYOUT_H
#define OPJIT_FORMAT_JIT_LAYOUT_H
/*
 * What libopagent writes and the reader checks: the ring file and the parts of an image that ELF does not define.
 * Offset tables: doc/format-ring.md and doc/format-image.md. Numbers are in the writer's byte order; the layout is the
 * same for 32-bit and 64-bit writers (the ELF headers of an image are of the writer's class).
 */
#include <stdint.h>

#define JIT_RING_MAGIC "OPJRING"   /* 8 bytes with its NUL */
#define JIT_INFO_MAGIC "OPJIMAG"
#define JIT_LAYOUT_VERSION 1u
#define JIT_ENDIAN_MARK 0x01020304u
#define JIT_RING_HEADER_BYTES 4096u
#define JIT_RING_MAX_ENTRIES (1u << 20)
#define JIT_MAX_SEGMENTS 65536u
#define JIT_NAME_MAX 65535u        /* bytes of a name that are kept */
#define JIT_RECORD_MAX (32u << 20) /* bytes of a journal record */
#define JIT_MAX_NSPID 8

/* Who writes. Zero fields are unknown (no /proc there). */
struct jit_identity {
	uint8_t boot_id[16];
	uint64_t random;         /* of the directory's name */
	uint64_t start_time;     /* field 22 of /proc/self/stat, clock ticks */
	uint64_t exec_id;        /* differs after each exec: from the kernel's 16 random bytes (AT_RANDOM) */
	int64_t mono_offset_ns;  /* time namespace: host's CLOCK_MONOTONIC = stamp - this */
	int64_t boot_offset_ns;  /* likewise for CLOCK_BOOTTIME, which start_time counts */
	uint64_t open_ns;        /* when the instance was made */
	int32_t pid;             /* as the process sees itself */
	uint32_t uid;            /* effective */
	uint32_t n_nspid;
	int32_t nspid[JIT_MAX_NSPID]; /* NSpid of /proc/self/status, outermost first */
	uint32_t lag_us;
	uint32_t word_bits;      /* 32 or 64 */
	uint32_t machine;        /* ELF e_machine */
	char source[32];         /* NUL-terminated */
	char parent[64];         /* instance of the process that this one was forked from; "" = none */
	uint32_t clk_tck;        /* ticks a second of start_time */
	uint32_t pad;
};
_Static_assert(sizeof(struct jit_identity) == 224, "same layout everywhere");

struct jit_ring_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint32_t entry_bytes;
	uint32_t n_entries;      /* a power of two */
	uint32_t endian;
	uint32_t pad0;
	struct jit_identity who; /* at 32 */
	uint8_t pad1[256];
	/* at 512: what changes */
	uint64_t committed;      /* number of the newest whole entry = the change counter */
	uint64_t reserved;       /* number of the newest entry whose writing has begun */
	uint64_t overwritten;    /* entries that are gone from the ring */
	uint64_t dropped;        /* events that found no room in the journal */
	uint32_t n_segments;
	uint32_t closed;
	uint8_t pad2[24];
	/* at 576: the semaphore of the writers */
	uint32_t sem;            /* 0 = free, else the holder's tid; bit 31: somebody waits */
	uint32_t pad3;
	uint64_t sem_ns;         /* when it was taken */
	uint64_t recovered;      /* dead holders replaced */
	uint8_t pad4[JIT_RING_HEADER_BYTES - 600];
};
_Static_assert(sizeof(struct jit_ring_header) == JIT_RING_HEADER_BYTES, "same layout everywhere");
_Static_assert(__builtin_offsetof(struct jit_ring_header, committed) == 512, "same layout everywhere");
_Static_assert(__builtin_offsetof(struct jit_ring_header, sem) == 576, "same layout everywhere");

struct jit_ring_entry { /* entry number n is at slot (n - 1) % n_entries */
	uint64_t seq;            /* its number, 1 upwards */
	uint64_t time_ns;        /* the writer's CLOCK_MONOTONIC */
	uint64_t id;
	uint64_t addr, size;
	uint64_t image_offset;   /* MOVE: the old address */
	uint64_t journal_next;   /* offset in the segment's journal just behind this event's record */
	uint32_t segment;        /* whose journal has the record */
	uint32_t region_segment; /* whose text has the region */
	uint32_t name_off;       /* in the .strtab of `segment` */
	uint32_t name_len;
	uint32_t flags;
	int32_t osr_bci;
	uint8_t type, kind;
	int8_t tier;
	uint8_t pad[5];
	uint64_t pad2;
};
_Static_assert(sizeof(struct jit_ring_entry) == 96, "same layout everywhere");

/* .opjit.journal: records, each a multiple of 8 bytes. UNLOAD and CLOSE end after addr (48 bytes), others go on. */
#define JIT_RECORD_SHORT 48u
#define JIT_RECORD_LONG 104u
struct jit_record {
	uint32_t bytes;          /* of the record with its tables and padding */
	uint8_t type, kind;
	int8_t tier;
	uint8_t pad;
	uint64_t seq;            /* = the ring's */
	uint64_t time_ns;
	uint64_t id;
	uint64_t addr;
	uint32_t flags;
	uint32_t region_segment;
	/* 48: not in the short ones */
	uint64_t size;
	uint64_t image_offset;   /* MOVE: the old address */
	int32_t osr_bci;
	uint32_t name_off, name_len;     /* in .strtab */
	uint32_t source_off, source_len; /* in .strtab */
	uint32_t lines_len, inlines_len, unwind_len; /* the tables follow in this order */
	uint32_t desc_off, desc_len;     /* in .strtab: the signature in the words of the VM; 0 = none */
};
_Static_assert(sizeof(struct jit_record) == JIT_RECORD_LONG, "same layout everywhere");

/* .opjit.info: fixed, so that an image alone can be understood. */
struct jit_image_info {
	char magic[8];
	uint32_t version;
	uint32_t segment;
	struct jit_identity who;
	char instance[64];       /* directory name */
	uint64_t first_seq;      /* number of the first event in this journal */
	uint8_t pad[200];
};
_Static_assert(sizeof(struct jit_image_info) == 512, "same layout everywhere");

#endif
