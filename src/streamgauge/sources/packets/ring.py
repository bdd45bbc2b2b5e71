"""Ring: packets of an interface, as the kernel leaves them in memory that it shares with us.

Linux fills blocks of a ring (AF_PACKET, version 3) and hands over whole blocks, so packets are read
by the compiled pass that reads files too, without a call for each of them. What finds no room in
the ring is counted by the kernel.
"""

from __future__ import annotations

import errno
import mmap
import select
import socket
import struct
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.kernel.errors import MissingRuntime, SourceFailure
from streamgauge.kernel.jit import compiled
from streamgauge.sources.packets.capture_file import Packets
from streamgauge.sources.packets.headers import LINKS

BLOCK_BYTES = 1 << 20
BLOCKS = 16
RETIRE_MS = 100

_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION = 263, 5, 6, 10
_VERSION_3, _EVERY_KIND, _FRAME_BYTES = 2, 3, 2048
_STATUS_AT, _COUNT_AT, _FIRST_AT = 8, 12, 16
_OURS = 1
_OUTGOING = 4
# Hardware types of Linux to link types of captures: Ethernet and loopback, tunnels without any.
_HARDWARE = {1: 1, 772: 1, 65534: 101, 768: 101, 769: 101, 776: 101, 778: 101}


@dataclass(frozen=True, slots=True)
class Counted:
    """Packets that the kernel saw for a ring, and those it had to drop, since last asked."""

    seen: int
    dropped: int


class Ring:
    """An interface being heard. Use it with `with`: the kernel keeps the ring until it is closed.

    Parameters
    ----------
    interface
        Name of a network interface, such as eth0 or lo.
    blocks
        Blocks of 1 MiB; a reader that is behind by more loses packets, which are counted.
    """

    def __init__(self, interface: str, *, blocks: int = BLOCKS) -> None:
        self._blocks, self._next = blocks, 0
        with ExitStack() as opened:
            self._socket = opened.enter_context(_opened(interface))
            self.link, self._loopback = self._bound(interface)
            self._memory = mmap.mmap(self._socket.fileno(), blocks * BLOCK_BYTES)
            opened.pop_all()
        self._data = np.frombuffer(self._memory, np.uint8)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN | select.POLLERR)

    def _bound(self, interface: str) -> tuple[int, bool]:
        ring = (BLOCK_BYTES, self._blocks, _FRAME_BYTES)
        frames = BLOCK_BYTES * self._blocks // _FRAME_BYTES
        self._socket.setsockopt(_SOL_PACKET, _VERSION, _VERSION_3)
        request = struct.pack("=7I", *ring, frames, RETIRE_MS, 0, 0)
        self._socket.setsockopt(_SOL_PACKET, _RX_RING, request)
        try:
            self._socket.bind((interface, _EVERY_KIND))
        except OSError as error:
            known = ", ".join(name for _, name in socket.if_nameindex())
            raise SourceFailure(
                f"cannot hear interface {interface!r}",
                f"{error.strerror}; interfaces are {known}",
                "name one of them, and bring it up with ip link set NAME up",
            ) from None
        hardware = self._socket.getsockname()[3]
        link = _HARDWARE.get(hardware)
        if link is None:
            raise SourceFailure(
                f"cannot read packets of interface {interface!r}",
                f"its hardware type is {hardware}; link types read are {', '.join(LINKS.values())}",
                "capture on an Ethernet, loopback or tunnel interface",
            )
        return link, hardware == 772

    def packets(self, timeout: float) -> Packets | None:
        """Packets of the next block, copied out of the ring; None when none came in time."""
        begin = self._next * BLOCK_BYTES
        if not self._word(begin + _STATUS_AT) & _OURS:
            self._poll.poll(max(0, int(timeout * 1000)))
            if not self._word(begin + _STATUS_AT) & _OURS:
                return None
        block = self._data[begin : begin + BLOCK_BYTES].copy()
        self._data[begin + _STATUS_AT : begin + _STATUS_AT + 4] = 0
        self._next = (self._next + 1) % self._blocks
        return packets_in(block, self.link, inbound_only=self._loopback)

    def counted(self) -> Counted:
        """What the kernel counted since it was last asked."""
        raw = self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 12)
        seen, dropped, _ = struct.unpack("=3I", raw)
        return Counted(seen, dropped)

    def _word(self, at: int) -> int:
        return int(self._data[at : at + 4].view("=u4")[0])

    def __enter__(self) -> Ring:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del self._data
        self._memory.close()
        self._socket.close()


def _opened(interface: str) -> socket.socket:
    if not hasattr(socket, "AF_PACKET"):
        raise MissingRuntime(
            "packets can be captured on Linux only",
            "this system has no AF_PACKET sockets",
            "capture with tcpdump -w and read the files with format='pcap'",
        )
    try:
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError as error:
        raise SourceFailure(
            f"this user may not capture on {interface!r}",
            error.strerror or str(error),
            "run as root, or give python the right: setcap cap_net_raw+ep on its file",
        ) from None
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT):
            raise MissingRuntime(
                "this kernel has no packet sockets",
                error.strerror or str(error),
                "capture with tcpdump -w elsewhere and read the files with format='pcap'",
            ) from None
        raise


def packets_in(block: NDArray[np.uint8], link: int, *, inbound_only: bool) -> Packets:
    """Find the packets of a block of the ring.

    On loopback each packet is there twice, as it leaves and as it comes; `inbound_only` keeps one.
    """
    count, first = (int(block[at : at + 4].view("=u4")[0]) for at in (_COUNT_AT, _FIRST_AT))
    found = np.zeros((4, count), dtype=np.int64)
    n = _walk_block(block, first, count, inbound_only, found)
    at, captured, length, times = found[:, :n]
    links, numbers = np.full(n, link), np.arange(1, n + 1)
    return Packets(block, at, captured, length, times, links, numbers, [])


@compiled
def _word(block: Any, at: Any) -> Any:
    low = np.int64(block[at]) | (np.int64(block[at + 1]) << 8)
    return low | (np.int64(block[at + 2]) << 16) | (np.int64(block[at + 3]) << 24)


@compiled
def _walk_block(block: Any, at: Any, count: Any, inbound_only: Any, found: Any) -> Any:
    """Follow the headers of a block; a packet is: next, seconds, nanoseconds, lengths, places."""
    n = 0
    for _ in range(count):
        if at < 0 or at + 68 > len(block):
            break
        captured = _word(block, at + 12)
        start = at + (np.int64(block[at + 24]) | (np.int64(block[at + 25]) << 8))
        # The address that follows the header says which way the packet went.
        outgoing = block[at + 48 + 10] == _OUTGOING
        if not (inbound_only and outgoing) and start + captured <= len(block):
            found[0, n] = start
            found[1, n] = captured
            found[2, n] = _word(block, at + 16)
            found[3, n] = _word(block, at + 4) * 1_000_000 + _word(block, at + 8) // 1_000
            n += 1
        following = _word(block, at)
        if following == 0:
            break
        at += following
    return n
