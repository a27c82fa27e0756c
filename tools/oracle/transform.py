# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/transform/numpy.lua: calls of every Tensor function that NumPy can answer too, with its answers.
The script checks itself: one that ends has passed. Usage: python tools/oracle/transform.py tests/golden/transform"""
import os
import sys

import numpy as np

rng = np.random.default_rng(8)
f32, f64 = np.float32, np.float64
SHAPES = [(5,), (2, 3), (1, 4), (3, 1), (2, 3, 2), (2, 1, 2, 3)]
rows = []


def lua(x):
    """A number, or an array as nested tables; float32 by the digits that give it back."""
    if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim):
        return "{" + ", ".join(lua(v) for v in x) + "}"
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    return str(x if isinstance(x, int) else f32(x)).removesuffix(".0")


def row(call, want, *inputs):
    """call: Lua text in which t, u and v are the inputs."""
    want = np.asarray(want, f32)
    rows.append(f"case({lua_text(call)}, {{{', '.join(lua(x) for x in inputs)}}}, {lua(list(want.shape))}, {lua(want)})")


def lua_text(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def rand(*shape, low=-3, high=3):
    return np.round(rng.uniform(low, high, shape), 3).astype(f32)


def wide(x):
    return x.astype(f64)


def elements():
    x, p = rand(2, 5), rand(2, 5, low=0.1)
    odd = np.array([0, -0.0, 1e-30, -1e-30, 90, -90, np.inf, -np.inf, np.nan], f32)
    with np.errstate(all="ignore"):
        for name, f in (("exp", np.exp), ("abs", np.abs), ("tanh", np.tanh), ("neg", np.negative),
                        ("sigmoid", lambda v: 1 / (1 + np.exp(-v)))):
            row(f"t:{name}()", f(wide(x)), x)
            row(f"t:{name}()", f(wide(odd)), odd)
        for name, f in (("sqrt", np.sqrt), ("log", np.log)):
            row(f"t:{name}()", f(wide(p)), p)
            row(f"t:{name}()", f(wide(odd)), odd)
    row("-t", -x, x)


def pairs():
    ops = [("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide), ("^", np.power)]
    tests = [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater),
             ("ge", np.greater_equal)]
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((2, 1, 2), (3, 1)), ((1,), (2, 2))]
    for sign, f in ops:
        for a, b in shapes:
            x, y = rand(*a, low=0.1), rand(*b, low=0.1)
            row(f"t {sign} u", f(wide(x), wide(y)), x, y)
        x = rand(4, low=0.1)
        row(f"t {sign} 2.5", f(wide(x), 2.5), x)
        row(f"2.5 {sign} t", f(2.5, wide(x)), x)
    for name, f in tests:
        for a, b in shapes[:4]:
            x, y = np.round(rand(*a, low=-1, high=1)), np.round(rand(*b, low=-1, high=1))
            row(f"t:{name}(u)", f(x, y), x, y)
        x = np.array([-1, 0, 1, np.nan, np.inf], f32)
        row(f"t:{name}(0)", f(x, f32(0)), x)
        row(f"t:{name}(t)", f(x, x), x)
    x, y = rand(3, low=0.1), rand(2, 3)
    row("t:pow(u)", np.power(wide(x), wide(y)), x, y)
    row("t:pow(0.5)", np.power(wide(x), 0.5), x)
    for c, a, b in (((2, 3), (2, 3), (2, 3)), ((3,), (2, 3), (2, 1)), ((2, 1), (3,), (1,)), ((2, 2), (1, 2), (2,))):
        m, x, y = np.round(rand(*c, low=-1, high=1)), rand(*a), rand(*b)
        row("t:where(u, v)", np.where(m != 0, x, y), m, x, y)
    row("t:where(1, -1)", np.where(m != 0, 1, -1), m)
    for low, high in ((-1, 1), (0, None), (None, 0.5), (2, -2), (-np.inf, np.inf)):
        x = rand(2, 4)
        row(f"t:clamp({'nil' if low is None else lua(f32(low))}, {'nil' if high is None else lua(f32(high))})",
            x if low is None and high is None else np.clip(x, low, high), x)


def along():
    for shape in SHAPES:
        x = rand(*shape)
        for axis in range(len(shape)):
            w = wide(x)
            e = np.exp(w - w.max(axis, keepdims=True))
            row(f"t:softmax({axis + 1})", e / e.sum(axis, keepdims=True), x)
            row(f"t:sum_axis({axis + 1})", w.sum(axis), x)
            row(f"t:argmax({axis + 1})", x.argmax(axis) + 1, x)
            d = np.sqrt(w.var(axis, keepdims=True) + 1e-3)
            row(f"t:layer_norm({axis + 1}, 1e-3)", (w - w.mean(axis, keepdims=True)) / d, x)
            for p in (1, 2, 3.5):
                norm = (np.abs(w) ** p).sum(axis, keepdims=True) ** (1 / p)
                row(f"t:lp_normalize({p}, {axis + 1})", w / np.maximum(norm, 1e-12), x)
            n = shape[axis] // 2
            row(f"t:truncate_axis({axis + 1}, {n})", np.take(x, range(n), axis), x)
            row(f"t:map_axis({axis + 1}, function(x) return x * 2 - 1 end)", x * 2 - 1, x)
            row(f"t:fold_axis({axis + 1}, 0.5, function(a, b) return a * 0.5 + b end)", fold(x, axis), x)


def fold(x, axis):
    out = []
    for part in np.moveaxis(x, axis, 0):
        acc = f32(0.5)
        for v in part.ravel():
            acc = f32(f64(acc) * 0.5 + f64(v))
        out.append(acc)
    return out


def over_all():
    for shape in SHAPES[:4]:
        x = rand(*shape)
        w = wide(x)
        for name, v in (("sum()", w.sum()), ("mean()", w.mean()), ("std(0)", w.std()), ("min()", w.min()),
                        ("max()", w.max()), ("argmax()", w.argmax() + 1), ("ndim()", w.ndim)):
            row(f"number(t:{name})", v, x)
        row("number(t:std(1))", w.std(ddof=1) if w.size > 1 else np.nan, x)
        row("number(#t)", x.size, x)
        row("Tensor(t:shape())", x.shape, x)


def pooling():
    for shape in ((2, 3, 4), (1, 1, 2), (2, 2, 3, 2)):
        x = rand(*shape)
        m = (rng.uniform(size=shape[:-1]) < 0.6).astype(f32)
        m[(slice(None),) + (0,) * (len(shape) - 2)] = 1
        axes = tuple(range(1, len(shape) - 1))
        weights = wide(m)[..., None]
        row("t:mean_pool(u)", (wide(x) * weights).sum(axes) / weights.sum(axes), x, m)
        row("t:mean_pool(u * 0.25)", (wide(x) * weights).sum(axes) / weights.sum(axes), x, m)


def shapes():
    x = rand(2, 3, 4)
    for dims in ((24,), (4, 6), (1, 24, 1), (2, 2, 2, 3)):
        row(f"t:reshape({', '.join(map(str, dims))})", x.reshape(dims), x)
    row("t:reshape({-1, 8})", x.reshape(-1, 8), x)
    row("t:reshape(6, -1)", x.reshape(6, -1), x)
    for shape in SHAPES:
        y = rand(*shape)
        row("t:transpose()", y.T, y)
    for axis, first, last in ((1, 2, 2), (2, 1, 2), (2, -2, -1), (3, 2, -2), (3, -3, 3), (3, 1, 99), (1, 2, 1)):
        n = x.shape[axis - 1]
        a = first - 1 if first > 0 else max(n + first, 0)
        b = last if last > 0 else n + last + 1
        row(f"t:slice({axis}, {first}, {last})", np.take(x, range(a, max(a, min(b, n))), axis - 1), x)
    row("t:index(2)", x[1], x)
    row("t:index(1, 3)", x[0, 2], x)
    row("t[2][3]", x[1, 2], x)
    row("number(t:index(2, 3, 4))", x[1, 2, 3], x)
    for axis in range(3):
        y = rand(*[2 if i == axis else n for i, n in enumerate(x.shape)])
        row(f"t:concat(u, {axis + 1})", np.concatenate((x, y), axis), x, y)
        row(f"Tensor.concat({{u, t, u}}, {axis + 1})", np.concatenate((y, x, y), axis), x, y)
    y, z = rand(2, 3), rand(2, 3)
    for axis in range(3):
        row(f"Tensor.stack({{t, u}}, {axis + 1})", np.stack((y, z), axis), y, z)
    row("Tensor.full(2.5, 2, 3)", np.full((2, 3), 2.5), y)
    row("Tensor(t:to_table())", x, x)


def products():
    for a, b in (((2, 3), (3, 4)), ((1, 5), (5, 1)), ((2, 3), (3,)), ((2, 2, 3), (3, 2)), ((2, 2, 3), (2, 3, 2)),
                 ((2, 2, 3), (3,)), ((3,), (3, 2)), ((3,), (3,))):
        x, y = rand(*a), rand(*b)
        row("number(t:matmul(u))" if len(a) + len(b) == 2 else "t:matmul(u)", wide(x) @ wide(y), x, y)


HEAD = """-- SPDX-License-Identifier: Apache-2.0
-- Written by tools/oracle/transform.py: a call, its inputs, NumPy's shape and numbers.
nan, inf = 0 / 0, 1 / 0
local cases = 0
function number(x) assert(type(x) == "number", "no number") return Tensor({ x }):reshape({}) end
local function near(a, b)
    return a == b or (a ~= a and b ~= b) or math.abs(a - b) <= 2e-6 * (1 + math.abs(b))
end
local function walk(got, want, where)
    if type(want) == "number" then
        return assert(near(got, want), where .. ": found " .. tostring(got) .. ", wanted " .. want)
    end
    assert(#got == #want, where .. ": length")
    for i = 1, #want do walk(got[i], want[i], where .. "[" .. i .. "]") end
end
local function case(call, inputs, shape, want)
    local t, u, v = table.unpack(inputs)
    local run = assert(load("local t, u, v = ... return " .. call))
    local got = run(Tensor(t), u and Tensor(u), v and Tensor(v))
    cases = cases + 1
    local where = "case " .. cases .. ": " .. call
    walk(got:shape(), shape, where .. ": shape")
    walk(got:to_table(), want, where)
end
"""

for part in (elements, pairs, along, over_all, pooling, shapes, products):
    part()
with open(os.path.join(sys.argv[1], "numpy.lua"), "w") as out:
    out.write(HEAD + "\n".join(rows) + "\nfunction Preprocess() return tostring(cases) end\n")
print(len(rows), "cases")
