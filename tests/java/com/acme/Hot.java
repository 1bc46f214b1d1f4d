// SPDX-License-Identifier: GPL-3.0-or-later
package com.acme;

/** A hot method with three levels of inlining; the comments mark lines that tests look for. */
public final class Hot {
	static final class Inner {
		static long leaf(long x, int[] weights) {
			long y = x * 31 + weights[(int) x & 7]; // LEAF
			return y ^ y >>> 7;
		}
	}

	static long mid(long x, int[] weights) {
		return Inner.leaf(x, weights) + 13; // MID
	}

	static long top(int n, String salt, int[] weights) {
		long s = salt.length();
		for (int i = 0; i < n; i++)
			s += mid(s + i, weights); // TOP
		return s;
	}

	public static void main(String[] args) {
		int[] weights = { 3, 1, 4, 1, 5, 9, 2, 6 };
		long s = 0;
		for (int i = 0; i < 30000; i++)
			s += top(500, "salt", weights);
		java.util.function.LongUnaryOperator f = x -> x * 3;
		for (int i = 0; i < 100000; i++)
			s += f.applyAsLong(i);
		System.out.println(s == 0 ? "zero" : "done");
	}
}
