"""Stable 64-bit hashing: the same in every process, on every machine, for ever.

Columns are hashed with MurmurHash3 (x64, 128 bits), the hash of Apache DataSketches, over the same
bytes: whole numbers as eight bytes, floats as eight bytes with one zero and one NaN, text as UTF-8.
A sketch built here and one built by DataSketches or Spark therefore see the same hashes.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Hashes = npt.NDArray[np.uint64]

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)


def stable_hash(text: str, *, seed: int = 0) -> int:
    """Hash text to 64 bits.

    >>> stable_hash("sensor-7") == stable_hash("sensor-7")
    True
    >>> stable_hash("sensor-7") == stable_hash("sensor-7", seed=1)
    False
    """
    salt = seed.to_bytes(8, "little")
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8, salt=salt).digest(), "little"
    )


@compiled
def mix64(x):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finisher of SplitMix64): a draw is `mix64(seed + number)`."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _rotl(x, r):  # type: ignore[no-untyped-def]
    return (x << np.uint64(r)) | (x >> np.uint64(64 - r))


@compiled
def _fmix(k):  # type: ignore[no-untyped-def]
    k ^= k >> np.uint64(33)
    k *= np.uint64(0xFF51AFD7ED558CCD)
    k ^= k >> np.uint64(33)
    k *= np.uint64(0xC4CEB9FE1A85EC53)
    k ^= k >> np.uint64(33)
    return k


@compiled
def _finish(h1, h2, length):  # type: ignore[no-untyped-def]
    h1 ^= length
    h2 ^= length
    h1 += h2
    h2 += h1
    h1 = _fmix(h1)
    h2 = _fmix(h2)
    h1 += h2
    h2 += h1
    return h1, h2


@compiled
def murmur_word(word, seed):  # type: ignore[no-untyped-def]
    """MurmurHash3 of eight bytes: two 64-bit halves."""
    k1 = _rotl(np.uint64(word) * _C1, 31) * _C2
    return _finish(np.uint64(seed) ^ k1, np.uint64(seed), np.uint64(8))


@compiled
def _word_at(data, start, count):  # type: ignore[no-untyped-def]
    word = np.uint64(0)
    for i in range(count):
        word |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return word


@compiled
def murmur_bytes(data, start, stop, seed):  # type: ignore[no-untyped-def]
    """MurmurHash3 of `data[start:stop]`: two 64-bit halves."""
    h1 = np.uint64(seed)
    h2 = np.uint64(seed)
    length = stop - start
    for block in range(length // 16):
        at = start + 16 * block
        h1 ^= _rotl(_word_at(data, at, 8) * _C1, 31) * _C2
        h1 = (_rotl(h1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
        h2 ^= _rotl(_word_at(data, at + 8, 8) * _C2, 33) * _C1
        h2 = (_rotl(h2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
    at = start + 16 * (length // 16)
    rest = stop - at
    if rest > 8:
        h2 ^= _rotl(_word_at(data, at + 8, rest - 8) * _C2, 33) * _C1
    if rest > 0:
        h1 ^= _rotl(_word_at(data, at, min(rest, 8)) * _C1, 31) * _C2
    return _finish(h1, h2, np.uint64(length))


@compiled
def hash_words(words, seed, first, second):  # type: ignore[no-untyped-def]
    """Hash a column of 64-bit words into two columns of hashes."""
    for i in range(len(words)):
        first[i], second[i] = murmur_word(words[i], seed)


@compiled
def hash_texts(data, offsets, seed, first, second):  # type: ignore[no-untyped-def]
    """Hash a column of byte strings, given as Arrow gives them, into two columns of hashes."""
    for i in range(len(offsets) - 1):
        first[i], second[i] = murmur_bytes(data, offsets[i], offsets[i + 1], seed)


def draws(seed: int, start: int, count: int) -> npt.NDArray[np.float64]:
    """Draw uniforms in (0, 1), numbers `start` to `start + count` of the sequence of a seed.

    >>> bool((draws(7, 0, 4)[2:] == draws(7, 2, 2)).all())
    True
    """
    out = np.empty(count)
    fill_draws(np.uint64(seed), np.uint64(start), out)
    return out


@compiled
def uniform(seed, number):  # type: ignore[no-untyped-def]
    """Draw one uniform in (0, 1) from a seed and its number in the sequence."""
    bits = mix64(mix64(np.uint64(seed)) + np.uint64(number))
    return (np.float64(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@compiled
def fill_draws(seed, start, out):  # type: ignore[no-untyped-def]
    """Fill a column with consecutive draws."""
    for i in range(len(out)):
        out[i] = uniform(seed, start + np.uint64(i))


PRIME = np.uint64((1 << 61) - 1)


@compiled
def multiply61(a, b):  # type: ignore[no-untyped-def]
    """Product modulo 2^61 - 1 of two numbers below it, without 128-bit words."""
    a_high = a >> np.uint64(31)
    a_low = a & np.uint64(0x7FFFFFFF)
    b_high = b >> np.uint64(31)
    b_low = b & np.uint64(0x7FFFFFFF)
    middle = a_low * b_high + a_high * b_low
    total = (
        a_high * b_high * np.uint64(2)
        + (middle >> np.uint64(30))
        + ((middle & np.uint64(0x3FFFFFFF)) << np.uint64(31))
        + a_low * b_low
    )
    total = (total & PRIME) + (total >> np.uint64(61))
    return total - PRIME if total >= PRIME else total


@compiled
def polynomial(key, coefficients):  # type: ignore[no-untyped-def]
    """Degree k-1 polynomial modulo 2^61 - 1 of a 64-bit key: a k-wise independent hash."""
    x = (key & PRIME) + (key >> np.uint64(61))
    if x >= PRIME:
        x -= PRIME
    value = coefficients[0]
    for j in range(1, len(coefficients)):
        value = multiply61(value, x) + coefficients[j]
        if value >= PRIME:
            value -= PRIME
    return value


def family(seed: int, rows: int, independence: int) -> Hashes:
    """Coefficients of `rows` polynomials, each a hash of the given independence.

    >>> family(1, 3, 4).shape
    (3, 4)
    """
    words = np.empty(rows * independence, np.uint64)
    _fill_words(np.uint64(seed), words)
    return (words % PRIME).reshape(rows, independence)


@compiled
def _fill_words(seed, words):  # type: ignore[no-untyped-def]
    start = mix64(seed)
    for i in range(len(words)):
        words[i] = mix64(start + np.uint64(i))
