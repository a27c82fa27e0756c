-- SPDX-License-Identifier: Apache-2.0
-- lua_libs: coroutine table io os string utf8 math package
-- What of Lua is there, and what is not.
local function fails(words, f, ...)
    local ok, message = pcall(f, ...)
    assert(not ok and string.find(message, words, 1, true), tostring(message))
end
assert(_VERSION == "Lua 5.4" and _G._G == _G and _ENV == _G)

-- errors
assert(select("#", pcall(error)) == 2 and pcall(error) == false)
local ok, object = pcall(error, { 1 })
assert(not ok and object[1] == 1)
assert(select(2, xpcall(error, function(m) return "handled " .. m end, "x")) == "handled x")
assert(xpcall(function(...) return select("#", ...) == 2 end, print, 1, 2))
assert(select(3, pcall(function() return 1, 2 end)) == 2)
assert(select(2, pcall(string.rep)):find("bad argument #1"))

-- code as text only, with these globals
assert(load("return 1 + 1")() == 2 and load("x7 = 3; return x7")() == 3 and x7 == 3)
assert(load("return x7", "n", "t", { x7 = 5 })() == 5)
local pieces = { "return ", "4", "2" }
assert(load(function() return table.remove(pieces, 1) end)() == 42)
assert(load("syntax error") == nil and select(2, load("x =", "=name")):find("^name:1:"))
assert(load("\27Lua") == nil and select(2, load("\27Lua")):find("binary"))
fails("only text", load, "return 1", "n", "b")
assert(string.dump == nil)
for _, name in ipairs({ "dofile", "loadfile" }) do fails(name .. " is not available in a transform", _G[name], "x") end

-- metatables
fails("__gc is not available", setmetatable, {}, { __gc = function() end })
assert(getmetatable("") == false)
fails("table expected", setmetatable, 1, {})
fails("protected", setmetatable, setmetatable({}, { __metatable = 1 }), nil)
string.upper = nil
assert(("x"):upper() == "X" and ("10" + 1) == 11)
assert(collectgarbage("count") > 0 and collectgarbage() == 0)

-- coroutines
local co = coroutine.create(function(a)
    local b = coroutine.yield(a + 1)
    local c, d = pcall(function() return coroutine.yield(b + 1) end)
    error("end " .. tostring(d))
end)
assert(select(2, coroutine.resume(co, 1)) == 2 and select(2, coroutine.resume(co, 5)) == 6)
local alive, message = coroutine.resume(co, "d")
assert(not alive and message:find("end d") and coroutine.status(co) == "dead")
local each = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
assert(each() == 1 and each() == 2 and each() == 3)
assert(not pcall(coroutine.wrap(function() error("x") end)))
local open = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() closed = true end }) coroutine.yield() end)
coroutine.resume(open)
assert(coroutine.close(open) and closed and coroutine.status(open) == "dead")
fails("coroutine expected", coroutine.resume, 1)
fails("running", coroutine.wrap(function() return coroutine.close((coroutine.running())) end))

-- outside
assert(os.time() > 1600000000 and os.clock() >= 0 and os.date("%Y"):find("^%d%d%d%d$") and os.difftime(2, 1) == 1)
for _, name in ipairs({ "execute", "exit", "getenv", "remove", "rename", "setlocale", "tmpname" }) do
    fails("os." .. name .. " is not available in a transform", os[name], "x")
end
io.stderr:write("a line", 1, "\n")
assert(io.write("a line\n") and io.stdout:write(""):flush())
for _, name in ipairs({ "open", "popen", "lines", "read", "tmpfile" }) do
    fails("io." .. name .. " is not available in a transform", io[name], "x")
end
assert(package.path == "" and require("string") == string and require("_G") == _G)
package.preload.mine = function(name) return { name = name } end
assert(require("mine").name == "mine")
fails("cannot load files", require, "socket")
fails("package.loadlib is not available", package.loadlib, "x", "y")
local codes = {}
for _, c in utf8.codes("hé") do table.insert(codes, c) end
assert(codes[1] == 104 and codes[2] == 233 and utf8.char(233) == "é" and utf8.len("hé") == 2)
assert(debug == nil)
print("a", nil, 1, {})

-- chance is the same in every call
assert(math.random(1000000) == math.random(1000000) or true)
function Preprocess() return tostring(math.random(1000000)) end
