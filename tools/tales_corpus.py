"""Text for the demonstration model: documents, story openings, and the requests that stories answer.

CORPUS_DIR holds books.txt (public-domain children's books) and tiny.txt (short modern stories), each a list of
documents separated by "<|endoftext|>".
"""
import os
import random
import re
from typing import List, NamedTuple, Optional

END_OF_TEXT, IM_START, IM_END = SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

MIN_DOCUMENT_CHARS = 200
N_HELD_OUT_BOOKS, N_HELD_OUT_TINY = 14, 25
TINY_REPEATS = 3  # there is far less of it, and it is the language the model should speak

# Of a story cut out of a book.
MAX_STORY_PARAGRAPHS, MAX_STORY_CHARS, MIN_STORY_CHARS = 14, 1500, 300

STORY_OPENING = re.compile(
    r"^(Once|There (was|lived|were) |Long ago|Long, long|One day|In a |A long time|In the days|Many years|Far away"
    r"|Now there|In olden)")

REQUESTS_FOR = [
    "Tell me a story about a {}.",
    "Write a short story about a {}.",
    "Tell a story with a {} in it.",
    "I would like a story about a {}, please.",
]
REQUESTS = ["Tell me a story.", "Once more, tell me a story!", "Please tell me a bedtime story."]
NAMED_REQUEST_SHARE = 0.85

NOT_A_TOPIC = frozenset(
    "the a an and or but of to in on at for with from by as is was were be been had has have he she it they him her"
    " them his their its who what when where there then so not no all one two very little big old young said that"
    " this which would could did do up down out into upon my your our you i we me us how why if than too more most"
    " some any every once time day long about after before over again came went got saw see could said asked".split())


class Corpus(NamedTuple):
    books: List[str]
    tiny: List[str]
    held_out: List[str]

    @property
    def training_documents(self) -> List[str]:
        return self.books + self.tiny * TINY_REPEATS


def read_documents(path: str) -> List[str]:
    with open(path, encoding="utf-8", errors="ignore") as f:
        documents = (d.strip() for d in f.read().split(END_OF_TEXT))
        return [d for d in documents if len(d) > MIN_DOCUMENT_CHARS]


def load(corpus_dir: str, rng: random.Random) -> Corpus:
    books = read_documents(os.path.join(corpus_dir, "books.txt"))
    tiny = read_documents(os.path.join(corpus_dir, "tiny.txt"))
    rng.shuffle(books)
    rng.shuffle(tiny)
    held_out = books[:N_HELD_OUT_BOOKS] + tiny[:N_HELD_OUT_TINY]
    return Corpus(books[N_HELD_OUT_BOOKS:], tiny[N_HELD_OUT_TINY:], held_out)


def cut_at_sentence_end(text: str) -> str:
    return text[:max(text.rfind("."), text.rfind("!"), text.rfind('"')) + 1]


def story_openings(books: List[str]) -> List[str]:
    """Passages that begin as stories do, long enough to be one and cut at the end of a sentence."""
    stories = []
    for book in books:
        paragraphs = book.split("\n\n")
        for i, paragraph in enumerate(paragraphs):
            if not STORY_OPENING.match(paragraph):
                continue
            passage = "\n\n".join(paragraphs[i:i + MAX_STORY_PARAGRAPHS])[:MAX_STORY_CHARS]
            story = cut_at_sentence_end(passage)
            if len(story) > MIN_STORY_CHARS:
                stories.append(story)
    return stories


def topic(story: str, rng: random.Random) -> Optional[str]:
    """One of the three words most used at the beginning of the story; None if it has no candidates."""
    counts = {}
    for word in re.findall(r"[a-z]{4,}", story[:400]):
        if word not in NOT_A_TOPIC:
            counts[word] = counts.get(word, 0) + 1
    best = sorted(counts, key=lambda word: (-counts[word], story.find(word)))[:3]
    return rng.choice(best) if best else None


def shorten(story: str) -> str:
    """At most MAX_STORY_CHARS, up to the last full stop."""
    if len(story) < MAX_STORY_CHARS:
        return story
    return story[:story.rfind(".", 0, MAX_STORY_CHARS) + 1]


def as_chat(story: str, rng: random.Random) -> str:
    """The story as an answer to a request, in ChatML."""
    subject = topic(story, rng)
    if subject and rng.random() < NAMED_REQUEST_SHARE:
        request = rng.choice(REQUESTS_FOR).format(subject)
    else:
        request = rng.choice(REQUESTS)
    return f"{IM_START}user\n{request}{IM_END}\n{IM_START}assistant\n{story}{IM_END}\n{END_OF_TEXT}"


def training_texts(corpus: Corpus, rng: random.Random) -> List[str]:
    """The training documents as plain text, and every story among them as a chat too, shuffled."""
    texts = [d + END_OF_TEXT for d in corpus.training_documents]
    stories = corpus.tiny * TINY_REPEATS + story_openings(corpus.books)
    texts += [as_chat(shorten(story), rng) for story in stories]
    rng.shuffle(texts)
    return texts


def held_out_texts(corpus: Corpus) -> List[str]:
    return [d + END_OF_TEXT for d in corpus.held_out]
