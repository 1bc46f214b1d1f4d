// SPDX-License-Identifier: GPL-3.0-or-later
import java.lang.management.*; import java.nio.file.*;
class HotCpu {
  static long twice(long n) { long s = 1; for (long i = 0; i < 2 * n; i++) s = s * 31 + (i ^ s >>> 3); return s; }
  static long once(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 31 + (i ^ s >>> 3); return s; }
  public static void main(String[] a) { ThreadMXBean b = ManagementFactory.getThreadMXBean(); long x = 0, y = 0, s = 0;
    for (int i = 0; i < (a.length > 0 ? Integer.parseInt(a[0]) : 60); i++) { long p = b.getCurrentThreadCpuTime(); s += twice(2000000); long q = b.getCurrentThreadCpuTime(); s += once(2000000);
      x += q - p; y += b.getCurrentThreadCpuTime() - q; }
    try { Files.write(Paths.get("own"), (x + " " + y).getBytes()); } catch (Exception e) { } System.out.println(s != 1 ? "number" : ""); } }
