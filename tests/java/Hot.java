// SPDX-License-Identifier: GPL-3.0-or-later
/** Hot MILLISECONDS: two methods that take nine tenths and one tenth of the time, once it is compiled. */
public final class Hot {
	static long sink;

	static int hot(int n) {
		int s = 0;
		for (int i = 0; i < n; i++)
			s = s * 31 + (i ^ s >>> 3);
		return s;
	}

	static int warm(int n) {
		int s = 0;
		for (int i = 0; i < n; i++)
			s = s * 31 + (i ^ s >>> 3);
		return s;
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
		while (System.nanoTime() < end) {
			sink += hot(900000);
			sink += warm(100000);
		}
		System.out.println("done " + args.length);
		System.err.println("to stderr");
		System.exit(args.length > 1 ? Integer.parseInt(args[1]) : 0);
	}
}
