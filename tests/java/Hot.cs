// SPDX-License-Identifier: GPL-3.0-or-later
using System; using System.Collections.Generic; using System.Linq; using System.Threading.Tasks;
class Pair<T> { public T a; public static long Work<U>(long n, U u) { long s = 0; for (long i = 0; i < n; i++) s += i ^ (s << 1); return s; } }
static class Hot {
  static long Twice(long n) { long s = 1; for (long i = 0; i < 2 * n; i++) s = s * 31 + i; return s; }
  static long Once(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 31 + i; return s; }
  static async Task<long> Later() { await Task.Yield(); return Once(1000); }
  static int Main(string[] args) {
    long n = args.Length > 0 ? long.Parse(args[0]) : 2000000; long s = 0;
    Func<long, long> f = x => x * 3 + n;
    for (int i = 0; i < 100; i++) { s += Twice(n); s += Once(n); s = f(s); }
    s += Pair<string>.Work(n, 1) + Pair<int>.Work(n, "x");
    try { throw new Exception("e"); } catch (Exception) { s++; }
    s += Later().Result; s += Enumerable.Range(0, 1000).Where(x => x % 3 == 0).Select(x => (long)x).Sum();
    Console.WriteLine(s); return 0; } }
