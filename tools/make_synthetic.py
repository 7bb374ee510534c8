#!/usr/bin/env python3
"""Write a GGUF with the exact shapes of a Bonsai model and random low-bit weights.

    make_synthetic.py OUT.gguf --model 8b --type Q1_0 [--tokenizer tokenizer.json] [--seed N]

Speed and memory do not depend on the values of the weights: such a file loads, runs and times as the released
model does, without a download. Its text is noise.

--tokenizer takes the tokenizer.json of Qwen3 (and the chat template of a tokenizer_config.json beside it); without
it the file holds placeholder tokens of the right number. Needs numpy; memory stays below 1 GB.
"""
import argparse
import json
import os

import numpy as np

import block_formats
from gguf_writer import GGUF_F32, GgufWriter, Progress
from qwen3_gguf import Qwen3Shape, Vocabulary, add_model_keys, add_vocabulary, tensor_shapes

VOCAB = 151936
SPECIAL_IDS = {"eos": 151645, "padding": 151643, "bos": 151643}
PUBLISHED_Q2_ID = 42

SHAPES = {
    "8b": Qwen3Shape(n_layers=36, hidden=4096, ffn=12288, n_heads=32, n_kv_heads=8, head_dim=128, vocab=VOCAB,
                     is_tied=False, context=65536, rope_base=1e6),
    "4b": Qwen3Shape(n_layers=36, hidden=2560, ffn=9728, n_heads=32, n_kv_heads=8, head_dim=128, vocab=VOCAB,
                     is_tied=True, context=32768, rope_base=5e6),
    "1.7b": Qwen3Shape(n_layers=28, hidden=2048, ffn=6144, n_heads=16, n_kv_heads=8, head_dim=128, vocab=VOCAB,
                       is_tied=True, context=32768, rope_base=1e6),
    "tiny": Qwen3Shape(n_layers=4, hidden=256, ffn=768, n_heads=4, n_kv_heads=2, head_dim=128, vocab=VOCAB,
                       is_tied=True, context=4096, rope_base=1e6),
}


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def read_tokenizer(path, n_tokens):
    """(vocabulary, chat template or "") from a tokenizer.json and the tokenizer_config.json beside it."""
    vocabulary = Vocabulary.from_tokenizer_json(read_json(path), n_tokens)
    config_path = os.path.join(os.path.dirname(path), "tokenizer_config.json")
    template = read_json(config_path).get("chat_template") if os.path.exists(config_path) else None
    return vocabulary, template if isinstance(template, str) else ""


def add_tensors(writer, shape, fmt, type_id, rng):
    """Random matrices and vectors of ones. Data is drawn while the file is written, in the order of the tensors."""
    for t in tensor_shapes(shape):
        if t.rows == 0:
            ones = np.ones(t.cols, "<f4").tobytes()
            writer.add_tensor(t.name, (t.cols,), GGUF_F32, len(ones), lambda data=ones: [data])
        else:
            writer.add_tensor(t.name, (t.cols, t.rows), type_id, fmt.n_bytes(t.rows, t.cols),
                              lambda t=t: block_formats.random_chunks(rng, t.rows, t.cols, fmt))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT.gguf")
    parser.add_argument("--model", default="8b", choices=SHAPES)
    parser.add_argument("--type", default="Q1_0", choices=block_formats.FORMATS)
    parser.add_argument("--id-42", action="store_true",
                        help="give Q2_0_G128 tensors the type id of Q2_0, as published ternary files do")
    parser.add_argument("--tokenizer", metavar="tokenizer.json")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.id_42 and arguments.type != "Q2_0_G128":
        parser.error("--id-42 needs --type Q2_0_G128")
    return arguments


def main():
    arguments = parse_arguments()
    shape, fmt = SHAPES[arguments.model], block_formats.FORMATS[arguments.type]
    vocabulary, template = Vocabulary.placeholder(shape.vocab), ""
    if arguments.tokenizer:
        vocabulary, template = read_tokenizer(arguments.tokenizer, shape.vocab)
    writer = GgufWriter()
    add_model_keys(writer, "synthetic-bonsai-" + arguments.model, shape, fmt.file_type)
    add_vocabulary(writer, vocabulary, SPECIAL_IDS, template)
    type_id = PUBLISHED_Q2_ID if arguments.id_42 else fmt.type_id
    add_tensors(writer, shape, fmt, type_id, np.random.default_rng(arguments.seed))
    n_bytes = writer.write(arguments.out, Progress(arguments.out))
    print(arguments.out, n_bytes, "bytes")


if __name__ == "__main__":
    main()
