// SPDX-License-Identifier: GPL-3.0-or-later
/** Lines ROUNDS: five small programs, so many times each; of each the line with its name in a comment takes the most time. */
public final class Lines {
	static final boolean[] composite = new boolean[1 << 18];
	static final int[] table = new int[1 << 20];

	/* The division outweighs the inner loop's exit test, which HotSpot's own tables may give to the line of the outer loop. */
	static int sieve(int n) {
		int found = 0;
		for (int i = 2; i < n; i++) {
			if (!composite[i])
				found++;
			for (int j = 2 * i; j < composite.length; j += i) composite[j] = j / i != 1; // sieve
		}
		return found;
	}

	static int scatter(int n) {
		int h = n;
		for (int i = 0; i < n; i++) {
			h ^= i;
			h = table[(h * 1664525 + 1013904223 >>> 4) & table.length - 1]; // scatter
		}
		return h;
	}

	static long collatz(int n) {
		long steps = 0;
		for (int i = 1; i < n; i++) {
			steps += i & 3;
			for (long x = i; x != 1; steps++) x = (x & 1) == 0 ? x >> 1 : 3 * x + 1; // collatz
		}
		return steps;
	}

	static double series(int n) {
		double s = 0, x = 1.000001;
		for (int i = 1; i < n; i++) {
			x = (x * 1.0000003 / 1.0000001 + 0.5 / x) / 1.2; // series
			s += x;
		}
		return s;
	}

	static int mixed(int n) {
		int h = n;
		for (int i = 0; i < n; i++) {
			h = (h * 0x5bd1e995 ^ h >>> 15) * 0x27d4eb2d ^ h >>> 13; // mixed
			if (h == 42)
				h = i;
		}
		return h;
	}

	public static void main(String[] args) {
		int rounds = Integer.parseInt(args[0]);
		long s = 0;
		for (int i = 0; i < table.length; i++)
			table[i] = i * 0x9e3779b1;
		for (int which = 0; which < 5; which++)
			for (int i = 0; i < rounds; i++)
				s += switch (which) {
				case 0 -> sieve(4);
				case 1 -> scatter(4000);
				case 2 -> collatz(3000);
				case 3 -> (long) series(30000);
				default -> mixed(200000);
				};
		System.out.println(s == 0 ? "zero" : "done");
	}
}
