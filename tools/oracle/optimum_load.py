"""What Optimum says of model folders: the verdicts that tests/cli/optimum.sh holds `validate DIR` against.

    python tools/oracle/optimum_load.py names
    python tools/oracle/optimum_load.py models
    python tools/oracle/optimum_load.py record PROGRAM
    python tools/oracle/optimum_load.py compare PROGRAM WORK_FOLDER TOKENIZER_FOLDER [--no-own]

Needs optimum-onnx 0.1 with optimum 2.1, transformers 4.57 and torch; run from the root of the tree.
names: writes src/model/optimum_names.c, the model types and operators that the installed releases know.
models: exports tiny models of many kinds with Optimum into tests/golden/optimum/KIND (config.json, *.onnx.gz).
record: makes every folder of tests/golden/optimum/folders.tsv (name, base, class, shell commands that change it), loads it with
that class (ORTModelForX.from_pretrained), runs it once on what a processor would give, and writes verdicts.tsv: name, load, run
("ok", or the exception's class and first line). A base is KIND, or "export FOLDER": what PROGRAM makes of it, or "copy FOLDER".
compare: for every row of CASES a model with random weights is saved with the tokenizer of TOKENIZER_FOLDER (examples/bus-ner),
exported by us (tags and metadata inside), loaded by ORTModelForX.from_pretrained and compared with PyTorch over three padded
batches; its int8 file must load too. Then Optimum exports the same folder (export=True): files, names and axes of both, and the
difference of the answers."""
import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
import transformers as tf
from optimum import onnxruntime as oo

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
SIZES = dict(vocab_size=1600, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
DISTIL = dict(vocab_size=1600, dim=48, n_layers=2, n_heads=4, hidden_dim=64)
LOADERS = {"ForSequenceClassification": oo.ORTModelForSequenceClassification,
           "ForTokenClassification": oo.ORTModelForTokenClassification,
           "ForQuestionAnswering": oo.ORTModelForQuestionAnswering, "ForMaskedLM": oo.ORTModelForMaskedLM,
           "Model": oo.ORTModelForFeatureExtraction, "ForMultipleChoice": oo.ORTModelForMultipleChoice}
CASES = [("Bert", h, SIZES) for h in LOADERS]
CASES += [("DistilBert", h, DISTIL) for h in ("ForSequenceClassification", "ForTokenClassification", "Model")]
CASES += [(f, h, dict(SIZES, pad_token_id=0)) for f in ("Roberta", "Albert", "Electra", "MPNet", "DebertaV2", "ModernBert")
          for h in ("ForSequenceClassification", "Model")]
TEXTS = [["AC sleeper bus from Bangalore to Mumbai tomorrow", "Volvo to Goa"], ["VRL Non-AC from Chennai to Hyderabad next Friday"],
         ["a", "Delhi to Jaipur tomorrow morning, two seats please", "is there an overnight bus to Pune?"]]
FIELDS = ("logits", "start_logits", "end_logits", "last_hidden_state")


# ---- names ----

def names(_):
    """The model types and operators, each list as one C string with a space around every name."""
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    domain = lambda d: sorted({s.name for s in get_all_operator_schema() if s.domain == d})
    rows = (("optimum_types", "model types of transformers " + tf.__version__, sorted(CONFIG_MAPPING_NAMES)),
            ("optimum_operators", "operators of ONNX in ONNX Runtime " + onnxruntime.__version__, domain("")),
            ("optimum_contrib", "operators of com.microsoft in it", domain("com.microsoft")))
    with open("src/model/optimum_names.c", "w") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0\n * optimum_names.c - written by tools/oracle/optimum_load.py names. */\n"
                  "#include \"model/optimum.h\"\n")
        for name, what, words in rows:
            out.write("\n/* %s */\nconst char %s[] =\n" % (what, name))
            lines, line = [], " "
            for word in words:
                if len(line) + len(word) > 88:
                    lines, line = lines + [line], ""
                line += word + " "
            out.write("\n".join('    "%s"' % l for l in lines + [line]) + ";\n")


# ---- tiny models of many kinds ----

TEXT = dict(vocab_size=24, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
SEE = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, patch_size=4)
HEAR = dict(conv_dim=(4, 4), conv_kernel=(4, 2), conv_stride=(4, 2), num_feat_extract_layers=2, num_conv_pos_embeddings=4,
            num_conv_pos_embedding_groups=2)
