#!/usr/bin/env python3
"""Train the demonstration model: a Qwen3 language model whose every matrix has 1 bit to a weight.

    train_tales.py CORPUS_DIR OUT.gguf SECONDS [--layers 12] [--batch-size 256] [--seed 1]

Quantisation-aware: weights are kept in float32 while the forward pass sees sign(w) * mean|w| over groups of 128,
which is what a Q1_0 block stores; the gradient passes straight through (Bengio et al. 2013, arXiv:1308.3432).
The learning rate follows the clock, so that training ends after SECONDS. Needs a CUDA GPU, PyTorch 2.5 or newer
and the Hugging Face tokenizers library. tales_corpus.py says what CORPUS_DIR holds.
"""
import argparse
import json
import math
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

import tales_corpus
from block_formats import Q1_0, pack
from gguf_writer import GGUF_F32, GgufWriter, ValueType
from qwen3_gguf import RMS_EPS, Qwen3Shape, Vocabulary, add_model_keys, add_vocabulary, tensor_shapes
from tales_corpus import END_OF_TEXT, IM_END, IM_START, SPECIAL_TOKENS

VOCAB = 4096
CONTEXT = 512

PRE_TOKENIZER = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                 r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TOKENIZER_SAMPLES, TOKENIZER_SAMPLE_CHARS = 4000, 20000

CHAT_TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
                 "'<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
                 "{% endif %}")

MATRIX_LEARNING_RATE, OTHER_LEARNING_RATE = 0.02, 3e-3
WARM_UP_STEPS = 100
DECAY_BEGIN, LEARNING_RATE_FLOOR = 0.4, 0.02  # share of the time; share of the full rate
REPORT_SECONDS = 30

SAMPLE_PROMPTS = [
    "Once upon a time",
    f"{IM_START}user\nTell me a story about a dragon.{IM_END}\n{IM_START}assistant\n",
    f"{IM_START}user\nTell me a story.{IM_END}\n{IM_START}assistant\n",
]


# Tokenizer

