/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_SOURCE_H
#define OPJIT_JITCONV_SOURCE_H
/*
 * A live source of JIT events of one process: an instance directory of libopagent (other kinds come beside it).
 * A source keeps its files open, so names survive the exit of the process and the removal of the files.
 * Everything read is checked: the writer may be hostile. Not thread-safe.
 */
#include "format/jit/event.h"
#include "lib/util.h"

struct jit_source; /* opaque */

struct jit_source_info {
	enum jit_source_kind kind;
	char name[32];           /* who posts: "hotspot", … */
	char instance[64];       /* directory name, <tgid>-<hex>; unique on this machine */
	uint64_t lag_ns;         /* stamps may be that much late */
	int32_t pid;             /* in the host's namespace, as given to open */
	int32_t nspid;           /* innermost pid, as the writer saw it */
	uint64_t start_time;     /* field 22 of /proc/PID/stat of the writer, clock ticks */
	uint32_t uid;
	uint64_t heap_bytes;     /* bytes of images now */
	uint64_t n_events;       /* delivered so far */
	uint64_t n_overruns;     /* times the ring had gone round and the journal served */
	uint64_t n_bad;          /* records refused */
	bool closed;
};

/*
 * Opens the instance whose ring file is `path` as process pid sees it: through /proc/PID/root, else the path itself if
 * device and inode match (0, 0 = do not compare). Refused with a text in *why (static or owned by the source
 * module, valid until the next call in this thread): -EPERM (not owned by uid), -EBADMSG, -EPROTONOSUPPORT, -ESTALE
 * (another boot or another process), -errno of the system calls. pid 0 = a plain path.
 */
int jit_source_open(struct jit_source **ret, int32_t pid, uint32_t uid, const char *path, uint64_t dev, uint64_t ino,
		    const char **why);
void jit_source_free(struct jit_source *s);
/* One load: whether anything was posted since the last poll. */
bool jit_source_pending(const struct jit_source *s);
/* Delivers all events posted so far. Number delivered, or -errno (-EBADMSG: this source is broken, give it up). */
int jit_source_poll(struct jit_source *s, jit_event_fn *fn, void *arg);
void jit_source_info(const struct jit_source *s, struct jit_source_info *ret);
/* Whether the file name of a mapping looks like a ring of ours (…/<digits>-<16 hex>/ring, or memfd opjit:…). */
bool jit_source_is_marker(const char *path);
/* Copies (or seals) the image of a segment to a new file at path; .text keeps its offset. 0 or -errno. */
int jit_source_save_image(struct jit_source *s, uint32_t segment, int dirfd, const char *path);
/*
 * Of an instance whose process is gone: its directory gets the copy at path, just saved, in place of the image with its room to grow, so
 * that both names are one file on disk. Who has the old one open keeps it. 0, -EBUSY (the process lives), -EPERM (the directory is
 * another user's), -EXDEV (another filesystem), -ENOENT, -ESTALE or what the system said; then nothing has changed.
 */
int jit_source_share_image(struct jit_source *s, uint32_t segment, int dirfd, const char *path);
/*
 * From now on a saved image has of the regions without code only those that wanted() says yes to: a perf map may have millions. Sources
 * that have code for their regions keep all.
 */
typedef bool jit_source_wanted_fn(void *arg, uint64_t id);
void jit_source_keep_only(struct jit_source *s, jit_source_wanted_fn *wanted, void *arg);
uint32_t jit_source_n_segments(const struct jit_source *s);
/*
 * With tables: poll then reads the journals and its events have source_file, lines, inlines, unwind and strings. Without (the
 * default) those are absent, and events come from the ring as long as the reader keeps up. The saved image has all of it.
 */
void jit_source_want_tables(struct jit_source *s, bool on);
/* Why poll failed, or of files of other JITs also the first that was refused: file, offset and cause. */
const char *jit_source_why(const struct jit_source *s);
struct jit_identity;
/* NULL for a source that is no instance of ours. */
const struct jit_identity *jit_source_identity(const struct jit_source *s);

/* --- sources of other kinds (jitconv/foreign.h) behind the same functions --------------------------------- */
struct jit_source_ops { /* as the functions above; all must be set */
	void (*free)(void *impl);
	bool (*pending)(void *impl);
	int (*poll)(void *impl, jit_event_fn *fn, void *arg);
	void (*info)(void *impl, struct jit_source_info *ret);
	int (*save_image)(void *impl, uint32_t segment, int dirfd, const char *path);
	const char *(*why)(void *impl);
	void (*keep_only)(void *impl, jit_source_wanted_fn *wanted, void *arg); /* NULL: keeps all */
};
/* Takes impl over, also when it fails (-ENOMEM). */
int jit_source_wrap(struct jit_source **ret, const struct jit_source_ops *ops, void *impl);

#endif
