"""The browser of the workload `page`, in a process of its own.

Usage: python -m bench.page_look ADDRESS SECONDS CHROMIUM. It opens the list of queries, scrolls it
by wheel for so long, and says as JSON what it measured.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    # So that memory is told as it is, not rounded.
    "--enable-precise-memory-info",
)  # fmt: skip
PATIENCE = 120_000
WHEEL = 700
WHEEL_SECONDS = 0.05
BOARD_READS = 5
# When the first answer is in the list, by the page's own clock, which starts with the page.
FIRST = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("main .value")) return;
  window.firstShown = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
FRAMES = """
() => {
  window.frames_seen = [];
  window.texts_changed = 0;
  let last = performance.now();
  const frame = () => {
    const now = performance.now();
    window.frames_seen.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const everything = { childList: true, characterData: true, attributes: true, subtree: true };
  new MutationObserver((seen) => { window.texts_changed += seen.length; })
    .observe(document.querySelector("main"), everything);
}
"""


def look(address: str, seconds: float, chromium: str) -> dict[str, Any]:
    """Open the list, scroll it, and measure."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        return {**_scrolled(browser, address, seconds), **_board(address)}


def _scrolled(browser: Browser, address: str, seconds: float) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE)
    page.add_init_script(FIRST)
    page.goto(f"{address}/#/queries")
    page.wait_for_function("() => window.firstShown !== undefined")
    first = page.evaluate("window.firstShown")
    page.hover("main .value >> nth=3")
    epoch = _epoch(address)
    page.evaluate(FRAMES)
    _wheel(page, seconds)
    frames = page.evaluate("window.frames_seen")
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    told = {one["name"]: one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]}
    return {
        "first_ms": first,
        "frames": frames,
        "epochs": _epoch(address) - epoch,
        "changes": page.evaluate("window.texts_changed"),
        "rows": page.evaluate("document.querySelectorAll('main .value').length"),
        "nodes": told["Nodes"],
        "heap_bytes": told["JSHeapUsedSize"],
    }


def _wheel(page: Page, seconds: float) -> None:
    """Turn the wheel down and up again for some time."""
    ends = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < ends:
        page.mouse.wheel(0, WHEEL if turn // 60 % 3 < 2 else -WHEEL)
        turn += 1
        page.wait_for_timeout(1000 * WHEEL_SECONDS)


def _board(address: str) -> dict[str, Any]:
    """Size of what the list is drawn from, and how long the server takes for it."""
    took, size = [], 0
    with httpx.Client(base_url=address, timeout=PATIENCE / 1000) as client:
        for _ in range(BOARD_READS):
            begin = time.perf_counter()
            given = client.get("/v1/board", params={"limit": 20_000})
            took.append(1000 * (time.perf_counter() - begin))
            given.raise_for_status()
            size = len(given.content)
    return {
        "board_bytes": size,
        "board_ms": statistics.median(took),
        "board_most_ms": max(took),
        "total": given.json()["total"],
    }


def _epoch(address: str) -> int:
    told: int = httpx.get(f"{address}/health", timeout=60).json()["epoch"]
    return told


if __name__ == "__main__":
    sys.stdout.write(json.dumps(look(sys.argv[1], float(sys.argv[2]), sys.argv[3])) + "\n")
