/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPAGENT_H
#define OPAGENT_H
/*
 * libopagent: how a virtual machine tells the profiler what code it made, where and when.
 *
 * Two interfaces to one core. The first (symbol version OPAGENT_1.0) has the names and signatures of OProfile's
 * libopagent.so.1, so that a JIT built against that works unrebuilt. The second (OPAGENT_2.0, `opagent_*`) can
 * say everything else: kind and tier, source, lines after or with the code, inlining, unwind rows, moves.
 *
 * Behaviour common to both:
 *  - Every function may be called from any thread at any time, except from a signal handler.
 *  - Nothing is printed (unless OPJIT_LOG names a file), no signal handler or thread is made, errno is kept
 *    by the functions of the second interface.
 *  - All strings and arrays are copied before the call returns.
 *  - Times are CLOCK_MONOTONIC nanoseconds.
 *  - A posted region costs no system call, but for one each 4 MiB that an image section grows.
 *  - After fork() the child posts into an instance of its own; the parent's regions stay valid for it.
 *
 * Where the data goes: DIR/<pid>-<64 random bits>/, where DIR is $OPJIT_DIR, else /var/lib/oprofile/jit, else
 * $XDG_RUNTIME_DIR/opjit, else /tmp/opjit-<uid>. Formats: doc/format-image.md and doc/format-ring.md.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- OPAGENT_1.0 --------------------------------------------------------------------------------------- */

typedef void *op_agent_t;

struct debug_line_info {
	unsigned long vma;    /* first address of the line */
	unsigned int lineno;  /* 1-based */
	char const *filename;
};

/* NULL and errno on failure. */
op_agent_t op_open_agent(void);
/* 0, or -1 with errno EINVAL for a handle that is not open. */
int op_close_agent(op_agent_t hdl);
/* code may be NULL: the region then has a name but no bytes. 0, or -1 and errno. */
int op_write_native_code(op_agent_t hdl, char const *symbol_name, uint64_t vma, void const *code,
			 unsigned int const code_size);
/* Lines of the code last written at address `code`. No entries: nothing happens, 0. */
int op_write_debug_line_info(op_agent_t hdl, void const *code, size_t nr_entry,
			     struct debug_line_info const *compile_map);
/* An address that no region starts at is no error. */
int op_unload_native_code(op_agent_t hdl, uint64_t vma);
int op_major_version(void);
int op_minor_version(void);

/* --- OPAGENT_2.0 --------------------------------------------------------------------------------------- */
/*
 * Structs that are passed start with their size: set it to sizeof(struct …) and zero the rest
 * (= { .size = sizeof(x) }); fields that a later version adds are then absent for it. Functions return 0 or
 * -errno: -EINVAL (a bad argument or struct size), -ENOMEM, -ENOSPC (disk full: the name was kept, the bytes were
 * not), -EFBIG (over the size cap: likewise), -EMFILE (the process has fewer than eight descriptors left; two are kept), -ESHUTDOWN
 * (closed, or the directory cannot be made).
 */
struct opagent; /* an open handle; several in one process share one instance */

struct opagent_open_opts {
	size_t size;
	const char *dir;        /* instead of the default root; NULL = default */
	uint64_t max_bytes;     /* cap of all images of the instance; 0 = 1 GiB */
	uint32_t ring_entries;  /* a power of two; 0 = 4096 */
	uint32_t lag_us;        /* a stamp of this source may be that much later than the truth; 0 = 1 ms */
	const char *source;     /* who posts: "hotspot", "mono", …; NULL = "opagent". At most 31 bytes */
	const char *log;        /* file that gets a line a failure; NULL = $OPJIT_LOG or none */
};

enum opagent_kind {
	OPAGENT_METHOD = 0,
	OPAGENT_STUB = 1,        /* VM helper code */
	OPAGENT_INTERPRETER = 2,
	OPAGENT_TRAMPOLINE = 3,
};

struct opagent_line { /* sorted by offset; each entry holds up to the next one's offset */
	uint32_t offset;      /* from the start of the code */
	uint32_t line;        /* 1-based; 0 = none known */
	uint32_t file;        /* index into opagent_region.files; UINT32_MAX = the region's own source_file */
};

