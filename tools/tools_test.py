#!/usr/bin/env python3
"""Tests of the tools that need nothing but numpy: python3 tools/tools_test.py"""
import os
import random
import struct
import tempfile
import unittest

import numpy as np

import block_formats
import tales_corpus
from gguf_writer import GgufWriter, ValueType
from qwen3_gguf import Qwen3Shape, Vocabulary, tensor_shapes


class BlockFormats(unittest.TestCase):
    def test_one_bit_block_by_hand(self):
        w = np.full((1, 128), -0.5, np.float32)
        w[0, [0, 9]] = 0.5  # bit 0 of byte 0, bit 1 of byte 1
        self.assertEqual(block_formats.pack(w, block_formats.Q1_0),
                         np.float16(0.5).tobytes() + bytes([1, 2] + [0] * 14))

    def test_two_bit_block_by_hand(self):
        w = np.zeros((1, 64), np.float32)
        w[0, :3] = 2, -2, 0.9  # codes 2, 0, 1, and 1 for the zeros
        self.assertEqual(block_formats.pack(w, block_formats.Q2_0),
                         np.float16(2).tobytes() + bytes([0x52] + [0x55] * 15))

    def test_representable_weights_survive(self):
        rng = np.random.default_rng(1)
        for fmt in block_formats.FORMATS.values():
            scale = rng.uniform(0.1, 2, (6, 4, 1)).astype(np.float16).astype(np.float32)
            codes = rng.choice([-1, 1] if fmt.bits == 1 else [-1, 0, 1], (6, 4, fmt.group))
            w = (codes * scale).astype(np.float32).reshape(6, -1)
            data = block_formats.pack(w, fmt)
            self.assertEqual(len(data), fmt.n_bytes(*w.shape))
            np.testing.assert_array_equal(block_formats.unpack(data, *w.shape, fmt), w)

    def test_random_chunks_are_whole_and_ternary(self):
        for fmt in block_formats.FORMATS.values():
            data = b"".join(block_formats.random_chunks(np.random.default_rng(2), 1024, 512, fmt))
            w = block_formats.unpack(data, 1024, 512, fmt)
            blocks = w.reshape(-1, fmt.group)
            scale = np.frombuffer(data, fmt.dtype)["d"].astype(np.float32)[:, None]
            self.assertEqual(set(np.unique(blocks / scale)), {-1, 1} if fmt.bits == 1 else {-1, 0, 1})
            self.assertLess(abs(scale.mean() * np.sqrt(512) - 1), 0.01)

    def test_rows_must_be_whole_groups(self):
        with self.assertRaisesRegex(ValueError, "rows of 192 weights"):
            block_formats.Q1_0.n_bytes(2, 192)


class Writer(unittest.TestCase):
    def write(self, writer):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.gguf")
            n_bytes = writer.write(path)
            with open(path, "rb") as f:
                data = f.read()
        self.assertEqual(n_bytes, len(data))
        return data

    def test_file_by_hand(self):
        writer = GgufWriter()
        writer.add("k", ValueType.U32, 7)
        writer.add_array("a", ValueType.STRING, ["x", "\u00e9"])
        writer.add_tensor("t", (3, 1), 24, 3, lambda: [b"ab", b"c"])
        writer.add_tensor("u", (2,), 24, 2, lambda: [b"de"])
        header = struct.pack("<4sIQQ", b"GGUF", 3, 2, 2)
        header += struct.pack("<Q1sII", 1, b"k", 4, 7)
        header += struct.pack("<Q1sIIQQ1sQ2s", 1, b"a", 9, 8, 2, 1, b"x", 2, b"\xc3\xa9")
        header += struct.pack("<Q1sIQQIQ", 1, b"t", 2, 3, 1, 24, 0)
        header += struct.pack("<Q1sIQIQ", 1, b"u", 1, 2, 24, 32)
        header += b"\0" * (-len(header) % 32)
        self.assertEqual(self.write(writer), header + b"abc" + b"\0" * 29 + b"de" + b"\0" * 30)

    def test_wrong_data_size_is_refused(self):
        writer = GgufWriter()
        writer.add_tensor("t", (4,), 24, 4, lambda: [b"abc"])
        with self.assertRaisesRegex(ValueError, "t: 3 bytes of data, expected 4"):
            self.write(writer)


class Qwen3(unittest.TestCase):
    def test_tensor_count_and_tying(self):
        shape = dict(n_layers=3, hidden=256, ffn=512, n_heads=4, n_kv_heads=2, head_dim=128, vocab=99, context=64,
                     rope_base=1e4)
        tied = [t.name for t in tensor_shapes(Qwen3Shape(is_tied=True, **shape))]
        self.assertEqual(len(tied), len(set(tied)))
        self.assertEqual(len(tied), 2 + 11 * 3)
        untied = [t.name for t in tensor_shapes(Qwen3Shape(is_tied=False, **shape))]
        self.assertEqual(set(untied) - set(tied), {"output.weight"})

    def test_vocabulary_of_tokenizer_json(self):
        document = {"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"], "ab c"]},
                    "added_tokens": [{"id": 3, "content": "<s>", "special": True},
                                     {"id": 4, "content": "<t>", "special": False}]}
        v = Vocabulary.from_tokenizer_json(document, 6)
        self.assertEqual(v.tokens, ["a", "b", "ab", "<s>", "<t>", "<pad5>"])
        self.assertEqual(v.types, [1, 1, 1, 3, 4, 5])
        self.assertEqual(v.merges, ["a b", "ab c"])


class TalesCorpus(unittest.TestCase):
    STORY = "Once upon a time a dragon sang to the dragon of the mountain. " * 8

    def test_openings_end_with_a_sentence(self):
        book = "Preface text.\n\n" + self.STORY + "and then" + "\n\nIn short, no."
        (story,) = tales_corpus.story_openings([book])
        self.assertTrue(story.startswith("Once upon"))
        self.assertTrue(story.endswith("."))
        self.assertEqual(tales_corpus.story_openings(["Once. Short."]), [])

    def test_topic_is_a_frequent_word_that_says_something(self):
        for seed in range(20):
            self.assertIn(tales_corpus.topic(self.STORY, random.Random(seed)), {"dragon", "mountain", "sang"})
        self.assertIsNone(tales_corpus.topic("The and of it.", random.Random(1)))

    def test_shorten_keeps_whole_sentences(self):
        self.assertEqual(tales_corpus.shorten("Short."), "Short.")
        story = tales_corpus.shorten(self.STORY * 10)
        self.assertLessEqual(len(story), tales_corpus.MAX_STORY_CHARS)
        self.assertTrue(story.endswith("mountain."))

    def test_texts_hold_out_what_they_promise(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, n in (("books", 20), ("tiny", 30)):
                documents = [f"{name} {i}. " + self.STORY for i in range(n)]
                with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as f:
                    f.write("<|endoftext|>".join(documents + ["too short"]))
            corpus = tales_corpus.load(folder, random.Random(1))
        self.assertEqual((len(corpus.books), len(corpus.tiny), len(corpus.held_out)), (6, 5, 39))
        texts = tales_corpus.training_texts(corpus, random.Random(1))
        self.assertEqual(len(texts), 6 + 5 * 3 + 5 * 3)
        self.assertTrue(all(t.endswith("<|endoftext|>") for t in texts))
        chats = [t for t in texts if t.startswith("<|im_start|>user\n")]
        self.assertEqual(len(chats), 15)
        labels = [d[:d.index(".") + 1] for d in corpus.held_out]
        self.assertFalse([label for label in labels if any(label in t for t in texts)])


if __name__ == "__main__":
    unittest.main()