CLIP = dict(text_config=dict(TEXT, projection_dim=8, eos_token_id=2, max_position_embeddings=16),
            vision_config=dict(SEE, image_size=8, projection_dim=8), projection_dim=8)
SEG = dict(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[4, 8], patch_sizes=[3, 3], strides=[2, 2],
           num_attention_heads=[1, 2], mlp_ratios=[1, 1], decoder_hidden_size=8)
KINDS = {
    "bert": ("BertForSequenceClassification", dict(TEXT, max_position_embeddings=16), "text-classification"),
    "squad": ("DistilBertForQuestionAnswering", dict(vocab_size=24, dim=8, n_layers=1, n_heads=2, hidden_dim=8,
                                                    max_position_embeddings=16), "question-answering"),
    "lilt": ("LiltForTokenClassification", dict(TEXT, hidden_size=24, max_position_embeddings=32, max_2d_position_embeddings=32,
                                                pad_token_id=0), "token-classification"),
    "vit": ("ViTForImageClassification", dict(SEE, image_size=8), "image-classification"),
    "resnet": ("ResNetForImageClassification", dict(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic"),
               "image-classification"),
    "segformer": ("SegformerForSemanticSegmentation", SEG, "semantic-segmentation"),
    "yolos": ("YolosForObjectDetection", dict(SEE, image_size=[8, 8], num_detection_tokens=2, use_mid_position_embeddings=False),
             "object-detection"),
    "clip": ("CLIPModel", CLIP, "zero-shot-image-classification"),
    "wav2vec2": ("Wav2Vec2ForCTC", dict(TEXT, **HEAR), "automatic-speech-recognition"),
    "hubert": ("HubertForSequenceClassification", dict(TEXT, **HEAR), "audio-classification"),
    "gpt2": ("GPT2LMHeadModel", dict(vocab_size=24, n_positions=16, n_embd=8, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2),
             "text-generation-with-past"),
    "t5": ("T5ForConditionalGeneration", dict(vocab_size=24, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2,
                                             decoder_start_token_id=0), "text2text-generation-with-past"),
}
GOLDEN = "tests/golden/optimum"
IMAGE = dict(image_processor_type="ViTImageProcessor", do_resize=True, size={"height": 8, "width": 8}, do_normalize=True,
             image_mean=[0.5] * 3, image_std=[0.5] * 3)


def preprocessor(kind, folder):
    """The file that a real model of the kind comes with; tokenizers are one small vocabulary."""
    if kind in ("vit", "resnet", "segformer", "yolos", "clip"):
        with open(os.path.join(folder, "preprocessor_config.json"), "w") as out:
            json.dump(IMAGE, out, indent=2)
    if kind in ("wav2vec2", "hubert"):
        tf.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    if kind in ("bert", "squad", "lilt", "clip", "gpt2", "t5"):
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list("abcdefghijklmnopqrs")
        with tempfile.TemporaryDirectory() as work:
            with open(os.path.join(work, "vocab.txt"), "w") as out:
                out.write("\n".join(words))
            tf.BertTokenizerFast(os.path.join(work, "vocab.txt")).save_pretrained(folder)
        os.remove(os.path.join(folder, "vocab.txt"))


def strip(path):
    """Without what no loader asks for, compressed to equal bytes every time."""
    model = onnx.load(path)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    del model.graph.value_info[:]
    with open(path + ".gz", "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as packed:
        packed.write(model.SerializeToString(deterministic=True))
    os.remove(path)


def models(_):
    from optimum.exporters.onnx import main_export
    for kind, (name, config, task) in KINDS.items():
        torch.manual_seed(3)
        cls, folder = getattr(tf, name), os.path.join(GOLDEN, kind)
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work:
            cls(cls.config_class(**config)).save_pretrained(work)
            main_export(work, folder, task=task, do_validation=False, no_post_process=kind != "t5", opset=18)
        preprocessor(kind, folder)
        for file in sorted(os.listdir(folder)):
            path = os.path.join(folder, file)
            if file.endswith(".onnx") and (kind != "t5" or "encoder" in file or "merged" in file):
                strip(path)
            elif file.endswith(".onnx"):
                os.remove(path)
        print(kind, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)), flush=True)


