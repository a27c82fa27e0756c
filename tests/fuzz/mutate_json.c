/* SPDX-License-Identifier: Apache-2.0
 * mutate_json.c - mutations for the target that takes a tokenizer.json ('J', the JSON, a NUL, a
 * text): the tree is changed, not its bytes, and written anew. Values are dropped, doubled,
 * exchanged and replaced by awkward ones; whole components are put in, in every place; vocabularies
 * and merges grow. Plain bytes nearly always break a bracket or a name first. */
#include "data/json.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

typedef struct Mutation {
    Arena *arena;
    uint64_t random;
} Mutation;

static size_t dice(Mutation *m, size_t sides)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(m->random >> 33) % sides;
}

/* Components and their parts; in these texts ' stands for ". */
static const char *const parts[] = {
    "{'type':'NFC'}",
    "{'type':'NFD'}",
    "{'type':'NFKC'}",
    "{'type':'NFKD'}",
    "{'type':'Nmt'}",
    "{'type':'Lowercase'}",
    "{'type':'StripAccents'}",
    "{'type':'Strip','strip_left':true,'strip_right':true}",
    "{'type':'Prepend','prepend':'_'}",
    "{'type':'Replace','pattern':{'Regex':'a+|(b)c?'},'content':'x'}",
    "{'type':'Replace','pattern':{'String':' '},'content':'_'}",
    "{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':true,'strip_accents':null,"
    "'lowercase':true}",
    "{'type':'Precompiled','precompiled_charsmap':'CAAAAAAAAAAAAAAAAA=='}",
    "{'type':'Sequence','normalizers':[{'type':'NFD'},{'type':'StripAccents'}]}",
    "{'type':'BertPreTokenizer'}",
    "{'type':'Whitespace'}",
    "{'type':'WhitespaceSplit'}",
    "{'type':'UnicodeScripts'}",
    "{'type':'ByteLevel','add_prefix_space':true,'trim_offsets':true,'use_regex':true}",
    "{'type':'Metaspace','replacement':'_','prepend_scheme':'first','split':true}",
    "{'type':'Split','pattern':{'Regex':'[^a-z]|\\\\s+(?!\\\\S)'},'behavior':'MergedWithNext',"
    "'invert':true}",
    "{'type':'Punctuation','behavior':'Contiguous'}",
    "{'type':'Digits','individual_digits':true}",
    "{'type':'CharDelimiterSplit','delimiter':'a'}",
    "{'type':'FixedLength','length':3}",
    "{'type':'Sequence','pretokenizers':[{'type':'Whitespace'},{'type':'FixedLength','length':2}]}",
    "{'type':'BertProcessing','sep':['b',1],'cls':['a',0]}",
    "{'type':'RobertaProcessing','sep':['b',1],'cls':['a',0],'trim_offsets':true,"
    "'add_prefix_space':true}",
    "{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'a','type_id':0}},{'Sequence':"
    "{'id':'A','type_id':1}}],'pair':[{'Sequence':{'id':'B','type_id':1}},{'Sequence':{'id':'A',"
    "'type_id':0}}],'special_tokens':{'a':{'id':'a','ids':[0],'tokens':['a']}}}",
    "{'type':'WordPiece','prefix':'##','cleanup':true}",
    "{'type':'BPEDecoder','suffix':'</w>'}",
    "{'type':'ByteFallback'}",
    "{'type':'Fuse'}",
    "{'type':'CTC','pad_token':'a','word_delimiter_token':'|','cleanup':true}",
    "{'type':'WordPiece','unk_token':'a','continuing_subword_prefix':'#',"
    "'max_input_chars_per_word':5,'vocab':{'a':0,'b':1,'#b':2,'ab':3}}",
    "{'type':'BPE','unk_token':'a','fuse_unk':true,'byte_fallback':true,'ignore_merges':false,"
    "'continuing_subword_prefix':null,'end_of_word_suffix':null,'vocab':{'a':0,'b':1,'ab':2,"
    "'abb':3,' ':4,'_':5,'_a':6},'merges':['a b',['ab','b'],['_','a']]}",
    "{'type':'Unigram','unk_id':0,'byte_fallback':true,'vocab':[['a',0],['b',-1.5],['ab',-2.25],"
    "['_',-3],['_ab',-1e3]]}",
    "{'type':'WordLevel','unk_token':'a','vocab':{'a':0,'b':1}}",
    "{'id':3,'content':'b ','single_word':true,'lstrip':true,'rstrip':true,'normalized':true,"
    "'special':true}",
    "{'direction':'Left','max_length':4,'strategy':'LongestFirst','stride':1}",
    "{'strategy':{'Fixed':7},'direction':'Left','pad_to_multiple_of':3,'pad_id':0,'pad_type_id':1,"
    "'pad_token':'a'}",
    "null",
    "true",
    "0",
    "-1",
    "4294967296",
    "1e300",
    "''",
    "'\\u0000'",
    "'\\ud83d\\ude00\\u0301'",
    "[]",
    "{}",
};

