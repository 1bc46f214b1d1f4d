/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * main() of a fuzz target in the plain test run: feeds each file of fuzz/seeds/NAME (NAME from the program's own,
 * fuzz-NAME), or the files that are named, and prints TAP. A crash or a sanitizer's report fails the test. Each seed
 * is fed whole, and cut at 64 places, so that a decoder meets truncated input of every kind too.
 */
#include <dirent.h>
#include <fcntl.h>

#include "lib/io.h"
#include "lib/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void feed(const char *path)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	int r = io_slurp(AT_FDCWD, path, &sb);

	for (size_t i = 1; r >= 0 && i <= 64; i++) {
		/* A block of its own, so that a read behind its end is seen. */
		size_t len = sb.len * i / 64;
		AUTO_FREE uint8_t *copy = malloc(len ? len : 1);
		if (!copy)
			break;
		memcpy(copy, strbuf_str(&sb), len);
		LLVMFuzzerTestOneInput(copy, len);
	}
	ok(r >= 0, "%s", path);
}

int main(int argc, char **argv)
{
	const char *top = getenv("abs_top_srcdir"), *name = strstr(argv[0], "fuzz-");
	char dir[4096], path[4400];
	struct dirent *d;
	DIR *seeds;

	for (int i = 1; i < argc; i++)
		feed(argv[i]);
	if (argc > 1)
		return done_testing();
	while (name && strstr(name + 1, "fuzz-"))
		name = strstr(name + 1, "fuzz-");
	snprintf(dir, sizeof(dir), "%s/fuzz/seeds/%s", top ? top : ".", name ? name + 5 : "");
	seeds = opendir(dir);
	if (!ok(seeds, "seeds in %s", dir))
		return done_testing();
	while ((d = readdir(seeds)))
		if (d->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
			feed(path);
		}
	closedir(seeds);
	ok(tap_n > 1, "there is at least one seed");
	return done_testing();
}
