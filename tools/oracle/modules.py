"""Writes the modules that hooks see when transformers runs a model, for tests/test_export_htp.c.

    python tools/oracle/modules.py >> tests/golden/htp/modules.txt

Once with transformers 5 and once with 4.57; the version is in each line that opens a model ("= 5 bert BertForMaskedLM"),
module paths and tags follow (rule 2.1 of the notes: classes of torch.nn left out). Of layers only the first is kept, of
models with a head only what the encoder alone does not have. ModernBERT's rotary tables in transformers 4 are left
out. Needs torch, transformers."""
import warnings

import torch
import transformers as tf

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
SIZES = dict(vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=40)
CASES = {
    "bert": ("Bert", "bert", {}),
    "roberta": ("Roberta", "roberta", dict(pad_token_id=1)),
    "xlm-roberta": ("XLMRoberta", "roberta", dict(pad_token_id=1)),
    "camembert": ("Camembert", "roberta", dict(pad_token_id=1)),
    "distilbert": ("DistilBert", "distilbert", dict(dim=16, n_layers=2, n_heads=2, hidden_dim=24)),
    "albert": ("Albert", "albert", dict(embedding_size=8)),
    "electra": ("Electra", "electra", dict(embedding_size=8)),
    "mpnet": ("MPNet", "mpnet", dict(pad_token_id=1)),
    "deberta": ("Deberta", "deberta", dict(relative_attention=True, pos_att_type="c2p|p2c", type_vocab_size=0)),
    "deberta-v2": ("DebertaV2", "deberta", dict(relative_attention=True, position_buckets=8, pos_att_type="p2c|c2p",
                                                norm_rel_ebd="layer_norm", share_att_key=True, type_vocab_size=0)),
    "modernbert": ("ModernBert", "model", dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1,
                                               sep_token_id=2, local_attention=8)),
    "ernie": ("Ernie", "ernie", {}),
}
HEADS = ("Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


def table(model):
    found, stack = {}, []

    def enter(name):
        def hook(module, args):
            last = name.split(".")[-1]
            stack.append((stack[-1] if stack else "") + "/" + type(module).__name__ + ("." + last if last.isdigit() else ""))
            found.setdefault(name, stack[-1])
        return hook
    for name, module in model.named_modules():
        if not type(module).__module__.startswith(("torch.nn", "torch._C")):
            module.register_forward_pre_hook(enter(name))
            module.register_forward_hook(lambda m, a, o: stack.pop() and None)
    with torch.no_grad():
        model(input_ids=torch.tensor([[3, 4, 5, 6]]), attention_mask=torch.ones(1, 4, dtype=torch.long))
    return found


def main():
    version = tf.__version__.split(".")[0]
    for model_type, (prefix, base, more) in CASES.items():
        for head in HEADS:
            name = prefix + head
            if not hasattr(tf, name):
                continue
            model = getattr(tf, name)(getattr(tf, prefix + "Config")(**{**SIZES, **more})).eval()
            print("= %s %s %s" % (version, model_type, name))
            for path, tag in table(model).items():
                inner = path.split(".")[0] == base and path != base
                if version == "4" and path.endswith("rotary_emb"):
                    continue  # there one in each layer, which an export of ours never has
                if ".1" in path or (head != "Model" and inner and "pooler" not in path):
                    continue
                print("%s\t%s" % (path, tag))


if __name__ == "__main__":
    main()
