"""What a GGUF of the Qwen3 architecture holds: its keys, its vocabulary, the names and shapes of its tensors."""
from dataclasses import dataclass
from typing import Iterator, List, NamedTuple

from gguf_writer import GgufWriter, ValueType

RMS_EPS = 1e-6


@dataclass(frozen=True)
class Qwen3Shape:
    n_layers: int
    hidden: int
    ffn: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    vocab: int
    is_tied: bool  # the output matrix is the token embedding
    context: int
    rope_base: float


class TensorShape(NamedTuple):
    name: str
    rows: int  # 0: a vector
    cols: int


def tensor_shapes(shape: Qwen3Shape) -> Iterator[TensorShape]:
    """All tensors in file order."""
    q_rows, kv_rows = shape.n_heads * shape.head_dim, shape.n_kv_heads * shape.head_dim
    yield TensorShape("token_embd.weight", shape.vocab, shape.hidden)
    yield TensorShape("output_norm.weight", 0, shape.hidden)
    if not shape.is_tied:
        yield TensorShape("output.weight", shape.vocab, shape.hidden)
    for i in range(shape.n_layers):
        for name, rows, cols in (
            ("attn_norm", 0, shape.hidden),
            ("attn_q", q_rows, shape.hidden),
            ("attn_k", kv_rows, shape.hidden),
            ("attn_v", kv_rows, shape.hidden),
            ("attn_q_norm", 0, shape.head_dim),
            ("attn_k_norm", 0, shape.head_dim),
            ("attn_output", shape.hidden, q_rows),
            ("ffn_norm", 0, shape.hidden),
            ("ffn_gate", shape.ffn, shape.hidden),
            ("ffn_up", shape.ffn, shape.hidden),
            ("ffn_down", shape.hidden, shape.ffn),
        ):
            yield TensorShape(f"blk.{i}.{name}.weight", rows, cols)


def add_model_keys(writer: GgufWriter, name: str, shape: Qwen3Shape, file_type: int) -> None:
    writer.add("general.architecture", ValueType.STRING, "qwen3")
    writer.add("general.name", ValueType.STRING, name)
    writer.add("general.file_type", ValueType.U32, file_type)
    for key, value in (
        ("block_count", shape.n_layers),
        ("context_length", shape.context),
        ("embedding_length", shape.hidden),
        ("feed_forward_length", shape.ffn),
        ("attention.head_count", shape.n_heads),
        ("attention.head_count_kv", shape.n_kv_heads),
        ("attention.key_length", shape.head_dim),
        ("attention.value_length", shape.head_dim),
    ):
        writer.add("qwen3." + key, ValueType.U32, value)
    writer.add("qwen3.rope.freq_base", ValueType.F32, shape.rope_base)
    writer.add("qwen3.attention.layer_norm_rms_epsilon", ValueType.F32, RMS_EPS)


# Values of tokenizer.ggml.token_type.
TOKEN_NORMAL, TOKEN_CONTROL, TOKEN_USER_DEFINED, TOKEN_UNUSED = 1, 3, 4, 5


@dataclass
class Vocabulary:
    """A byte-level BPE vocabulary: text and type by token id, merges as "LEFT RIGHT" in order of rank."""

    tokens: List[str]
    types: List[int]
    merges: List[str]

    @classmethod
    def placeholder(cls, n_tokens: int) -> "Vocabulary":
        return cls([f"<pad{i}>" for i in range(n_tokens)], [TOKEN_UNUSED] * n_tokens, ["a b"])

    @classmethod
    def from_tokenizer_json(cls, document: dict, n_tokens: int) -> "Vocabulary":
        """document: a Hugging Face tokenizer.json. Ids it does not use become placeholders."""
        vocabulary = cls.placeholder(n_tokens)
        model = document["model"]
        for text, token in model["vocab"].items():
            vocabulary.tokens[token], vocabulary.types[token] = text, TOKEN_NORMAL
        for added in document["added_tokens"]:
            vocabulary.tokens[added["id"]] = added["content"]
            vocabulary.types[added["id"]] = TOKEN_CONTROL if added["special"] else TOKEN_USER_DEFINED
        vocabulary.merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
        return vocabulary


def add_vocabulary(writer: GgufWriter, vocabulary: Vocabulary, special_ids: dict, chat_template: str = "") -> None:
    """special_ids: id by role, such as {"eos": 2}, written as tokenizer.ggml.ROLE_token_id."""
    writer.add("tokenizer.ggml.model", ValueType.STRING, "gpt2")
    writer.add("tokenizer.ggml.pre", ValueType.STRING, "qwen2")
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, vocabulary.tokens)
    writer.add_array("tokenizer.ggml.token_type", ValueType.I32, vocabulary.types)
    writer.add_array("tokenizer.ggml.merges", ValueType.STRING, vocabulary.merges)
    for role, token in special_ids.items():
        writer.add(f"tokenizer.ggml.{role}_token_id", ValueType.U32, token)
    writer.add("tokenizer.ggml.add_bos_token", ValueType.BOOL, False)
    if chat_template:
        writer.add("tokenizer.chat_template", ValueType.STRING, chat_template)
