-- SPDX-License-Identifier: GPL-3.0-or-later
local function twice(n) local s = 0 for i = 0, 2 * n - 1 do s = (s * 31 + i) % 4294967296 end return s end
local function once(n) local s = 0 for i = 0, n - 1 do s = (s * 31 + i) % 4294967296 end return s end
local t, x, y, cpu = 0, 0, 0, os.clock
for i = 1, tonumber(arg[1] or 100) do
  local a = cpu() t = t + twice(400000) local b = cpu() t = t + once(400000) x = x + b - a y = y + cpu() - b end
local f = io.open('own', 'w') if f then f:write(x, ' ', y) f:close() end
print(type(t))
