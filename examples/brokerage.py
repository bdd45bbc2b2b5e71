"""A brokerage: what each of many portfolios is worth, within one percent, at nine ticks of ten.

Five hundred stocks are quoted once a second for a rough hour: each moves by itself and with the
market. A table says who holds how much of what. One statement asks for every portfolio at once;
each is evaluated only when a model of its drift says that its answer may no longer hold.

Run it with `python examples/brokerage.py`; `--portfolios 1000000` takes some minutes and 4 GB. It
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


def fidelity(answers: pa.Table, worth: dict[str, Floats]) -> Floats:
    """Share of the seconds at which what was answered last was right, for each portfolio."""
    groups = answers["group"].to_numpy()
    ticks = (answers["as_of"].cast(pa.int64()).to_numpy() - BEGIN) // 1_000_000 - 1
    values = answers["value"].to_numpy()
    shares = np.empty(len(worth))
    for place, (group, path) in enumerate(worth.items()):
        mine = groups == group
        since = np.arange(ticks[mine][0], SECONDS)
        published = values[mine][np.searchsorted(ticks[mine], since, side="right") - 1]
        shares[place] = (np.abs(path[since] - published) <= 0.01 * published).mean()
    return shares


def run(gauge: sg.Gauge, wanted: list[str]) -> pa.Table:
    """Turn all epochs; keep the answers of the portfolios that will be checked."""
    kept, epoch = [], 0
    while gauge.step():
        new = gauge.answers("worth", since_epoch=epoch)
        kept.append(new.filter(pc.is_in(new["group"], pa.array(wanted))))
        epoch = gauge.progress().epoch
    return pa.concat_tables(kept)


def show(cells: pa.Table, answers: pa.Table, right: Floats) -> None:
    """Print what was evaluated, whether it held, and a few answers."""
    made, checks = pc.sum(cells["evaluations"]).as_py(), pc.sum(cells["checks"]).as_py()
    timed = pc.sum(pc.equal(cells["regime"], "timer")).as_py()
    print(f"cells        {cells.num_rows:,}: {timed:,} by timer, the others by watch")
    print(f"evaluations  {made:,} instead of {checks:,}: one in {checks / made:.0f}")
    print(f"fidelity     {right.mean():.3f} over {len(right)} portfolios, owed 0.9")
    low, middle, high = np.quantile(right, (0.0, 0.5, 1.0))
    print(
        f"             {low:.3f} to {high:.3f} over one hour of one portfolio, median {middle:.3f}"
    )
    newest = {row["group"]: row for row in answers.to_pylist()}
    for group in sorted(newest, key=lambda text: newest[text]["as_of"])[:: CHECKED // 5]:
        row = newest[group]
        bar = f"[{row['low']:,.0f}, {row['high']:,.0f}] for {row['confidence']:.0%} of the time"
        at = f"{row['as_of']:%H:%M:%S}"
        print(f"worth{group} = {row['value']:,.0f} in {bar}, {row['basis']}, as of {at}")


def main() -> None:
    """Make the hour, ask, run, and look at what came of it."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--portfolios", type=int, default=20_000)
    number = max(CHECKED, parser.parse_known_args()[0].portfolios)
    dice = np.random.default_rng(11)
    prices = market(dice)
    # Distinct stocks: the first at random, the others at whole steps from it.
    held = (dice.integers(0, STOCKS, (number, 1)) + 61 * np.arange(HELD)) % STOCKS
    shares = dice.integers(1, 200, (number, HELD)).astype(np.float64)
    chosen = dice.choice(number, CHECKED, replace=False).tolist()
    worth = {f"[{one}]": shares[one] @ prices[held[one]] for one in chosen}
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        (directory / "quotes").mkdir()
        table = quotes(prices)
        pq.write_table(table, directory / "quotes" / "hour.parquet", row_group_size=100_000)
        pq.write_table(holdings(held, shares), directory / "holdings.parquet")
        with sg.connect(directory / "home", engine="local", max_rows=200_000) as gauge:
            gauge.sql(STATEMENTS.format(place=place))
            answers = run(gauge, list(worth))
            print(gauge.explain("worth"))
            print()
            show(gauge.deferrals("worth"), answers, fidelity(answers, worth))


if __name__ == "__main__":
    main()
