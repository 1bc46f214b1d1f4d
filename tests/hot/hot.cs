// SPDX-License-Identifier: GPL-3.0-or-later
using System; using System.IO; using System.Diagnostics;
static class Hot {
  static long twice(long n) { long s = 1; for (long i = 0; i < 2 * n; i++) s = s * 31 + i; return s; }
  static long once(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 31 + i; return s; }
  static double Cpu() { return Process.GetCurrentProcess().TotalProcessorTime.TotalMilliseconds; }
  static void Main(string[] a) { double x = 0, y = 0; long s = 0;
    for (int i = 0; i < (a.Length > 0 ? int.Parse(a[0]) : 20); i++) { double p = Cpu(); s += twice(10000000); double q = Cpu(); s += once(10000000); x += q - p; y += Cpu() - q; }
    try { File.WriteAllText("own", x + " " + y); } catch (Exception) {} Console.WriteLine(s != 1 ? "number" : ""); } }