static Value part(Mutation *m)
{
    char *text = str_dup(m->arena, str_of(parts[dice(m, COUNT(parts))]));
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    Value v;
    Err err;
    return json_parse(m->arena, str_of(text), &v, &err) ? v : value_null();
}

/* ---- one change, somewhere ---- */
static size_t children(const Value *v)
{
    return v->kind == V_LIST ? v->list.n : v->kind == V_MAP ? v->map.n : 0;
}

static Value *child(Value *v, size_t i)
{
    return v->kind == V_LIST ? &v->list.items[i] : &v->map.items[i].value;
}

static void drop(Value *v, size_t i)
{
    if (v->kind == V_LIST)
        memmove(&v->list.items[i], &v->list.items[i + 1],
                (--v->list.n - i) * sizeof *v->list.items);
    else memmove(&v->map.items[i], &v->map.items[i + 1], (--v->map.n - i) * sizeof *v->map.items);
}

/* One more of them, a copy of i, in a new place in memory. */
static void more(Mutation *m, Value *v, size_t i)
{
    size_t n = children(v);
    if (v->kind == V_LIST) {
        Value *items = ARRAY(m->arena, Value, n + 1);
        memcpy(items, v->list.items, n * sizeof *items);
        items[n] = items[i];
        v->list.items = items, v->list.n = n + 1;
        return;
    }
    Member *items = ARRAY(m->arena, Member, n + 1);
    memcpy(items, v->map.items, n * sizeof *items);
    items[n] = items[i];
    if (items[i].value.kind == V_INT) { /* a vocabulary: two tokens make another */
        Str other = items[dice(m, n)].key;
        items[n].key =
            str_of(str_format(m->arena, "%.*s%.*s", STR_ARG(items[i].key), STR_ARG(other)));
        items[n].value.i = (int64_t)n;
    }
    v->map.items = items, v->map.n = n + 1;
}

static void change(Mutation *m, Value *v)
{
    size_t n = children(v);
    while (n && dice(m, 4)) { /* down */
        size_t i = dice(m, n);
        Value *next = child(v, i);
        if (!children(next) && dice(m, 3)) break;
        v = next, n = children(v);
    }
    size_t i = n ? dice(m, n) : 0;
    switch (n ? dice(m, 6) : 0) {
    case 0: *v = part(m); break;
    case 1: *child(v, i) = part(m); break;
    case 2: drop(v, i); break;
    case 3: more(m, v, i); break;
    case 4: *child(v, i) = *child(v, dice(m, n)); break;
    default:
        child(v, i)->kind == V_INT ? (void)(child(v, i)->i += (int64_t)dice(m, 5) - 2)
                                   : (void)(*child(v, i) = part(m));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    Arena arena = { 0 };
    Mutation m = { &arena, seed };
    uint8_t *end = size > 1 && data[0] == 'J' ? memchr(data + 1, 0, size - 1) : NULL;
    Str json = { (char *)data + 1, end ? (size_t)(end - data - 1) : size ? size - 1 : 0 };
    Value root;
    Err err;
    Buf out = { 0 };
    if (size < 2 || data[0] != 'J' || dice(&m, 5) == 0 || !json_parse(&arena, json, &root, &err)) {
        arena_free(&arena);
        return LLVMFuzzerMutate(data, size, most);
    }
    for (size_t i = 0, count = 1 + dice(&m, 3); i < count; i++) change(&m, &root);
    buf_char(&out, 'J');
    json_write(&out, &root);
    if (end) buf_add(&out, end, size - (size_t)(end - data));
    size_t n = out.n <= most ? out.n : 0;
    if (n) memcpy(data, out.p, n);
    buf_free(&out);
    arena_free(&arena);
    return n ? n : LLVMFuzzerMutate(data, size, most);
}