# ---- verdicts ----

SIZES_OF = {"batch_size": 1, "sequence_length": 8, "num_channels": 3, "height": 8, "width": 8, "text_batch_size": 1,
            "image_batch_size": 1, "past_sequence_length + sequence_length": 8}


def base_of(program, base, folder):
    word, _, rest = base.partition(" ")
    if word == "export":
        subprocess.run([program, "export", rest, folder], check=True, capture_output=True)
    elif word == "copy":
        shutil.copytree(rest, folder)
    else:
        shutil.copytree(os.path.join(GOLDEN, base), folder)
        subprocess.run("gzip -d *.gz", shell=True, check=True, cwd=folder)


def feed_of(folder):
    """What a processor gives for the unchanged graph: tensors by the names of its inputs."""
    path = os.path.join(folder, "model.onnx")
    feed = {}
    if not os.path.exists(path):
        return {k: torch.ones(1, 4, dtype=torch.int64) for k in ("input_ids", "attention_mask", "decoder_input_ids")}
    for value in onnx.load(path, load_external_data=False).graph.input:
        if value.name.startswith(("past_key", "position_ids")):
            continue
        whole = value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT
        longest = 8 if whole or value.name == "pixel_values" else 400
        shape = [d.dim_value or (longest if d.dim_param == "sequence_length" else SIZES_OF[d.dim_param])
                 for d in value.type.tensor_type.shape.dim]
        feed[value.name] = torch.ones(shape, dtype=torch.int64 if whole else torch.float32)
    return feed


def first_line(e):
    line = (str(e).splitlines() or [""])[0].replace("\t", " ").replace(os.getcwd(), "")
    return "%s: %s" % (type(e).__name__, line[:120])


def verdict(cls, name, feed):
    """Loads relative to the working folder: without a model_type the path decides, too."""
    if not [f for _, _, names in os.walk(name) for f in names if f.endswith(".onnx")]:
        cls._export = classmethod(lambda *a, **k: (_ for _ in ()).throw(RuntimeError("wants to export the model first")))
    try:
        model = cls.from_pretrained(name)
    except Exception as e:
        return first_line(e), "-"
    try:
        model(**feed)
    except Exception as e:
        return "ok", first_line(e)
    return "ok", "ok"


def record(args):
    root, program = os.getcwd(), os.path.abspath(args.program)
    rows = [l.rstrip("\n").split("\t") for l in open(os.path.join(GOLDEN, "folders.tsv")) if not l.startswith("#")]
    work = tempfile.mkdtemp()
    lines = []
    for name, base, cls, edit in rows:
        folder = os.path.join(work, name)
        base_of(program, base, folder)
        feed = feed_of(folder)
        subprocess.run(["sh", "-ec", edit], check=True, cwd=folder, env=dict(os.environ, EF=program, ROOT=root))
        # each row in a process of its own: a load may change its class
        pid = os.fork()
        if pid == 0:
            os.chdir(work)
            with open("verdict", "w") as out:
                out.write("\t".join(verdict(getattr(oo, cls), name, feed)))
            os._exit(0)
        os.waitpid(pid, 0)
        line = name + "\t" + open(os.path.join(work, "verdict")).read()
        print(line, flush=True)
        lines.append(line)
    with open(os.path.join(GOLDEN, "verdicts.tsv"), "w") as out:
        out.write("\n".join(lines) + "\n")
    shutil.rmtree(work)


# ---- our exports beside Optimum's ----

def make(family, head, sizes, folder, tokenizer):
    torch.manual_seed(3)
    config = getattr(tf, family + "Config")(**sizes)
    model = getattr(tf, family + head)(config).eval()
    for p in model.parameters():
        p.data.add_(torch.randn_like(p) * 0.1)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def answers(model, feeds):
    rows = []
    for feed in feeds:
        with torch.no_grad():
            out = model(**feed)
        rows.append([np.array(out[f]) for f in FIELDS if f in out and out[f] is not None])
    return rows


def difference(feeds, a, b):
    worst = 0.0
    for feed, x, y in zip(feeds, a, b):
        for left, right in zip(x, y):
            mask = feed["attention_mask"].numpy()
            tokens = left.ndim >= 2 and left.shape[:2] == mask.shape and mask.ndim == 2
            far = np.abs(left - right)
            worst = max(worst, float(far[mask == 1].max() if tokens else far.max()))
    return worst


