-- SPDX-License-Identifier: LGPL-2.1-or-later
-- Tells libopagent of LuaJIT's traces. Loaded by LUA_INIT, which operf sets:
--	if jit then local f = loadfile('DIR/opjit.lua') if f then pcall(f, 'DIR/libopagent.so.1') end end
-- Says nothing, keeps nothing in globals, and leaves the program alone if anything is missing.
local library = ...
local have_ffi, ffi = pcall(require, 'ffi')
local have_util, util = pcall(require, 'jit.util')
if not (library and have_ffi and have_util and jit.attach) then return end

-- Own names for the functions, so that a declaration of the program's cannot be in the way.
ffi.cdef [[
struct opjit_line_info_ { unsigned long vma; unsigned int lineno; const char *filename; };
void *opjit_open_(void) __asm__("op_open_agent");
int opjit_code_(void *, const char *, uint64_t, const void *, unsigned int) __asm__("op_write_native_code");
int opjit_lines_(void *, const void *, size_t, const struct opjit_line_info_ *) __asm__("op_write_debug_line_info");
int opjit_unload_(void *, uint64_t) __asm__("op_unload_native_code");
]]
local loaded, op = pcall(ffi.load, library)
if not loaded then return end
local agent = op.opjit_open_()
if agent == nil then return end

-- The name of a function as its source has it: Lua keeps none.
local sources = {}
local function line_of(path, wanted)
	local lines = sources[path]
	if not lines then
		lines = {}
		sources[path] = lines
		local f = io.open(path, 'r')
		if f then
			for line in f:lines() do
				if #lines == 100000 then break end
				lines[#lines + 1] = line:sub(1, 200)
			end
			f:close()
		end
	end
	return lines[wanted]
end
local function name_of(info)
	local path = (info.source or ''):match('^@(.*)')
	local text = path and info.linedefined and info.linedefined > 0 and line_of(path, info.linedefined)
	local name = text and (text:match('function%s+([%w_.:]+)') or text:match('([%w_.]+)%s*=%s*function'))
	if info.linedefined == 0 then name = 'main chunk' end
	return name or 'function', path
end

local live = {}   -- trace number -> address
local function on_trace(what, trace, func, pc)
	if what == 'flush' then
		for _, addr in pairs(live) do op.opjit_unload_(agent, addr) end
		live = {}
		return
	end
	if what ~= 'stop' then return end
	local code, addr = util.tracemc(trace)
	if not code then return end
	local info = util.funcinfo(func, pc)
	local name, path = name_of(info)
	local text = ('%s %s [trace %d]'):format(name, (info.loc or '?'):gsub('%c', ' '), trace)
	local at = ffi.cast('uint64_t', addr)
	live[trace] = at
	if op.opjit_code_(agent, text, at, ffi.cast('const void *', at), #code) == 0 and path and info.currentline then
		local line = ffi.new('struct opjit_line_info_', addr, info.currentline, path)
		op.opjit_lines_(agent, ffi.cast('const void *', at), 1, line)
	end
end
jit.off(on_trace, true)
jit.attach(function(...) pcall(on_trace, ...) end, 'trace')
