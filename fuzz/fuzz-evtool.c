/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of opevlog that read a log: the first byte chooses one and its options, the rest is the log. */
#include <fcntl.h>

#include "fuzz/quiet.h"
#include "report/opevlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* follow waits for nobody here. */
int usleep(useconds_t us)
{
	return 0;
}

static void convert(struct options *o, char **files, unsigned int how)
{
	static const char *const formats[] = { "opel", "pmclog", "script", "json", "rst" };

	o->format = formats[how % ARRAY_SIZE(formats)];
	cmd_convert(o, files);
}

static void convert_to_files(const uint8_t *data, size_t size, bool ctf)
{
	char dir[] = "/dev/shm/opjit-fuzz-XXXXXX", notes[64], samples[64], names[64]; /* no disk to wait for */
	struct options o = { .filter = { -1, -1, -1, -1 }, .notes = notes, .samples = samples, .names = names };
	struct evfile f = { .name = "log", .data = data, .len = size };

	if (!mkdtemp(dir))
		abort();
	snprintf(notes, sizeof(notes), "%s/notes", dir);
	snprintf(samples, sizeof(samples), "%s/samples", dir);
	snprintf(names, sizeof(names), "%s/names", dir);
	if (ctf)
		convert_ctf(&f, dir);
	else
		convert_to_abi(&f, &o);
	io_remove_tree(AT_FDCWD, dir, NULL, NULL);
}

/* What cut and merge make of whatever log is well-formed. */
static void edit(const struct options *o, char **files, int (*cmd)(const struct options *, char **))
{
	struct memfile out = memfile_make("", 0);
	struct options to = *o;
	char *made[] = { out.name, NULL };

	to.output = out.name;
	if (!cmd(&to, files) && cmd_check(o, made) < 0)
		abort();
	close(out.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options o = { .output = "/dev/null", .filter = { -1, -1, -1, -1 } };
	struct memfile in, again;
	struct quiet q;

	if (!size)
		return 0;
	in = memfile_make(data + 1, size - 1);
	again = memfile_make(data + 1, size - 1);
	char *one[] = { in.name, NULL }, *two[] = { in.name, again.name, NULL };
	o.json = data[0] & 1;
	o.lenient = data[0] & 2;
	if (data[0] & 4)
		o.filter = (struct filter){ 0.001, 0.5, data[0] & 8 ? 101 : -1, data[0] & 1 ? 1 : -1 };
	quiet_begin(&q);
	switch (data[0] >> 4) {
	case 0: cmd_dump(&o, one); break;
	case 1: o.raw = true; cmd_dump(&o, one); break;
	case 2: cmd_stat(&o, one); break;
	case 3: cmd_check(&o, one); break;
	case 4: edit(&o, one, cmd_cut); break;
	case 5: edit(&o, two, cmd_merge); break;
	case 6: o.ftrace = data[0] & 4 ? "be,4,128" : data[0] & 8 ? "le,old,256" : "le,8,512"; cmd_dump(&o, one); break;
	case 7: o.idle = 0.01; cmd_follow(&o, one); break;
	case 8: convert_to_files(data + 1, size - 1, true); break;
	case 9: convert_to_files(data + 1, size - 1, false); break;
	default: convert(&o, one, data[0] >> 4);
	}
	quiet_end(&q);
	close(in.fd);
	close(again.fd);
	return 0;
}
