"""A brokerage: what each of many portfolios is worth, within one percent, at nine ticks of ten.

Five hundred stocks are quoted once a second for a rough hour: each moves by itself and with the
market. A table says who holds how much of what. One statement asks for every portfolio at once;
each is evaluated only when a model of its drift says that its answer may no longer hold.

Run it with `python examples/brokerage.py`, or with `--portfolios 1000000` and a few minutes. It
needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamgauge as sg

SECONDS = 3_600
STOCKS = 500
HELD = 8
CHECKED = 300
BEGIN = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
Floats = npt.NDArray[np.float64]

STATEMENTS = """
CREATE STREAM quotes FROM FILES '{place}/quotes' FORMAT parquet KEY symbol TIME ts;
CREATE TABLE holdings FROM '{place}/holdings.parquet';

CREATE QUERY worth AS
SELECT h.portfolio, SUM(q.price * h.shares)
FROM quotes [PARTITION BY symbol ROWS 1] q, holdings h
WHERE q.symbol = h.symbol
GROUP BY h.portfolio WITHIN 1 PERCENT CONFIDENCE 0.9;

ADVANCE STREAM quotes TO '2026-01-01T11:00:01Z';
"""


def market(dice: np.random.Generator) -> Floats:
    """Prices by stock and second, all moving a little together."""
    own = dice.standard_normal((STOCKS, SECONDS)) * dice.uniform(2e-4, 8e-4, (STOCKS, 1))
    together = dice.standard_normal(SECONDS) * 2e-4
    opening: Floats = dice.uniform(20.0, 400.0, (STOCKS, 1))
    return opening * np.exp(np.cumsum(own + together, axis=1))


def quotes(prices: Floats) -> pa.Table:
    """One row for each stock and second."""
    symbols = pa.array([f"S{stock:03d}" for stock in range(STOCKS)])
    stocks = np.tile(np.arange(STOCKS, dtype=np.int32), SECONDS)
    moments = BEGIN + 1_000_000 * np.repeat(np.arange(1, SECONDS + 1), STOCKS)
    return pa.table(
        {
            "symbol": pa.DictionaryArray.from_arrays(stocks, symbols).cast(pa.string()),
            "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "price": prices.T.ravel(),
        }
    )


def holdings(held: npt.NDArray[np.int64], shares: Floats) -> pa.Table:
    """One row for each stock that a portfolio holds."""
    symbols = pa.array([f"S{stock:03d}" for stock in range(STOCKS)])
    return pa.table(
        {
            "portfolio": np.repeat(np.arange(len(held)), HELD),
            "symbol": symbols.take(pa.array(held.ravel())),
            "shares": shares.ravel(),
        }
    )


def fidelity(answers: pa.Table, worth: Floats) -> list[float]:
    """Share of the seconds at which what was answered last was right, for each portfolio."""
    groups = answers["group"].to_numpy()
    instants = answers["as_of"].cast(pa.int64()).to_numpy()
    values = answers["value"].to_numpy()
    shares = []
    for portfolio, path in enumerate(worth):
        mine = groups == f"[{portfolio}]"
        ticks = (instants[mine] - BEGIN) // 1_000_000 - 1
        last = np.searchsorted(ticks, np.arange(ticks[0], SECONDS), side="right") - 1
        published = values[mine][last]
        right = np.abs(path[ticks[0] :] - published) <= 0.01 * np.abs(published)
        shares.append(float(right.mean()))
    return shares


def run(gauge: sg.Gauge) -> tuple[int, pa.Table]:
    """Turn all epochs; count the answers and keep those of the portfolios to be checked."""
    wanted = pa.array([f"[{portfolio}]" for portfolio in range(CHECKED)])
    count, kept, epoch = 0, [], 0
    while gauge.step():
        new = gauge.answers("worth", since_epoch=epoch)
        count, epoch = count + new.num_rows, gauge.progress().epoch
        kept.append(new.filter(pc.is_in(new["group"], wanted)))
    return count, pa.concat_tables(kept)


def main() -> None:
    """Make the hour, ask, run, and look at what came of it."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--portfolios", type=int, default=20_000)
    number = parser.parse_known_args()[0].portfolios
    dice = np.random.default_rng(11)
    prices = market(dice)
    # Distinct stocks: the first at random, the others at whole steps from it.
    held = (dice.integers(0, STOCKS, (number, 1)) + 61 * np.arange(HELD)) % STOCKS
    shares = dice.integers(1, 200, (number, HELD)).astype(np.float64)
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        (directory / "quotes").mkdir()
        table = quotes(prices)
        pq.write_table(table, directory / "quotes" / "hour.parquet", row_group_size=100_000)
        pq.write_table(holdings(held, shares), directory / "holdings.parquet")
        with sg.connect(directory / "home", engine="local", max_rows=200_000) as gauge:
            gauge.sql(STATEMENTS.format(place=place))
            count, answers = run(gauge)
            print(gauge.explain("worth"))
    everything = number * SECONDS
    print(f"\n{number:,} portfolios, {SECONDS:,} ticks")
    print(f"evaluations  {count:,}, one for {everything / count:.0f} of {everything:,}")
    worth = np.einsum("ph,pht->pt", shares[:CHECKED], prices[held[:CHECKED]])
    shares_right = fidelity(answers, worth)
    print(
        f"fidelity     {np.mean(shares_right):.3f} over {CHECKED} portfolios, "
        f"{min(shares_right):.3f} at worst, owed 0.9"
    )


if __name__ == "__main__":
    main()
