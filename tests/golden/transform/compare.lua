-- SPDX-License-Identifier: Apache-2.0
-- Runs in a plain Lua and in a transform; both must write the same text. Patterns and table
-- functions by chance, errors included.
local seed = 12345
local function chance(n)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % n + 1
end
local function pick(list) return list[chance(#list)] end
local function text(n, letters)
    local s = ""
    for _ = 1, chance(n) do s = s .. pick(letters) end
    return s
end
local parts = { "a", "b", ".", "%a", "%d", "%s", "%w*", "a-", "b*", "c+", "d?", "(", ")", "()", "[ab]", "[^a]",
    "[a-c]*", "%b()", "%f[a]", "%f[%w]", "%1", "%2", "$", "^", "[", "%", "]", "-", "[]]", "[%]]", "[a-]", "%.", "(a*)", "(.)", ".-" }
local letters = { "a", "b", "c", "1", " ", "(", ")", "%", "-", "]", "é", "\0" }
local repls = { "x", "%0", "%1", "<%0>", "%%", "%2", "%", "" }
local lines = {}
local function note(...)
    local out = {}
    for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
    local line = table.concat(out, "|"):gsub("^false|.-:%d+: ", "false|")
    line = line:gsub("bad argument #%d+ to .- %(", "bad argument ("):gsub("'?%?'?", "?"):gsub("[^ -~]", function(c) return "\\" .. c:byte() end)
    lines[#lines + 1] = line
end
local function each(s, p, init)
    local out = {}
    for a, b in s:gmatch(p, init) do
        out[#out + 1] = tostring(a) .. "," .. tostring(b)
        if #out > 50 then break end
    end
    return table.concat(out, ";")
end
for _ = 1, 2500 do
    local s, p = text(12, letters), text(5, parts)
    local init = pick({ 1, 1, 2, -1, -3, 0, 99, 13 })
    note(pcall(string.find, s, p, init))
    note(pcall(string.find, s, p, init, true))
    note(pcall(string.match, s, p, init))
    note(pcall(string.gsub, s, p, pick(repls)))
    note(pcall(string.gsub, s, p, pick(repls), pick({ 0, 1, 2 })))
    note(pcall(string.gsub, s, p, function(a, b) if b then return a end return chance(2) == 1 and "F" end))
    note(pcall(string.gsub, s, p, { a = "T", b = 1, c = false }))
    note(pcall(each, s, p, init))
end
for _, c in ipairs({ "a", "c", "d", "g", "l", "p", "s", "u", "w", "x", "A", "D", "W", "X", "G" }) do
    local found = {}
    for b = 0, 127 do if string.char(b):find("%" .. c) then found[#found + 1] = b end end
    note(c, table.concat(found, " "))
end
note(pcall(string.rep, "ab", 3, ","))
note(pcall(string.rep, "ab", 0))
note(pcall(string.rep, "ab", -1, ","))
note(pcall(string.rep, "ab", 1, ","))
note(("x"):rep(5), ("%d"):format(3))
local function list(n)
    local t = {}
    for i = 1, chance(n) do t[i] = chance(20) end
    return t
end
for _ = 1, 500 do
    local t, u = list(8), list(8)
    note(pcall(table.insert, t, pick({ 1, 2, 5, 9, 10, 0, -1 }), 77))
    note(pcall(table.insert, t, 5))
    note(pcall(table.remove, t, pick({ 1, 2, 5, 9, 10, 11, 0, -1 })))
    note(pcall(table.remove, t))
    note(pcall(table.concat, t, ","))
    note(pcall(table.concat, t, ",", pick({ 1, 2, 9 }), pick({ 0, 1, 5, 20 })))
    t = list(8)
    note(pcall(table.concat, table.move(t, pick({ 1, 2 }), chance(math.max(#t, 1)), pick({ 1, 2, 3 })), ","))
    note(table.concat(table.move(t, 1, #t, 1, u), ","))
    table.sort(t)
    note(table.concat(t, ","))
    table.sort(u, function(a, b) return a > b end)
    note(table.concat(u, ","), table.unpack(t))
end
note(pcall(table.insert, {}, 1, 2, 3))
note(pcall(table.insert, { 1 }))
note((pcall(table.sort, { 1, "x" })))
note(table.remove({}), #table.pack(1, 2, nil))
local words = { "pear", "apple", "fig", "apple" }
table.sort(words)
note(table.concat(words, " "))
function Preprocess() return table.concat(lines, "\n") end