def train_tokenizer(documents, rng):
    """Byte-level BPE of VOCAB tokens; the special ones come last."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PRE_TOKENIZER), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    samples = rng.sample(documents, min(len(documents), TOKENIZER_SAMPLES))
    trainer = trainers.BpeTrainer(vocab_size=VOCAB - len(SPECIAL_TOKENS), min_frequency=2,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([d[:TOKENIZER_SAMPLE_CHARS] for d in samples], trainer)
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL_TOKENS])
    if tokenizer.get_vocab_size() != VOCAB:
        raise ValueError(f"tokenizer: {tokenizer.get_vocab_size()} tokens, expected {VOCAB}; more text is needed")
    return tokenizer


def encode(tokenizer, texts):
    """All texts as one line of token ids on the GPU."""
    parts = []
    for i in range(0, len(texts), 4096):
        parts += [np.array(e.ids, np.uint16) for e in tokenizer.encode_batch(texts[i:i + 4096])]
    return torch.from_numpy(np.concatenate(parts).astype(np.int64)).cuda()


# Model. Attribute names are chosen so that parameters bear the names of GGUF tensors.

def binarise(w):
    """sign(w) * mean|w| over groups of Q1_0, scale rounded to fp16; its gradient is that of w."""
    groups = w.detach().view(w.shape[0], -1, Q1_0.group)
    scale = groups.abs().mean(-1, keepdim=True).half().float()
    binary = torch.where(groups >= 0, scale, -scale).view_as(w)
    return w + (binary - w).detach()


class BinaryLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))

    def forward(self, x):
        return F.linear(x, binarise(self.weight).to(x.dtype))


class Embedding(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab, hidden) * 0.05)


class RmsNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + RMS_EPS) * self.weight).to(x.dtype)


class Rope(nn.Module):
    """Rotary embedding of pairs (i, i + head_dim / 2); Su et al. 2021, arXiv:2104.09864."""

    def __init__(self, shape):
        super().__init__()
        frequencies = shape.rope_base ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
        angles = torch.arange(shape.context).float()[:, None] * frequencies[None]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        a, b = x.float().chunk(2, dim=-1)
        cos, sin = self.cos[:x.shape[-2]], self.sin[:x.shape[-2]]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        q_width, kv_width = shape.n_heads * shape.head_dim, shape.n_kv_heads * shape.head_dim
        self.head_dim = shape.head_dim
        self.attn_norm = RmsNorm(shape.hidden)
        self.attn_q = BinaryLinear(shape.hidden, q_width)
        self.attn_k = BinaryLinear(shape.hidden, kv_width)
        self.attn_v = BinaryLinear(shape.hidden, kv_width)
        self.attn_q_norm = RmsNorm(shape.head_dim)
        self.attn_k_norm = RmsNorm(shape.head_dim)
        self.attn_output = BinaryLinear(q_width, shape.hidden)
        self.ffn_norm = RmsNorm(shape.hidden)
        self.ffn_gate = BinaryLinear(shape.hidden, shape.ffn)
        self.ffn_up = BinaryLinear(shape.hidden, shape.ffn)
        self.ffn_down = BinaryLinear(shape.ffn, shape.hidden)
        with torch.no_grad():  # the residual stream keeps its size whatever the depth
            self.attn_output.weight /= math.sqrt(2 * shape.n_layers)
            self.ffn_down.weight /= math.sqrt(2 * shape.n_layers)

    def heads(self, x):
        """[batch][time][heads * head_dim] -> [batch][heads][time][head_dim]."""
        return x.view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)

    def attention(self, x, rope):
        q = rope(self.attn_q_norm(self.heads(self.attn_q(x))))
        k = rope(self.attn_k_norm(self.heads(self.attn_k(x))))
        v = self.heads(self.attn_v(x))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.attn_output(y.transpose(1, 2).flatten(2))

    def forward(self, x, rope):
        x = x + self.attention(self.attn_norm(x), rope)
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class LanguageModel(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.token_embd = Embedding(shape.vocab, shape.hidden)
        self.output_norm = RmsNorm(shape.hidden)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.n_layers))
        self.rope = Rope(shape)

    def forward(self, ids, targets=None):
        """Logits, or with targets the mean cross-entropy."""
        table = binarise(self.token_embd.weight)
        x = F.embedding(ids, table).to(torch.bfloat16)
        for block in self.blk:
            x = block(x, self.rope)
        logits = F.linear(self.output_norm(x), table.to(x.dtype))
        if targets is None:
            return logits
        return F.cross_entropy(logits.float().flatten(0, 1), targets.reshape(-1))


# Optimiser

class Muon:
    """Momentum whose update is orthogonalised (Jordan et al. 2024, kellerjordan.github.io/posts/muon): matrices of
    one shape are stacked, and five steps of a Newton-Schulz iteration bring all singular values near 1."""

    MOMENTUM = 0.95
    COEFFICIENTS = (3.4445, -4.7750, 2.0315)

    def __init__(self, parameters):
        self.parameters = parameters
        self.momenta = [torch.zeros_like(p) for p in parameters]

    @classmethod
    def orthogonalise(cls, updates):
        a, b, c = cls.COEFFICIENTS
        x = updates.bfloat16()
        is_tall = x.shape[-2] > x.shape[-1]
        if is_tall:
            x = x.mT
        x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
        for _ in range(5):
            gram = x @ x.mT
            x = a * x + (b * gram + c * gram @ gram) @ x
        return x.mT if is_tall else x

    @torch.no_grad()
    def step(self, learning_rate):
        by_shape = {}
        for p, momentum in zip(self.parameters, self.momenta):
            momentum.lerp_(p.grad, 1 - self.MOMENTUM)
            by_shape.setdefault(tuple(p.shape), []).append((p, p.grad.lerp(momentum, self.MOMENTUM)))
        for (rows, cols), pairs in by_shape.items():
            updates = self.orthogonalise(torch.stack([update for _, update in pairs]))
            for (p, _), update in zip(pairs, updates):
                p.add_(update.float(), alpha=-learning_rate * max(1, rows / cols) ** 0.5)


class Optimiser:
    """Muon for the matrices of the blocks, AdamW for the embedding and the norms."""

    def __init__(self, model):
        named = list(model.named_parameters())
        is_matrix = {name: p.dim() == 2 and name != "token_embd.weight" for name, p in named}
        self.model = model
        self.muon = Muon([p for name, p in named if is_matrix[name]])
        self.others = [p for name, p in named if not is_matrix[name]]
        self.adam = torch.optim.AdamW(self.others, lr=OTHER_LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.0,
                                      fused=True)

    def step(self, rate):
        """rate: share of the full learning rate."""
        for group in self.adam.param_groups:
            group["lr"] = OTHER_LEARNING_RATE * rate
        torch.nn.utils.clip_grad_norm_(self.others, 1.0)
        self.muon.step(MATRIX_LEARNING_RATE * rate)
        self.adam.step()
        self.model.zero_grad(set_to_none=True)


def learning_rate_share(step, time_share):
    """Linear warm-up in steps, then constant, then linear to a floor at the end of the time."""
    warm_up = min(1, (step + 1) / WARM_UP_STEPS)
    if time_share < DECAY_BEGIN:
        return warm_up
    return warm_up * max(LEARNING_RATE_FLOOR, (1 - time_share) / (1 - DECAY_BEGIN))


# Training

def random_batch(tokens, batch_size):
    begins = torch.randint(0, len(tokens) - CONTEXT - 1, (batch_size,), device=tokens.device)
    windows = tokens[begins[:, None] + torch.arange(CONTEXT + 1, device=tokens.device)]
    return windows[:, :-1], windows[:, 1:]


@torch.no_grad()
def held_out_loss(model, tokens):
    """Mean over the first windows, 32 at most."""
    n = min(32, (len(tokens) - 1) // CONTEXT)
    if n < 1:
        raise ValueError(f"held-out text: {len(tokens)} tokens, expected more than {CONTEXT}")
    inputs, targets = tokens[:n * CONTEXT].view(n, CONTEXT), tokens[1:n * CONTEXT + 1].view(n, CONTEXT)
    total = 0.0
    for i in range(0, n, 16):
        part = inputs[i:i + 16]
        total += model(part, targets[i:i + 16]).item() * len(part)
    return total / n


def train(model, tokens, held_out, seconds, batch_size):
    compiled, optimiser = torch.compile(model), Optimiser(model)
    begin = last_report = time.time()
    step, time_share = 0, 0.0
    while time_share < 1:
        loss = compiled(*random_batch(tokens, batch_size))
        loss.backward()
        now = time.time()
        time_share = min(1.0, (now - begin) / seconds)
        optimiser.step(learning_rate_share(step, time_share))
        step += 1
        if now - last_report > REPORT_SECONDS:
            last_report = now
            rate = step * batch_size * CONTEXT / (now - begin)
            print(f"step {step}, {now - begin:.0f} s: loss {loss.item():.3f}, held out "
                  f"{held_out_loss(model, held_out):.3f}, {rate:.0f} tokens/s", flush=True)
    print(f"end: held out {held_out_loss(model, held_out):.4f}, {step} steps, {step * batch_size * CONTEXT} tokens")


@torch.no_grad()
def sample(model, tokenizer, prompt, max_tokens=160, temperature=0.7, top_k=40):
    ids = tokenizer.encode(prompt).ids
    ends = {tokenizer.token_to_id(END_OF_TEXT), tokenizer.token_to_id(IM_END)}
    for _ in range(max_tokens):
        logits = model(torch.tensor([ids[-CONTEXT:]], device="cuda"))[0, -1].float()
        values, tokens = (logits / temperature).topk(top_k)
        ids.append(int(tokens[torch.multinomial(values.softmax(-1), 1)]))
        if ids[-1] in ends:
            break
    return tokenizer.decode(ids, skip_special_tokens=False)


# Export

def export(path, model, shape, tokenizer):
    """Write the GGUF: matrices as Q1_0, which stores exactly what the forward pass saw, vectors as float32."""
    writer = GgufWriter()
    add_model_keys(writer, "Tiny fairy-tale 1-bit", shape, Q1_0.file_type)
    writer.add("qwen3.vocab_size", ValueType.U32, shape.vocab)
    end_of_text = tokenizer.token_to_id(END_OF_TEXT)
    special_ids = {"eos": tokenizer.token_to_id(IM_END), "eot": end_of_text, "padding": end_of_text,
                   "bos": end_of_text}
    vocabulary = Vocabulary.from_tokenizer_json(json.loads(tokenizer.to_str()), shape.vocab)
    add_vocabulary(writer, vocabulary, special_ids, CHAT_TEMPLATE)
    parameters = dict(model.named_parameters())
    for t in tensor_shapes(shape):
        values = parameters[t.name].detach().float().cpu().numpy()
        data = pack(values, Q1_0) if t.rows else values.astype("<f4").tobytes()
        writer.add_tensor(t.name, values.shape[::-1], Q1_0.type_id if t.rows else GGUF_F32, len(data),
                          lambda data=data: [data])
    return writer.write(path)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus_dir", metavar="CORPUS_DIR")
    parser.add_argument("out", metavar="OUT.gguf")
    parser.add_argument("seconds", metavar="SECONDS", type=float)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=256, help=f"windows of {CONTEXT} tokens to a step")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    rng = random.Random(arguments.seed)
    torch.manual_seed(arguments.seed)
    torch.backends.cuda.matmul.allow_tf32 = True

    corpus = tales_corpus.load(arguments.corpus_dir, rng)
    tokenizer = train_tokenizer(corpus.training_documents, rng)
    tokens = encode(tokenizer, tales_corpus.training_texts(corpus, rng))
    held_out = encode(tokenizer, tales_corpus.held_out_texts(corpus))
    print(f"{len(corpus.books)} book pieces, {len(corpus.tiny)} short stories; "
          f"{len(tokens)} tokens to train on, {len(held_out)} held out", flush=True)

    shape = Qwen3Shape(n_layers=arguments.layers, hidden=512, ffn=1536, n_heads=4, n_kv_heads=2, head_dim=128,
                       vocab=VOCAB, is_tied=True, context=CONTEXT, rope_base=10000.0)
    model = LanguageModel(shape).cuda()
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    train(model, tokens, held_out, arguments.seconds, arguments.batch_size)
    for prompt in SAMPLE_PROMPTS:
        print("---", sample(model, tokenizer, prompt))
    print(arguments.out, export(arguments.out, model, shape, tokenizer), "bytes")


if __name__ == "__main__":
    main()