/*
 * Inlining: a list of ranges, each with its stack of frames from the innermost outwards. Frames are kept once in
 * `frames` and linked: frames[i].caller is the index of the frame it was inlined into, UINT32_MAX for the region's
 * own method.
 */
struct opagent_frame {
	uint32_t caller;      /* index into frames, or UINT32_MAX for the outermost */
	uint32_t name;        /* index into opagent_region.names */
	uint32_t file;        /* index into opagent_region.files, UINT32_MAX = unknown */
	uint32_t call_line;   /* line in the caller at which it is called; 0 = unknown */
};
struct opagent_inline_range {
	uint32_t offset;      /* the range goes to the next entry's offset, the last to the end of the code */
	uint32_t frame;       /* innermost frame; UINT32_MAX = the region's own method */
	uint32_t line;        /* line in the innermost frame; 0 = unknown */
};

struct opagent_unwind_row { /* sorted by offset; each holds up to the next */
	uint32_t offset;
	int32_t cfa_offset;   /* CFA = cfa_reg + cfa_offset */
	uint16_t cfa_reg;     /* DWARF register number of the machine */
	int16_t ra_offset;    /* return address at CFA + ra_offset */
	int16_t fp_offset;    /* saved frame pointer at CFA + fp_offset; 0 = not saved */
	uint16_t flags;       /* 0 */
};

#define OPAGENT_SINCE_UNKNOWN 1u /* the code existed before this call (late attach): since when is not known */
#define OPAGENT_SAFEPOINT_LINES 2u /* lines are known at safepoints only */
#define OPAGENT_OSR 4u           /* osr_bci is meant */

struct opagent_region {
	size_t size;
	uint64_t addr;
	uint64_t code_size;
	const void *code;         /* NULL = no bytes */
	const char *name;         /* any bytes but NUL; at most 65535 are kept */
	uint64_t time_ns;         /* when the code came to life; 0 = now */
	uint32_t kind;            /* enum opagent_kind */
	int32_t tier;             /* compile tier, -1 = unknown */
	int32_t osr_bci;          /* with OPAGENT_OSR */
	uint32_t flags;
	const char *source_file;  /* NULL = unknown */
	const char *const *names; /* for frames */
	const char *const *files; /* for lines and frames */
	uint32_t n_names, n_files;
	const struct opagent_line *lines;
	const struct opagent_frame *frames;
	const struct opagent_inline_range *inlines;
	const struct opagent_unwind_row *unwind;
	uint32_t n_lines, n_frames, n_inlines, n_unwind;
	const char *descriptor;   /* signature with the return type, as the VM writes it: "(ILjava/lang/String;)V"; NULL = unknown */
};

/* o may be NULL. *ret is written only on success. Free with opagent_close. */
int opagent_open(struct opagent **ret, const struct opagent_open_opts *o);
/* Marks the instance closed when the last handle goes. NULL is allowed. */
int opagent_close(struct opagent *a);
/* *id (may be NULL) becomes the region's number, 1 upwards, unique in the instance. */
int opagent_load(struct opagent *a, const struct opagent_region *r, uint64_t *id);
/* Adds or replaces lines and inlines of the newest region that starts at r->addr; other fields are not looked at. */
int opagent_amend(struct opagent *a, const struct opagent_region *r);
/* time_ns 0 = now. -ENOENT if no live region starts at addr. */
int opagent_unload(struct opagent *a, uint64_t addr, uint64_t time_ns);
#ifdef OPAGENT_STATIC /* not in the shared library: for the agents that come with it */
/* For VMs that tell the end late: for late_us before time_ns other code may have had the room already. 0: for none. */
int opagent_unload_late(struct opagent *a, uint64_t addr, uint64_t time_ns, uint32_t late_us);
#endif
int opagent_move(struct opagent *a, uint64_t from, uint64_t to, uint64_t time_ns);
/* The bounds of a code heap: addresses in it that no region has are gaps, not strangers. */
int opagent_heap(struct opagent *a, const char *name, uint64_t addr, uint64_t size);
/* The directory of the instance, valid until close. */
const char *opagent_dir(struct opagent *a);

#ifdef __cplusplus
}
#endif
#endif
