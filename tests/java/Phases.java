// SPDX-License-Identifier: GPL-3.0-or-later
/** Phases FILE1 FILE2...: busy in phase1 until FILE1 is there, then in phase2 until FILE2, and so on, four at most. */
public final class Phases {
	static long sink;

	static int phase1(int n) {
		int s = 1;
		for (int i = 0; i < n; i++)
			s = s * 31 + (i ^ s >>> 3);
		return s;
	}

	static int phase2(int n) {
		int s = 2;
		for (int i = 0; i < n; i++)
			s = s * 37 + (i ^ s >>> 5);
		return s;
	}

	static int phase3(int n) {
		int s = 3;
		for (int i = 0; i < n; i++)
			s = s * 41 + (i ^ s >>> 7);
		return s;
	}

	static int phase4(int n) {
		int s = 4;
		for (int i = 0; i < n; i++)
			s = s * 43 + (i ^ s >>> 9);
		return s;
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + 180_000_000_000L;
		for (int p = 0; p < args.length; p++) {
			java.io.File next = new java.io.File(args[p]);
			while (!next.exists() && System.nanoTime() < end) {
				for (int i = 0; i < 100; i++) {
					switch (p) {
					case 0 -> sink += phase1(20000);
					case 1 -> sink += phase2(20000);
					case 2 -> sink += phase3(20000);
					default -> sink += phase4(20000);
					}
				}
			}
		}
		System.out.println("phases " + args.length);
	}
}
