-- SPDX-License-Identifier: Apache-2.0
-- Every function of Tensor against values worked out by hand. A script that ends is a test that passed.
local function near(a, b) return a == b or math.abs(a - b) <= 1e-5 * (1 + math.abs(b)) end
local function is(t, want, where)
    local got = t:to_table()
    local function walk(g, w, path)
        if type(w) ~= "table" then
            assert(type(g) == "number" and (near(g, w) or (g ~= g and w ~= w)), path .. ": " .. tostring(g))
            return
        end
        assert(type(g) == "table" and #g == #w, path .. ": length")
        for i = 1, #w do walk(g[i], w[i], path .. "[" .. i .. "]") end
    end
    walk(got, want, where or "t")
end
local function fails(words, f, ...)
    local ok, message = pcall(f, ...)
    assert(not ok, "should have failed: " .. words)
    assert(string.find(message, words, 1, true), "said: " .. tostring(message) .. ", wanted: " .. words)
end
local nan, inf = 0 / 0, 1 / 0

-- making
local e = Tensor({})
assert(e:ndim() == 1 and #e == 0 and e:shape(1) == 0)
local t = Tensor({ { 1, 2, 3 }, { 4, 5, 6 } })
assert(t:ndim() == 2 and #t == 6 and t:shape()[1] == 2 and t:shape()[2] == 3 and t:shape(2) == 3)
is(Tensor.new({ 1 }), { 1 })
is(Tensor.full(7, 2, 2), { { 7, 7 }, { 7, 7 } })
is(Tensor.full(7, { 1, 2 }), { { 7, 7 } })
fails("shape error", Tensor, { { 1, 2 }, { 3 } })
fails("shape error", Tensor, { { 1 }, 2 })
fails("shape error", Tensor, { 1, { 2 } })
fails("Invalid value in tensor table", Tensor, { "x" })
fails("Invalid value in tensor table", Tensor, { 1, true })
fails("Invalid value in tensor table", Tensor, { 1, x = 2 })
fails("at most 8", Tensor, { { { { { { { { { 1 } } } } } } } } })
fails("elements", Tensor.full, 0, 100000, 100000)
fails("elements", Tensor.full, 0, 100000, 100000, 0)
fails("table expected", Tensor, 3)
assert(tostring(t) == "[[1, 2, 3],\n [4, 5, 6]]")
assert(tostring(Tensor({ 0.5, -inf, nan })) == "[0.5, -inf, NaN]")
assert(tostring(Tensor({ { {} } })) == "[[[]]]")
assert(tostring(Tensor({ { { 1 }, { 2 } }, { { 3 }, { 4 } } })) == "[[[1],\n  [2]],\n\n [[3],\n  [4]]]")
assert(tostring(Tensor.full(1, 600)) == "[1, 1, 1, 1, 1, ..., 1, 1, 1, 1, 1]")

-- softmax
is(Tensor({ { 0, math.log(3) } }):softmax(2), { { 0.25, 0.75 } })
is(Tensor({ { 0 }, { math.log(3) } }):softmax(1), { { 0.25 }, { 0.75 } })
is(Tensor({ 1000, 1000 }):softmax(1), { 0.5, 0.5 })
is(Tensor({ { { 1, 1 }, { 1, 1 } } }):softmax(3), { { { 0.5, 0.5 }, { 0.5, 0.5 } } })
is(e:softmax(1), {})
fails("Axis must be >= 1.", t.softmax, t, 0)
fails("Axis must be >= 1.", t.softmax, t, -1)
fails("Axis out of range.", t.softmax, t, 3)

-- norms
is(Tensor({ { 3, 4 }, { 0, 0 } }):lp_normalize(2, 2), { { 0.6, 0.8 }, { 0, 0 } })
is(Tensor({ { 3, -1 } }):lp_normalize(1, 2), { { 0.75, -0.25 } })
is(Tensor({ 1, 2 }):lp_normalize(3, 1), { 1 / 9 ^ (1 / 3), 2 / 9 ^ (1 / 3) })
is(Tensor({ { 3 }, { 4 } }):lp_normalize(2, 1), { { 0.6 }, { 0.8 } })
fails("Cannot normalize an empty tensor", e.lp_normalize, e, 2, 1)
fails("p cannot equal 0.0", t.lp_normalize, t, 0, 1)
fails("Axis out of range.", t.lp_normalize, t, 2, 3)
is(Tensor({ { 1, 3 } }):layer_norm(2, 0), { { -1, 1 } })
is(Tensor({ { 1, 3 } }):layer_norm(2, 3), { { -0.5, 0.5 } })
is(Tensor({ { 1 }, { 3 } }):layer_norm(1, 0), { { -1 }, { 1 } })
fails("Axis length must be > 0", e.layer_norm, e, 1, 1e-5)

-- mean_pool
local h = Tensor({ { { 1, 2 }, { 3, 4 }, { 100, 100 } }, { { 5, 6 }, { 9, 9 }, { 9, 9 } } })
is(h:mean_pool(Tensor({ { 1, 1, 0 }, { 1, 0, 0 } })), { { 2, 3 }, { 5, 6 } })
is(h:mean_pool({ { 2, 0, 0 }, { 1, 0, 0 } }), { { 1, 2 }, { 5, 6 } })
is(h:mean_pool(Tensor({ { 0, 0, 0 }, { 1, 0, 0 } })), { { nan, nan }, { 5, 6 } })
is(h:mean_pool(Tensor({ { 1, 1, 0 } })), { { 2, 3 }, { 7, 7.5 } })
is(t:mean_pool(Tensor({ 1, 2 })), { { 1, 2, 3 }, { 4, 5, 6 } })
local four = h:reshape(1, 2, 3, 2)
is(four:mean_pool(Tensor({ { { 1, 1, 0 }, { 1, 0, 0 } } })), { { 3, 4 } })
fails("mean_pool: found a mask of rank 1, wanted 2", h.mean_pool, h, Tensor({ 1, 1 }))
fails("cannot broadcast shape [2, 2] to [2, 3, 2]", h.mean_pool, h, Tensor({ { 1, 1 }, { 1, 1 } }))

-- parts
is(t:truncate_axis(2, 2), { { 1, 2 }, { 4, 5 } })
is(t:truncate_axis(1, 99), { { 1, 2, 3 }, { 4, 5, 6 } })
assert(#t:truncate_axis(1, 0) == 0 and t:truncate_axis(1, 0):shape(2) == 3)
fails("truncate_axis", t.truncate_axis, t, 1, -1)
is(t:slice(2, 2, 3), { { 2, 3 }, { 5, 6 } })
is(t:slice(2, -2), { { 2, 3 }, { 5, 6 } })
is(t:slice(2, 1, -3), { { 1 }, { 4 } })
is(t:slice(1, 2), { { 4, 5, 6 } })
assert(#t:slice(1, 3) == 0 and #t:slice(1, 2, 1) == 0 and #t:slice(1, -99, 99) == 6)
assert(t:index(2, 3) == 6 and t[1]:index(2) == 2 and t[2][1] == 4)
is(t:index(2), { 4, 5, 6 })
fails("Index out of range: found 3 on axis 1 of [2, 3]", t.index, t, 3)
fails("Index out of range", t.index, t, 0)
fails("index: found 3 places", t.index, t, 1, 1, 1)
assert(t.nothing == nil)
fails("cannot be changed", function() t[1] = 2 end)

-- bounds
is(Tensor({ -5, 0, 5 }):clamp(-1, 1), { -1, 0, 1 })
is(Tensor({ -5, 0, 5 }):clamp(nil, 1), { -5, 0, 1 })
is(Tensor({ -5, 0, 5 }):clamp(1), { 1, 1, 5 })
is(Tensor({ -5, 0, 5 }):clamp(), { -5, 0, 5 })
is(Tensor({ -5, 0, 5 }):clamp(3, -3), { -3, -3, -3 })
is(Tensor({ nan, 0 }):clamp(1, 2), { 1, 1 })
is(Tensor({ 1, 2 }):clamp(nan, 2), { nan, nan })
is(t:transpose():clamp(2, 5), { { 2, 4 }, { 2, 5 }, { 3, 5 } })

-- axes away
is(t:sum_axis(1), { 5, 7, 9 })
is(t:sum_axis(2), { 6, 15 })
assert(Tensor({ 1, 2 }):sum_axis(1):ndim() == 0 and Tensor({ 1, 2 }):sum_axis(1):to_table() == 3)
is(Tensor.full(0, 0, 2):sum_axis(1), { 0, 0 })
is(Tensor({ { 1, 9, 3 }, { 7, 5, 6 } }):argmax(2), { 2, 1 })
is(Tensor({ { 1, 9, 3 }, { 7, 5, 6 } }):argmax(1), { 2, 1, 2 })
assert(t:argmax() == 6 and Tensor({ nan, 1, 2, 2 }):argmax() == 3)
fails("empty", e.argmax, e)
is(t:map_axis(1, function(row) return row * 2 end), { { 2, 4, 6 }, { 8, 10, 12 } })
is(t:map_axis(2, function(column) return column end), { { 1, 2, 3 }, { 4, 5, 6 } })
is(t:map_axis(2, function(column) return { column:sum(), 0, 1 } end), { { 5, 7, 9 }, { 0, 0, 0 }, { 1, 1, 1 } })
fails("equal shape", t.map_axis, t, 1, function(row) return row:truncate_axis(1, math.floor(row[1])) end)
fails("Unknown type: nil", t.map_axis, t, 1, function() end)
fails("Unknown type: number", t.map_axis, t, 1, function() return 1 end)
fails("stack error", e.map_axis, e, 1, function(x) return x end)
fails("boom", t.map_axis, t, 1, function() error("boom") end)
is(t:fold_axis(1, 10, function(acc, x) return acc + x end), { 16, 25 })
is(t:fold_axis(2, 0, function(acc, x) return acc * 10 + x end), { 14, 25, 36 })
is(h:fold_axis(3, 0, function(acc, x) return math.max(acc, x) end), { 100, 100 })
is(e:fold_axis(1, 0, function() return 0 end), {})
fails("wanted a number", t.fold_axis, t, 1, 0, function() return "x" end)
fails("boom", t.fold_axis, t, 1, 0, function() error("boom") end)

-- other shapes
is(t:transpose(), { { 1, 4 }, { 2, 5 }, { 3, 6 } })
is(Tensor({ { { 1, 2 }, { 3, 4 } } }):transpose(), { { { 1 }, { 3 } }, { { 2 }, { 4 } } })
is(t:reshape(3, 2), { { 1, 2 }, { 3, 4 }, { 5, 6 } })
is(t:reshape({ -1 }), { 1, 2, 3, 4, 5, 6 })
is(t:reshape(1, -1, 2), { { { 1, 2 }, { 3, 4 }, { 5, 6 } } })
fails("reshape", t.reshape, t, 4, 2)
fails("reshape", t.reshape, t, 4, -1)
fails("only one", t.reshape, t, -1, -1)
fails("whole numbers", t.reshape, t, 1.5)
is(Tensor.concat({ t, t }, 1), { { 1, 2, 3 }, { 4, 5, 6 }, { 1, 2, 3 }, { 4, 5, 6 } })
is(t:concat({ { 9 }, { 8 } }, 2), { { 1, 2, 3, 9 }, { 4, 5, 6, 8 } })
fails("does not fit", t.concat, t, Tensor({ { 1, 2 } }), 1)
is(Tensor.stack({ Tensor({ 1, 2 }), Tensor({ 3, 4 }) }, 1), { { 1, 2 }, { 3, 4 } })
is(Tensor.stack({ Tensor({ 1, 2 }), Tensor({ 3, 4 }) }, 2), { { 1, 3 }, { 2, 4 } })
fails("Axis out of range.", Tensor.stack, { t, t }, 4)
fails("at least one", Tensor.concat, {}, 1)
fails("Tensor expected", Tensor.concat, { 1 }, 1)

-- matrix product
is(t:matmul(t:transpose()), { { 14, 32 }, { 32, 77 } })
is(t:matmul(Tensor({ 1, 0, 2 })), { 7, 16 })
is(h:matmul(Tensor({ { 1 }, { 1 } })), { { { 3 }, { 7 }, { 200 } }, { { 11 }, { 18 }, { 18 } } })
is(Tensor({ { { 1, 2 } }, { { 3, 4 } } }):matmul(Tensor({ { { 1 }, { 1 } }, { { 2 }, { 2 } } })), { { { 3 } }, { { 14 } } })
fails("matmul: [2, 3] does not fit to [2, 3]", t.matmul, t, t)

-- elements
is(Tensor({ 0, 1 }):exp(), { 1, math.exp(1) })
is(Tensor({ 4, 9 }):sqrt(), { 2, 3 })
is(Tensor({ 1, math.exp(2) }):log(), { 0, 2 })
is(Tensor({ -1, 2 }):abs(), { 1, 2 })
is(Tensor({ 2, 3 }):pow(2), { 4, 9 })
is(Tensor({ 2, 3 }) ^ Tensor({ 3, 2 }), { 8, 9 })
is(2 ^ Tensor({ 2, 3 }), { 4, 8 })
is(Tensor({ 0, 100, -100 }):sigmoid(), { 0.5, 1, 0 })
is(Tensor({ 0, 100, -100 }):tanh(), { 0, 1, -1 })
is(-Tensor({ 1, -2 }), { -1, 2 })
is(Tensor({ 1, -2 }):neg(), { -1, 2 })
is(t + 1, { { 2, 3, 4 }, { 5, 6, 7 } })
is(1 + t, { { 2, 3, 4 }, { 5, 6, 7 } })
is(t - 1, { { 0, 1, 2 }, { 3, 4, 5 } })
is(10 - t, { { 9, 8, 7 }, { 6, 5, 4 } })
is(t * 2.5, { { 2.5, 5, 7.5 }, { 10, 12.5, 15 } })
is(2 * t, { { 2, 4, 6 }, { 8, 10, 12 } })
is(t / 2, { { 0.5, 1, 1.5 }, { 2, 2.5, 3 } })
is(12 / t, { { 12, 6, 4 }, { 3, 2.4, 2 } })
is(t + Tensor({ 10, 20, 30 }), { { 11, 22, 33 }, { 14, 25, 36 } })
is(Tensor({ 10, 20, 30 }) - t, { { 9, 18, 27 }, { 6, 15, 24 } })
is(Tensor({ { 1 }, { 2 } }) * Tensor({ { 3, 4 } }), { { 3, 4 }, { 6, 8 } })
is(Tensor({ { { 1, 2 } }, { { 3, 4 } } }) + Tensor({ { 10 }, { 20 } }), { { { 11, 12 }, { 21, 22 } }, { { 13, 14 }, { 23, 24 } } })
assert(#(e + 1) == 0 and #(Tensor.full(1, 0, 3) + Tensor({ 1, 2, 3 })) == 0)
for _, op in ipairs({ "add", "sub", "mul", "div", "pow" }) do
    local run = ({ add = function(a, b) return a + b end, sub = function(a, b) return a - b end,
        mul = function(a, b) return a * b end, div = function(a, b) return a / b end,
        pow = function(a, b) return a ^ b end })[op]
    fails("Shape [2, 3] not broadcastable to [2]", run, t, Tensor({ 1, 2 }))
    fails("Expected either number or Tensor.", run, t, "1")
    fails("Expected either number or Tensor.", run, t, {})
    fails("Expected either number or Tensor.", run, true, t)
end
is(t:gt(3), { { 0, 0, 0 }, { 1, 1, 1 } })
is(t:ge(3), { { 0, 0, 1 }, { 1, 1, 1 } })
is(t:lt(2), { { 1, 0, 0 }, { 0, 0, 0 } })
is(t:le(2), { { 1, 1, 0 }, { 0, 0, 0 } })
is(t:eq(Tensor({ 1, 5, 3 })), { { 1, 0, 1 }, { 0, 1, 0 } })
is(t:ne(1), { { 0, 1, 1 }, { 1, 1, 1 } })
is(t:gt(3):where(t, 0), { { 0, 0, 0 }, { 4, 5, 6 } })
is(Tensor.where(Tensor({ 1, 0, 1 }), t, -t), { { 1, -2, 3 }, { 4, -5, 6 } })
is(Tensor.where(1, Tensor({ 1, 2 }), Tensor({ { 3 }, { 4 } })), { { 1, 2 }, { 1, 2 } })
fails("not broadcastable", Tensor.where, Tensor({ 1, 0 }), t, t)

-- one answer
assert(t:sum() == 21 and t:mean() == 3.5 and e:mean() == nil and e:sum() == 0)
assert(near(Tensor({ 1, 2, 3, 4 }):std(0), math.sqrt(1.25)) and near(Tensor({ 1, 2, 3, 4 }):std(1), math.sqrt(5 / 3)))
assert(Tensor({ 5 }):std(0) == 0 and Tensor({ 5 }):std(1) ~= Tensor({ 5 }):std(1))
fails("number expected", t.std, t)
fails("ddof", t.std, t, -1)
fails("ddof", t.std, t, 7)
assert(t:min() == 1 and t:max() == 6)
fails("Min max error: Empty input.", e.min, e)
fails("Min max error: Undefined ordering", Tensor({ 1, nan }).max, Tensor({ 1, nan }))
assert(t == Tensor({ { 1, 2, 3 }, { 4, 5, 6 } }) and t ~= Tensor({ 1, 2, 3, 4, 5, 6 }) and t ~= t + 1 and t ~= 5)
assert(Tensor({ nan }) ~= Tensor({ nan }))
fails("attempt to compare", function() return t < t end)

-- wrong axes, whatever takes one
local by_axis = {
    softmax = function(a) return t:softmax(a) end,
    lp_normalize = function(a) return t:lp_normalize(2, a) end,
    layer_norm = function(a) return t:layer_norm(a, 1e-5) end,
    sum_axis = function(a) return t:sum_axis(a) end,
    argmax = function(a) return t:argmax(a) end,
    shape = function(a) return t:shape(a) end,
    truncate_axis = function(a) return t:truncate_axis(a, 1) end,
    slice = function(a) return t:slice(a, 1) end,
    map_axis = function(a) return t:map_axis(a, function(x) return x end) end,
    fold_axis = function(a) return t:fold_axis(a, 0, math.max) end,
    concat = function(a) return t:concat(t, a) end,
}
for name, run in pairs(by_axis) do
    fails("Axis must be >= 1.", run, 0)
    fails("Axis must be >= 1.", run, -1)
    fails("Axis must be >= 1.", run, math.mininteger)
    fails("Axis out of range.", run, 3)
    fails("Axis out of range.", run, math.maxinteger)
    fails("no integer representation", run, 1.5)
    fails("no integer representation", run, nan)
    fails("number expected", run, {})
    fails("number expected", run, "one")
    if name ~= "argmax" and name ~= "shape" then fails("number expected", run) end
end
fails("Axis must be >= 1.", Tensor.stack, { t }, 0)
fails("number expected", Tensor.stack, { t })

-- arguments of a wrong type
fails("number expected", t.layer_norm, t, 1)
fails("number expected", t.lp_normalize, t, "p", 1)
fails("number expected", t.clamp, t, "low")
fails("number expected", t.clamp, t, 0, {})
fails("number expected", t.truncate_axis, t, 1)
fails("no integer representation", t.truncate_axis, t, 1, 0.5)
fails("number expected", t.slice, t, 1)
fails("no integer representation", t.slice, t, 1, 0.5)
fails("function expected", t.map_axis, t, 1)
fails("function expected", t.map_axis, t, 1, t)
fails("function expected", t.fold_axis, t, 1, 0)
fails("number expected", t.fold_axis, t, 1, "x", math.max)
fails("number expected", t.index, t, "x")
fails("index: found 0 places", t.index, t)
fails("Index out of range", t.index, t, 1, -1)
fails("whole numbers", t.reshape, t, "x")
fails("whole numbers", t.reshape, t, -2, 3)
fails("whole numbers", t.reshape, t, math.maxinteger, math.maxinteger)
fails("at most 8", t.reshape, t, 1, 1, 1, 1, 1, 1, 1, 2, 3)
fails("number expected", Tensor.full, "x", 1)
fails("elements", Tensor.full, 0, -1)
fails("Unknown type: number", t.matmul, t, 1)
fails("Unknown type: nil", t.matmul, t)
fails("does not fit", t.matmul, t, Tensor({ 1, 2 }))
fails("does not fit", t.matmul, Tensor({ 1, 2, 3 }), t)
fails("does not fit", Tensor.full(1, 2, 2, 2).matmul, Tensor.full(1, 2, 2, 2), Tensor.full(1, 3, 2, 2))
assert(Tensor({ 1, 2, 3 }):matmul(Tensor({ 4, 5, 6 })) == 32)
fails("Unknown type: nil", h.mean_pool, h)
fails("Unknown type: string", h.mean_pool, h, "mask")
fails("rank 2 or more", Tensor({ 1 }).mean_pool, Tensor({ 1 }), Tensor({ 1 }):sum_axis(1))
fails("Unknown type: number", t.concat, t, 1, 1)
fails("does not fit", t.concat, t, Tensor({ 1, 2, 3 }), 1)
fails("does not fit", Tensor.stack, { t, Tensor({ 1 }) }, 1)
fails("Tensor expected", Tensor.stack, { { 1 } }, 1)
for _, name in ipairs({ "eq", "ne", "lt", "le", "gt", "ge", "pow" }) do
    fails("Expected either number or Tensor.", t[name], t, "1")
    fails("Expected either number or Tensor.", t[name], t)
    fails("not broadcastable", t[name], t, Tensor({ 1, 2 }))
end
fails("Expected either number or Tensor.", t.where, t, "a", 1)
fails("Expected either number or Tensor.", t.where, t, 1)
for name, f in pairs(Tensor) do
    if name ~= "new" and name ~= "full" and not by_axis[name] then fails("", f, "no tensor", {}, {}) end
end

-- nothing at all
local wide, tall = Tensor.full(1, 0, 3), Tensor.full(1, 3, 0)
for _, name in ipairs({ "exp", "sqrt", "log", "abs", "tanh", "sigmoid", "neg", "clamp" }) do
    assert(#wide[name](wide) == 0 and wide[name](wide):shape(2) == 3)
end
assert(#wide:softmax(1) == 0 and #tall:softmax(2) == 0 and #tall:layer_norm(1, 1) == 0)
is(tall:sum_axis(2), { 0, 0, 0 })
is(tall:matmul(wide), { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } })
is(wide:concat(t, 1), { { 1, 2, 3 }, { 4, 5, 6 } })
assert(wide:transpose():shape(1) == 3 and #wide:reshape(0) == 0 and wide:reshape(7, 0):shape(1) == 7)
fails("does not fit", wide.reshape, wide, 0, -1)
assert(#wide:gt(0) == 0 and #wide:gt(0):where(wide, 1) == 0 and #Tensor.stack({ wide, wide }, 1) == 0)
assert(wide == Tensor.full(2, 0, 3) and wide ~= tall and tostring(wide) == "[[]]" and #wide:to_table() == 0)
assert(wide:std(0) ~= wide:std(0) and wide:mean() == nil and #wide:slice(2, 1, 2) == 0)
fails("empty", wide.argmax, wide, 2)
is(tall:fold_axis(1, 5, math.max), { 5, 5, 5 })
is(h:truncate_axis(2, 0):mean_pool(Tensor.full(1, 2, 0)), { { nan, nan }, { nan, nan } })

-- NaN and infinity
local odd = Tensor({ 1, nan, 3 })
is(odd:softmax(1), { nan, nan, nan })
is(Tensor({ 1, -inf }):softmax(1), { 1, 0 })
is(Tensor({ -inf, -inf }):softmax(1), { nan, nan })
is(odd:lp_normalize(2, 1), { nan, nan, nan })
is(odd:layer_norm(1, 1e-5), { nan, nan, nan })
assert(odd:sum() ~= odd:sum() and odd:mean() ~= odd:mean() and odd:argmax() == 3 and odd ~= odd + 0)
assert(Tensor({ nan, nan }):argmax() == 1)
is(odd:eq(odd), { 1, 0, 1 })
is(odd:ne(odd), { 0, 1, 0 })
is(odd:where(1, 2), { 1, 1, 1 })
is(Tensor({ 1, -1, 0 }) / 0, { inf, -inf, nan })
is(Tensor({ -1, 0 }):log(), { nan, -inf })
is(Tensor({ -4 }):sqrt(), { nan })
is(Tensor({ 1e38 }) * 10, { inf })
assert(Tensor({ inf, 1 }):max() == inf and Tensor({ -inf, 1 }):min() == -inf)

-- what others did to Tensor stays with them
Tensor.softmax = nil
assert(t:softmax(1) ~= nil)
assert(getmetatable(t) == false and getmetatable(Tensor) == false)
fails("Tensor expected", t.sum, {})
fails("Tensor expected", t.sum)
