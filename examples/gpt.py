"""A character-level GPT of about a million parameters, and the text it reads.

The text is the manual that every CPython carries; nothing is downloaded.
"""

from pydoc_data.topics import topics

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import Dataset

CONTEXT = 64
"""Characters the model sees at once."""


class Manual(Dataset[tuple[Tensor, Tensor, Tensor]]):
    """Python's manual in pieces: (id, characters, the same shifted by one), all int64."""

    def __init__(self) -> None:
        text = "\n".join(topics[name] for name in sorted(topics))
        alphabet = sorted(set(text))
        code = {character: i for i, character in enumerate(alphabet)}
        self.vocabulary = len(alphabet)
        self.characters = torch.tensor([code[character] for character in text])

    def __len__(self) -> int:
        """Return the number of pieces."""
        return (len(self.characters) - 1) // CONTEXT

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return one piece."""
        start = index * CONTEXT
        piece = self.characters[start : start + CONTEXT + 1]
        return torch.tensor(index), piece[:-1], piece[1:]


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each normalised first."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.norm_attention = nn.LayerNorm(width)
        self.to_qkv = nn.Linear(width, 3 * width)
        self.from_attention = nn.Linear(width, width)
        self.norm_feed = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map float[batch, time, width] to the same shape."""
        batch, time, width = x.shape
        qkv = self.to_qkv(self.norm_attention(x)).view(batch, time, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        x = x + self.from_attention(mixed.transpose(1, 2).reshape(batch, time, width))
        fed: Tensor = self.feed(self.norm_feed(x))
        return x + fed


class Gpt(nn.Module):
    """Predicts the next character."""

    def __init__(
        self, vocabulary: int, *, width: int = 128, depth: int = 5, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.character = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, 4, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, characters: Tensor, following: Tensor) -> Tensor:
        """Return the mean cross-entropy, a scalar, of int64[batch, time] inputs and targets."""
        times = torch.arange(characters.shape[1], device=characters.device)
        x = self.blocks(self.character(characters) + self.position(times))
        logits: Tensor = self.head(self.norm(x))
        loss: Tensor = functional.cross_entropy(logits.flatten(0, 1), following.flatten())
        return loss
