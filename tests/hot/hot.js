// SPDX-License-Identifier: GPL-3.0-or-later
// Each program hot.* prints "number"; what twice and once took of CPU time goes to the file own, if that may be written.
const fs = require('fs'), cpu = () => process.cpuUsage().user;
function twice(n) { let s = 0; for (let i = 0; i < 2 * n; i++) s = (s * 31 + i) | 0; return s; }
function once(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
let t = 0, x = 0, y = 0; for (let i = 0; i < Number(process.argv[2] || 500); i++) {
  const a = cpu(); t ^= twice(800000); const b = cpu(); t ^= once(800000); x += b - a; y += cpu() - b; }
try { fs.writeFileSync('own', x + ' ' + y); } catch (e) { }
console.log(typeof t);
