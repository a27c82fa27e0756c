/* SPDX-License-Identifier: Apache-2.0
 * rotary.c - rotary positions: the halves of each head turn against one another, each pair at a
 * speed of its own, as far as the token's place says. */
#include <math.h>

#include "arch.h"

Str rotary_places(Encoder *m, const char *path)
{
    Builder *b = m->b;
    Str end = NODE(b, path, "Squeeze", encoder_length(m), INTS(b, 0));
    return NODE(b, path, "Range", build_int(b, 0), end, build_int(b, 1));
}

/* [1, D / 2]: how fast each pair turns */
static Str rotary_speeds(Encoder *m, const char *name, double theta)
{
    int64_t half = m->n[K_HIDDEN] / m->n[K_HEADS] / 2;
    float *speed = ARRAY(m->b->arena, float, half);
    for (int64_t i = 0; i < half; i++)
        speed[i] = 1 / powf((float)theta, (float)i / (float)half);
    return build_floats(m->b, name, speed, 1, half);
}

Rotation rotary_tables(Encoder *m, const char *path, const char *name, Str places, double theta)
{
    Builder *b = m->b;
    Str column = NODE(b, path, "Cast", NODE(b, path, "Unsqueeze", places, INTS(b, 1)));
    build_attr_int(b, "to", T_F32);
    int64_t half = m->n[K_HIDDEN] / m->n[K_HEADS] / 2;
    Str speed = build_find(b, path, name)
                    ? build_weight(b, path, name, 1, &half)
                    : rotary_speeds(m, build_path(b, "%s.%s", path, name), theta);
    Str angle = NODE(b, path, "Mul", column, speed);
    Str both = NODE(b, path, "Concat", angle, angle);
    build_attr_int(b, "axis", -1);
    return (Rotation){ NODE(b, path, "Cos", both), NODE(b, path, "Sin", both) };
}

Str rotary_turn(Encoder *m, const char *path, Str x, const Rotation *by)
{
    Builder *b = m->b;
    int64_t half = m->n[K_HIDDEN] / m->n[K_HEADS] / 2;
    Str first = NODE(b, path, "Split", x, INTS(b, half, half));
    build_attr_int(b, "axis", -1);
    Str second = build_more(b);
    Str turned = NODE(b, path, "Concat", NODE(b, path, "Neg", second), first);
    build_attr_int(b, "axis", -1);
    return NODE(b, path, "Add", NODE(b, path, "Mul", x, by->cos),
                NODE(b, path, "Mul", turned, by->sin));
}

bool rotary_theta(const Value *config, const Value *rope, const char *old_key, double otherwise,
                  double *theta, Err *err)
{
    const Value *scaling = value_get(config, "rope_scaling");
    Str type = value_str(value_get(rope, "rope_type"), STR("default"));
    *theta = value_float(value_get(config, old_key), otherwise);
    *theta = value_float(value_get(rope, "rope_theta"), *theta);
    if (!str_is(type, "default") || (scaling && scaling->kind == V_MAP))
        return fail(err, EF_UNSUPPORTED, "config.json: scaled rotary positions are not supported");
    return *theta > 0 ||
           fail(err, EF_BAD_MODEL, "config.json: rope_theta: wanted a number above 0");
}