def axes(path):
    graph = onnx.load(path, load_external_data=False).graph
    show = lambda v: "%s[%s]" % (v.name, ",".join(d.dim_param or str(d.dim_value) for d in v.type.tensor_type.shape.dim))
    return " ".join(map(show, graph.input)) + " -> " + " ".join(map(show, graph.output)), len(graph.node)


def files(folder):
    return sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, names in os.walk(folder) for f in names)


def feeds_of(tokenizer, model, choices):
    feeds = []
    for texts in TEXTS:
        feed = dict(tokenizer(texts, padding=True, return_tensors="pt"))
        if "token_type_ids" not in model.forward.__code__.co_varnames or getattr(model.config, "type_vocab_size", 2) < 2:
            feed.pop("token_type_ids", None)
        feeds.append({k: v[None] for k, v in feed.items()} if choices else feed)
    return feeds


def check(args, family, head, sizes, tokenizer):
    source = os.path.join(args.work, family + head)
    out, own = source + "-ours", source + "-optimum"
    model = make(family, head, sizes, source, tokenizer)
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([args.program, "export", source, out, "--quantize"], check=True, capture_output=True)
    nodes = onnx.load(os.path.join(out, "model.onnx")).graph.node
    tagged = sum(bool(n.metadata_props) for n in nodes)
    feeds = feeds_of(tokenizer, model, head == "ForMultipleChoice")
    want = answers(model, feeds)
    loaded = LOADERS[head].from_pretrained(out)
    ours = difference(feeds, want, answers(loaded, feeds))
    small = difference(feeds, want, answers(LOADERS[head].from_pretrained(out, file_name="model_quantized.onnx"), feeds))
    meta = {p.key for p in onnx.load(os.path.join(out, "model.onnx"), load_external_data=False).metadata_props}
    line = "%-10s %-26s ours %.2g, int8 %.2g; %d of %d nodes tagged, %d metadata keys" % (
        family, head, ours, small, tagged, len(nodes), len(meta))
    if args.no_own:
        print(line, flush=True)
        return ours > 1e-4 or tagged != len(nodes)
    shutil.rmtree(own, ignore_errors=True)
    try:
        theirs = LOADERS[head].from_pretrained(source, export=True)
        theirs.save_pretrained(own)
        tokenizer.save_pretrained(own)
    except Exception as e:
        print(line + "; Optimum cannot export it: " + str(e).splitlines()[0][:80], flush=True)
        return ours > 1e-4 or tagged != len(nodes)
    mine, their_axes = axes(os.path.join(out, "model.onnx")), axes(os.path.join(own, "model.onnx"))
    print(line + "; Optimum's %.2g, %d nodes" % (difference(feeds, want, answers(theirs, feeds)), their_axes[1]), flush=True)
    print("    axes %s" % ("equal: " + mine[0] if mine[0] == their_axes[0] else "ours " + mine[0] + " | theirs " + their_axes[0]))
    print("    files only ours: %s; only Optimum's: %s" % (
        " ".join(sorted(set(files(out)) - set(files(own)))) or "-", " ".join(sorted(set(files(own)) - set(files(out)))) or "-"))
    return ours > 1e-4 or tagged != len(nodes) or mine[0] != their_axes[0]


def compare(args):
    args.program = os.path.abspath(args.program)
    tokenizer = tf.AutoTokenizer.from_pretrained(args.tokenizer)
    bad = sum(bool(check(args, *case, tokenizer)) for case in CASES)
    print("%d of %d differ: more than 1e-4, untagged nodes, or other axes" % (bad, len(CASES)))
    sys.exit(bad > 0)


def main():
    parser = argparse.ArgumentParser()
    words = parser.add_subparsers(required=True)
    words.add_parser("names").set_defaults(run=names)
    words.add_parser("models").set_defaults(run=models)
    one = words.add_parser("record")
    one.add_argument("program")
    one.set_defaults(run=record)
    two = words.add_parser("compare")
    two.add_argument("program")
    two.add_argument("work")
    two.add_argument("tokenizer")
    two.add_argument("--no-own", action="store_true", help="do not export with Optimum")
    two.set_defaults(run=compare)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
