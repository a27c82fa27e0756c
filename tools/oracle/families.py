#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""families.py OUT - tiny models whose name or class does not tell what they can do: tests/golden/families.

Each folder is one that a user has: config.json as transformers saves it, model.onnx by torch.onnx (or Optimum) or
model.safetensors, a tokenizer.json of 60 words. Of those that answer texts, texts.txt has a text a line and output.npy
what torch gives for them, one by one: the wanted output's numbers in a row ([tokens, width] of each text, or [width]).
The ones named *-past and *-decoder cannot answer a text. Needs torch, transformers 4.57, optimum-onnx, onnx,
tokenizers, numpy."""
import json
import os
import shutil
import sys
import tempfile
import warnings

import numpy as np
import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

warnings.filterwarnings("ignore")
WORDS = ["<s>", "<pad>", "</s>", "<unk>"] + [f"w{i}" for i in range(56)]
TEXTS = ["w1 w2 w3 w4", "w7", "w50 w2 w2 w9 w31 w12 w0 w55 w8", "w3 w1 w4 w1 w5"]
MARKS = dict(vocab_size=60, bos_token_id=0, pad_token_id=1, eos_token_id=2)
BART = dict(MARKS, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=30, num_labels=3, decoder_start_token_id=2)
T5 = dict(vocab_size=60, d_model=8, d_kv=4, d_ff=12, num_layers=1, num_heads=2, pad_token_id=1)
CLIP = dict(MARKS, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2,
            max_position_embeddings=32, projection_dim=6)
VISION = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, image_size=8,
              patch_size=4)
GPT2 = dict(MARKS, n_positions=32, n_embd=8, n_layer=1, n_head=2, num_labels=2)  # which config.json then leaves out
BERT = dict(vocab_size=60, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2,
            max_position_embeddings=32, pad_token_id=1)


def tokenizer():
    t = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>",
                                                     special_tokens=[("<s>", 0), ("</s>", 2)])
    t.add_special_tokens(WORDS[:4])
    return t


class Named(torch.nn.Module):
    """Inputs by position, the named outputs as a tuple."""

    def __init__(self, model, inputs, outputs):
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def forward(self, *args):
        out = self.model(**dict(zip(self.inputs, args)))
        return tuple(out[name] for name in self.outputs)


def save(folder, model):
    os.makedirs(folder, exist_ok=True)
    config = model.config.to_diff_dict()
    config["architectures"] = [type(model).__name__]
    with open(f"{folder}/config.json", "w") as f:
        json.dump(config, f, indent=1, sort_keys=True)
    tokenizer().save(f"{folder}/tokenizer.json", pretty=False)


def spread(model):
    """Weights large enough that labels and positions matter."""
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(0, 0.4)
    return model.eval()


def answers(folder, model, output, image=False):
    rows = []
    for text in TEXTS:
        ids = torch.tensor([tokenizer().encode(text).ids])
        given = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
        if image:
            given["pixel_values"] = torch.rand(1, 3, 8, 8)
        rows.append(model(**given)[output].detach().numpy().astype(np.float32).ravel())
    np.save(f"{folder}/output.npy", np.concatenate(rows))
    with open(f"{folder}/texts.txt", "w") as f:
        f.write("\n".join(TEXTS) + "\n")


def export(folder, model, outputs, image=False):
    save(folder, model)
    ids = torch.tensor([[0, 5, 6, 7, 2], [0, 9, 2, 1, 1]])
    inputs, args = ["input_ids", "attention_mask"], [ids, (ids != 1).long()]
    if image:
        inputs.append("pixel_values"), args.append(torch.rand(2, 3, 8, 8))
    tokens, rows = {0: "batch", 1: "sequence"}, {0: "batch"}
    axes = {name: tokens for name in inputs[:2]}
    axes.update({name: tokens if name == "last_hidden_state" else rows for name in outputs})
    torch.onnx.export(Named(model, inputs, outputs).eval(), tuple(args), f"{folder}/model.onnx", input_names=inputs,
                      output_names=outputs, dynamic_axes=axes, opset_version=17, dynamo=False)
    answers(folder, model, outputs[0], image)


def optimum(folder, model, task, name):
    """One graph of what Optimum writes for a generator."""
    from optimum.exporters.onnx import main_export
    with tempfile.TemporaryDirectory() as at:
        save(f"{at}/in", model)
        model.save_pretrained(f"{at}/in")
        main_export(f"{at}/in", f"{at}/out", task=task, do_validation=False, no_post_process=True)
        save(folder, model)
        shutil.copy(f"{at}/out/{name}", f"{folder}/model.onnx")


def main():
    out = sys.argv[1]
    torch.manual_seed(17)
    eager = dict(attn_implementation="eager")
    export(f"{out}/bart", spread(tf.BartForSequenceClassification(tf.BartConfig(**BART, **eager))), ["logits"])
    export(f"{out}/t5", spread(tf.T5EncoderModel(tf.T5Config(**T5))), ["last_hidden_state"])
    export(f"{out}/clip-text", spread(tf.CLIPTextModel(tf.CLIPTextConfig(**CLIP, **eager))), ["last_hidden_state"])
    clip = tf.CLIPConfig(text_config=CLIP, vision_config=VISION, projection_dim=6, **eager)
    export(f"{out}/clip", spread(tf.CLIPModel(clip)), ["text_embeds", "image_embeds"], image=True)
    decoder = spread(tf.GPT2ForSequenceClassification(tf.GPT2Config(**GPT2)))
    optimum(f"{out}/gpt2", decoder, "text-classification", "model.onnx")
    answers(f"{out}/gpt2", decoder, "logits")
    optimum(f"{out}/gpt2-past", spread(tf.GPT2LMHeadModel(tf.GPT2Config(**GPT2))), "text-generation-with-past",
            "model.onnx")
    optimum(f"{out}/t5-decoder", spread(tf.T5ForConditionalGeneration(tf.T5Config(**T5))), "text2text-generation",
            "decoder_model.onnx")
    masked = spread(tf.BertForMaskedLM(tf.BertConfig(**BERT)))
    save(f"{out}/bert-masked", masked)
    masked.save_pretrained(f"{out}/bert-masked")
    answers(f"{out}/bert-masked", tf.AutoModel.from_pretrained(f"{out}/bert-masked").eval(), "last_hidden_state")


main()
