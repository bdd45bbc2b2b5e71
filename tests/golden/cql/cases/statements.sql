-- create a query
CREATE QUERY mean AS SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   mean: avg(price) from trades [range 1 min], every 10 s, exact
-- explain:
--   mean version 1, running, since epoch 2
--   Answer every 10 s                owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
-- did:
--   registered mean
-- records:
--   {"do": "register", "queries": [{"name": "mean", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["every", 10000000, 0.0], "window": {"kind": "range", "length": 60000000, "slide": null, "start": 0, "rows": 0, "by": []}}]}

-- create a standing query
CREATE STANDING QUERY dear AS SELECT sym FROM trades WHERE price > 10;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where price > 10
--           Scan trades (sym, price)
-- explain:
--   dear version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select sym                        spends 0, keeps nothing, not shared
--         Window unbounded                spends 0, keeps nothing, not shared
--           Where price > 10              spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed on all of 4 shards, in the index of selections
--   rows of trades: spread over all shards
--   kept back 0 of the error: rows are exact
-- did:
--   registered dear
-- records:
--   {"do": "register", "queries": [{"name": "dear", "text": "SELECT sym FROM trades WHERE price > 10", "answer": ["change", 0, 0.0], "contract": {"tolerance": "exact", "within": 0.0, "confidence": 1.0, "freshness": null}, "history": true, "mode": "append"}]}

-- create a query of two numbers
CREATE QUERY ends AS SELECT MIN(price) AS low, MAX(price) AS high FROM trades [NOW];
-- plan:
--   ends.low: min(price) from trades [now], on change, exact
--   ends.high: max(price) from trades [now], on change, exact
-- explain:
--   ends.low version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate min(price)           spends 0, shard 1
--       Window now                   spends 0, panes of 1 s, from history, shared by 2 queries
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   ends.high version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate max(price)           spends 0, shard 1
--       Window now                   spends 0, panes of 1 s, from history, shared by 2 queries
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
-- did:
--   registered ends.low, ends.high
-- records:
--   {"do": "register", "queries": [{"name": "ends.low", "stream": "trades", "select": {"name": "min", "x": "price"}, "answer": ["change", 0, 0.0], "window": {"kind": "now", "length": 0, "slide": null, "start": 0, "rows": 0, "by": []}}, {"name": "ends.high", "stream": "trades", "select": {"name": "max", "x": "price"}, "answer": ["change", 0, 0.0], "window": {"kind": "now", "length": 0, "slide": null, "start": 0, "rows": 0, "by": []}}]}

-- alter a query
ALTER QUERY heat AS SELECT sym, MAX(price) FROM trades [recent] GROUP BY sym EVERY 1 MINUTE;
-- plan:
--   heat: max(price) from trades [recent] group by sym, every 1 min, exact
-- explain:
--   heat version 2, running, since epoch 2
--   Answer every 1 min                             owed exact
--     Aggregate max(price) by sym                  spends 0, groups over 4 shards
--       Window range 5 min slide 1 min (recent)    spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, sym, price)             files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
-- did:
--   altered heat
-- records:
--   {"do": "alter", "queries": [{"name": "heat", "stream": "trades", "select": {"name": "max", "x": "price"}, "answer": ["every", 60000000, 0.0], "window": "recent", "group_by": ["sym"]}]}

-- alter a query to rows
ALTER QUERY heat AS SELECT sym FROM trades [NOW];
-- plan:
--   Window now
--     Scan trades (sym)
-- explain:
--   heat version 2, running, since epoch 2
--   Answer on change         owed exact, rows that come and go, from history
--     Window now             spends 0, keeps rows of trades for now, not shared
--       Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact
-- did:
--   altered heat
-- records:
--   {"do": "alter", "queries": [{"name": "heat", "text": "SELECT sym FROM trades [NOW]", "answer": ["change", 0, 0.0], "contract": {"tolerance": "exact", "within": 0.0, "confidence": 1.0, "freshness": null}, "history": true, "mode": "changes"}]}

-- alter a query to what it is
ALTER QUERY busy AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym HAVING COUNT(*) > 1;
-- plan:
--   Select sym, COUNT(*) as n
--     Where COUNT(*) > 1
--       Group COUNT(*) by sym
--         Window range 1 min
--           Scan trades (sym)
-- explain:
--   busy version 1, running, since epoch 1
--   Answer on change               owed exact, rows that come and go, from history
--     Select sym, COUNT(*) as n    spends 0, keeps nothing, not shared
--       Where COUNT(*) > 1         spends 0, keeps nothing, not shared
--         Group COUNT(*) by sym    spends 0, keeps one row for each sym, not shared
--           Window range 1 min     spends 0, keeps rows of trades for range 1 min, not shared
--             Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact
-- did:
--   unchanged query busy

-- create a stream of files
CREATE STREAM ticks (symbol STRING, at TIME, price FLOAT) FROM FILES 'ticks' FORMAT csv KEY symbol TIME at TICK 500 ms GAP 1 MINUTE KEEP 2 HOURS FUTURE ANY LATE ALLOW 5 s;
-- says:
--   CREATE STREAM ticks (symbol STRING, at TIME, price FLOAT) FROM FILES 'ticks' KEY symbol TIME at FORMAT csv TICK 500 MILLISECONDS GAP 1 MINUTE KEEP 2 HOURS FUTURE ANY LATE ALLOW 5 SECONDS
-- did:
--   created stream ticks
-- records:
--   {"do": "stream", "stream": {"name": "ticks", "schema": {"symbol": "string", "at": "time", "price": "float"}, "time": "at", "key": ["symbol"], "source": {"kind": "files", "path": "/ticks", "format": "csv"}, "tick": 500000, "expected_gap": 60000000, "late": {"policy": "allow", "allowed": 5000000, "reach": 0}, "keep": 7200000000, "future": null}}

-- create a stream of the plant
CREATE STREAM plant FROM PLANT (100, 1, 60) KEY series TIME ts GAP 10 MINUTES;
-- says:
--   CREATE STREAM plant FROM PLANT (100, 1, 60) KEY series TIME ts GAP 10 MINUTES
-- did:
--   created stream plant
-- records:
--   {"do": "stream", "stream": {"name": "plant", "schema": {"series": "string", "ts": "time", "value": "float", "site": "string", "kind": "string"}, "time": "ts", "key": ["series"], "source": {"kind": "plant", "n_sensors": 100, "seed": 1, "speed": 60}, "tick": 1000000, "expected_gap": 600000000, "late": {"policy": "drop", "allowed": 0, "reach": 0}, "keep": 3600000000, "future": 86400000000}}

-- create a stream of ever more rows
CREATE STREAM ramp FROM RATE 100 TIME timestamp;
-- says:
--   CREATE STREAM ramp FROM RATE 100 TIME "timestamp"
-- did:
--   created stream ramp
-- records:
--   {"do": "stream", "stream": {"name": "ramp", "schema": {"timestamp": "time", "value": "int"}, "time": "timestamp", "key": [], "source": {"kind": "rate", "rows_per_second": 100}, "tick": 1000000, "expected_gap": null, "late": {"policy": "drop", "allowed": 0, "reach": 0}, "keep": 3600000000, "future": 86400000000}}

-- create a stream that revises
CREATE STREAM again (at TIME, x INT) FROM FILES 'again' TIME at LATE REVISE 1 HOUR;
-- says:
--   CREATE STREAM again (at TIME, x INT) FROM FILES 'again' TIME at LATE REVISE 1 HOUR
-- did:
--   created stream again
-- records:
--   {"do": "stream", "stream": {"name": "again", "schema": {"at": "time", "x": "int"}, "time": "at", "key": [], "source": {"kind": "files", "path": "/again", "format": "parquet"}, "tick": 1000000, "expected_gap": null, "late": {"policy": "revise", "allowed": 0, "reach": 3600000000}, "keep": 3600000000, "future": 86400000000}}

-- create a stream of changes
CREATE STREAM moves (at TIME, x INT, op STRING) FROM FILES 'moves' TIME at CHANGES op;
-- says:
--   CREATE STREAM moves (at TIME, x INT, op STRING) FROM FILES 'moves' TIME at CHANGES op
-- did:
--   created stream moves
-- records:
--   {"do": "stream", "stream": {"name": "moves", "schema": {"at": "time", "x": "int", "op": "string"}, "time": "at", "key": [], "source": {"kind": "files", "path": "/moves", "format": "parquet"}, "tick": 1000000, "expected_gap": null, "late": {"policy": "drop", "allowed": 0, "reach": 0}, "keep": 3600000000, "future": 86400000000, "changes": "op"}}

-- create a stream that is there
CREATE STREAM orders (op STRING, ts TIME, sym STRING, size INT) FROM FILES 'orders' FORMAT csv TIME ts CHANGES op;
-- says:
--   CREATE STREAM orders (op STRING, ts TIME, sym STRING, size INT) FROM FILES 'orders' TIME ts FORMAT csv CHANGES op
-- did:
--   unchanged stream orders

-- create a stream from a query
CREATE STREAM dear AS SELECT ISTREAM(*) FROM trades [RANGE UNBOUNDED] WHERE price > 100;
-- says:
--   CREATE VIEW dear AS SELECT ISTREAM(*) FROM trades [ROWS UNBOUNDED] WHERE price > 100
-- did:
--   created view dear
-- records:
--   {"do": "name", "name": "dear", "text": "SELECT ISTREAM(*) FROM trades [ROWS UNBOUNDED] WHERE price > 100"}

-- create a view
CREATE VIEW means AS SELECT sym, AVG(price) AS mean FROM trades [RANGE 1 HOUR] GROUP BY sym;
-- says:
--   CREATE VIEW means AS SELECT sym, AVG(price) AS mean FROM trades [RANGE 1 HOUR] GROUP BY sym
-- did:
--   created view means
-- records:
--   {"do": "name", "name": "means", "text": "SELECT sym, AVG(price) AS mean FROM trades [RANGE 1 HOUR] GROUP BY sym"}

-- create a view that is there
CREATE VIEW counts AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym;
-- says:
--   CREATE VIEW counts AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym
-- did:
--   unchanged view counts

-- create a table
CREATE TABLE names FROM 'symbols.csv';
-- says:
--   CREATE TABLE names FROM 'symbols.csv'
-- did:
--   created table names
-- records:
--   {"do": "table", "table": {"name": "names", "schema": {"sym": "string", "sector": "string", "since": "time"}, "path": "/home/tables/names-1.parquet", "origin": "/symbols.csv", "rows": 2}}

-- create a table that is read again at a pace
CREATE TABLE names FROM 'symbols.csv' REFRESH EVERY 90 SECONDS;
-- says:
--   CREATE TABLE names FROM 'symbols.csv' REFRESH EVERY 90 SECONDS
-- did:
--   created table names
-- records:
--   {"do": "table", "table": {"name": "names", "schema": {"sym": "string", "sector": "string", "since": "time"}, "path": "/home/tables/names-1.parquet", "origin": "/symbols.csv", "rows": 2, "every": 90000000}}

-- another pace for a table
ALTER TABLE symbols REFRESH EVERY 1 MINUTE;
-- says:
--   ALTER TABLE symbols REFRESH EVERY 1 MINUTE
-- did:
--   altered table symbols
-- records:
--   {"do": "alter table", "name": "symbols", "every": 60000000}

-- no pace for a table that has none
ALTER TABLE symbols REFRESH NEVER;
-- says:
--   ALTER TABLE symbols REFRESH NEVER
-- did:
--   unchanged table symbols

-- refresh a table that has not changed
REFRESH TABLE symbols;
-- says:
--   REFRESH TABLE symbols
-- did:
--   unchanged table symbols

-- create a window
CREATE WINDOW lately AS [RANGE 10 MINUTES SLIDE 1 MINUTE];
-- says:
--   CREATE WINDOW lately AS [RANGE 10 MINUTES SLIDE 1 MINUTE]
-- did:
--   created window lately
-- records:
--   {"do": "window", "name": "lately", "window": {"kind": "range", "length": 600000000, "slide": 60000000, "start": 0, "rows": 0, "by": []}}

-- create a window of rows
CREATE WINDOW newest AS [PARTITION BY sym ROWS 3];
-- says:
--   CREATE WINDOW newest AS [PARTITION BY sym ROWS 3]
-- did:
--   created window newest
-- records:
--   {"do": "window", "name": "newest", "window": {"kind": "partition", "length": 0, "slide": null, "start": 0, "rows": 3, "by": ["sym"]}}

-- resize a window
ALTER WINDOW recent AS [RANGE 10 MINUTES SLIDE 1 MINUTE];
-- says:
--   ALTER WINDOW recent AS [RANGE 10 MINUTES SLIDE 1 MINUTE]
-- did:
--   resized window recent
-- records:
--   {"do": "window", "name": "recent", "window": {"kind": "range", "length": 600000000, "slide": 60000000, "start": 0, "rows": 0, "by": []}}

-- create a function
CREATE FUNCTION lifted RETURNS FLOAT AS 'numpy:log1p';
-- says:
--   CREATE FUNCTION lifted RETURNS FLOAT AS 'numpy:log1p'
-- did:
--   created function lifted
-- records:
--   {"do": "function", "function": {"name": "lifted", "target": "numpy:log1p", "returns": "float", "aggregate": false}}

-- create a function that is there
CREATE FUNCTION hypot RETURNS FLOAT AS 'numpy:hypot';
-- says:
--   CREATE FUNCTION hypot RETURNS FLOAT AS 'numpy:hypot'
-- did:
--   unchanged function hypot

-- create an aggregate
CREATE AGGREGATE middle AS 'numpy:median';
-- says:
--   CREATE AGGREGATE middle RETURNS FLOAT AS 'numpy:median'
-- did:
--   created aggregate middle
-- records:
--   {"do": "function", "function": {"name": "middle", "target": "numpy:median", "returns": "float", "aggregate": true}}

-- pause a query
PAUSE QUERY heat;
-- says:
--   PAUSE QUERY heat
-- did:
--   paused heat
-- records:
--   {"do": "pause", "names": ["heat"]}

-- pause two queries
PAUSE QUERY heat, busy;
-- says:
--   PAUSE QUERY heat, busy
-- did:
--   paused heat, busy
-- records:
--   {"do": "pause", "names": ["heat", "busy"]}

-- resume a query
RESUME QUERY heat;
-- says:
--   RESUME QUERY heat
-- did:
--   resumed heat
-- records:
--   {"do": "resume", "names": ["heat"]}

-- drop a query
DROP QUERY heat;
-- says:
--   DROP QUERY heat
-- did:
--   dropped heat
-- records:
--   {"do": "drop", "names": ["heat"]}

-- drop a table
DROP TABLE symbols;
-- says:
--   DROP TABLE symbols
-- did:
--   dropped table symbols
-- records:
--   {"do": "drop table", "name": "symbols"}

-- drop a window
DROP WINDOW few;
-- says:
--   DROP WINDOW few
-- did:
--   dropped window few
-- records:
--   {"do": "drop window", "name": "few"}

-- drop a view
DROP VIEW counts;
-- says:
--   DROP VIEW counts
-- did:
--   dropped view counts
-- records:
--   {"do": "drop name", "name": "counts"}

-- drop a function
DROP FUNCTION hypot;
-- says:
--   DROP FUNCTION hypot
-- did:
--   dropped function hypot
-- records:
--   {"do": "drop function", "name": "hypot"}

-- drop an aggregate
DROP AGGREGATE spread;
-- says:
--   DROP AGGREGATE spread
-- did:
--   dropped aggregate spread
-- records:
--   {"do": "drop function", "name": "spread"}

-- drop a stream
DROP STREAM slow;
-- says:
--   DROP STREAM slow
-- did:
--   dropped stream slow
-- records:
--   {"do": "drop stream", "name": "slow"}

-- advance a stream
ADVANCE STREAM trades TO '2026-01-31T12:00:00Z';
-- says:
--   ADVANCE STREAM trades TO '2026-01-31T12:00:00Z'
-- did:
--   advanced stream trades
-- records:
--   {"do": "advance", "stream": "trades", "instant": 1769860800000000}

-- show queries
SHOW QUERIES;
-- says:
--   SHOW QUERIES
-- shows:
--   name | answers | reads | asks | status | version | state
--   heat | numbers | trades | avg(price) from trades [recent] group by sym, every 1 min, exact | running | 1 | groups
--   users | numbers | trades | distinct(sym) from trades [range 1 min], on change, within 0.05 of the value at 95% confidence | running | 1 | bounded
--   busy | rows | trades | SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym HAVING COUNT(*) > 1, on change, exact | running | 1 | window
--   top[A].high | numbers | trades | max(price) from trades [range 1 min] where sym = 'A', on change, exact | running | 1 | bounded
--   top[A].low | numbers | trades | min(price) from trades [range 1 min] where sym = 'A', on change, exact | running | 1 | bounded
--   top[B].high | numbers | trades | max(price) from trades [range 1 min] where sym = 'B', on change, exact | running | 1 | bounded
--   top[B].low | numbers | trades | min(price) from trades [range 1 min] where sym = 'B', on change, exact | running | 1 | bounded

-- show streams
SHOW STREAMS;
-- says:
--   SHOW STREAMS
-- shows:
--   name | source | columns | time | key | tick | late | idle | feed | reason | dead_letters
--   trades | files | sym string, ts time, price float, size int, buy bool | ts | sym | 1 s | drop |  |  |  | 0
--   quotes | files | sym string, ts time, bid float, ask float | ts | sym | 1 s | allow |  |  |  | 0
--   packets | files | ts time, saddr string, daddr string, port int, length int | ts |  | 1 s | revise |  |  |  | 0
--   orders | files | op string, ts time, sym string, size int | ts |  | 1 s | drop |  |  |  | 0
--   slow | files | sym string, ts time, price float, size int, buy bool | ts | sym | 1 min | drop |  |  |  | 0

-- show tables
SHOW TABLES;
-- says:
--   SHOW TABLES
-- shows:
--   name | columns | origin | rows | every | refreshed | failures | failure
--   symbols | sym string, sector string, since time | /symbols.csv | 2 |  | epoch 1 |  |

-- show windows
SHOW WINDOWS;
-- says:
--   SHOW WINDOWS
-- shows:
--   name | window
--   recent | range 5 min slide 1 min
--   few | rows 10

-- show functions
SHOW FUNCTIONS;
-- says:
--   SHOW FUNCTIONS
-- shows:
--   name | kind | returns | target
--   hypot | function | float | numpy:hypot
--   spread | aggregate | float | numpy:ptp

-- show views
SHOW VIEWS;
-- says:
--   SHOW VIEWS
-- shows:
--   name | query
--   big | SELECT sym, price * size AS worth FROM trades WHERE size > 100
--   counts | SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym

-- show answers
SHOW ANSWERS;
-- says:
--   SHOW ANSWERS
-- shows:
--   query | group | value | low | high | confidence | basis | as_of | coverage

-- show answers of one query
SHOW ANSWERS OF heat;
-- says:
--   SHOW ANSWERS OF heat
-- shows:
--   query | group | value | low | high | confidence | basis | as_of | coverage

-- show rows of one query
SHOW ANSWERS OF busy;
-- says:
--   SHOW ANSWERS OF busy
-- shows:
--   sym | n

-- describe a stream
DESCRIBE trades;
-- says:
--   DESCRIBE trades
-- shows:
--   column | type | role
--   sym | string | key
--   ts | time | time
--   price | float |
--   size | int |
--   buy | bool |

-- describe a table
DESCRIBE symbols;
-- says:
--   DESCRIBE symbols
-- shows:
--   column | type | role
--   sym | string |
--   sector | string |
--   since | time |

-- describe a query of numbers
DESCRIBE heat;
-- says:
--   DESCRIBE heat
-- shows:
--   column | type | role
--   sym | string | group
--   value | float | value
--   low | float | bar
--   high | float | bar

-- describe a query of rows
DESCRIBE busy;
-- says:
--   DESCRIBE busy
-- shows:
--   column | type | role
--   sym | string |
--   n | int |

-- describe a window
DESCRIBE recent;
-- says:
--   DESCRIBE recent
-- shows:
--   name | window
--   recent | range 5 min slide 1 min

-- describe a view
DESCRIBE big;
-- says:
--   DESCRIBE big
-- shows:
--   column | type | role
--   sym | string |
--   worth | float |

-- describe a function
DESCRIBE hypot;
-- says:
--   DESCRIBE hypot
-- shows:
--   name | kind | returns | target
--   hypot | function | float | numpy:hypot

-- explain a query of numbers
EXPLAIN heat;
-- says:
--   EXPLAIN heat
-- shows:
--   heat version 1, running, from the next epoch
--   Answer every 1 min                             owed exact
--     Aggregate avg(price) by sym                  spends 0, groups over 4 shards
--       Window range 5 min slide 1 min (recent)    spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, sym, price)             files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- explain a query of rows
EXPLAIN busy;
-- says:
--   EXPLAIN busy
-- shows:
--   busy version 1, running, from the next epoch
--   Answer on change               owed exact, rows that come and go, from history
--     Select sym, COUNT(*) as n    spends 0, keeps nothing, not shared
--       Where COUNT(*) > 1         spends 0, keeps nothing, not shared
--         Group COUNT(*) by sym    spends 0, keeps one row for each sym, not shared
--           Window range 1 min     spends 0, keeps rows of trades for range 1 min, not shared
--             Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- explain a family
EXPLAIN top;
-- says:
--   EXPLAIN top
-- shows:
--   top[A].high version 1, running, from the next epoch
--   Answer on change                        owed exact
--     Aggregate max(price)                  spends 0, shard 0
--       Window range 1 min                  spends 0, panes of 1 s, from history, shared by 2 queries
--         Where sym = 'A'                   spends 0
--           Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   top[A].low version 1, running, from the next epoch
--   Answer on change                        owed exact
--     Aggregate min(price)                  spends 0, shard 0
--       Window range 1 min                  spends 0, panes of 1 s, from history, shared by 2 queries
--         Where sym = 'A'                   spends 0
--           Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   top[B].high version 1, running, from the next epoch
--   Answer on change                        owed exact
--     Aggregate max(price)                  spends 0, shard 3
--       Window range 1 min                  spends 0, panes of 1 s, from history, shared by 2 queries
--         Where sym = 'B'                   spends 0
--           Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   top[B].low version 1, running, from the next epoch
--   Answer on change                        owed exact
--     Aggregate min(price)                  spends 0, shard 3
--       Window range 1 min                  spends 0, panes of 1 s, from history, shared by 2 queries
--         Where sym = 'B'                   spends 0
--           Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- explain what is not registered
EXPLAIN SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- says:
--   EXPLAIN SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS
-- shows:
--   qa5eff1ce, not registered
--   Answer every 10 s                owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- explain rows that are not registered
EXPLAIN SELECT sym FROM trades [RANGE 1 MINUTE] WHERE price > 10;
-- says:
--   EXPLAIN SELECT sym FROM trades [RANGE 1 MINUTE] WHERE price > 10
-- shows:
--   q3934ea8c, not registered
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym                        spends 0, keeps nothing, not shared
--       Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--         Where price > 10              spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- explain what has not run yet
EXPLAIN ANALYZE heat;
-- says:
--   EXPLAIN ANALYZE heat
-- shows:
--   heat version 1, running, from the next epoch
--   Answer every 1 min                             owed exact
--     Aggregate avg(price) by sym                  spends 0, groups over 4 shards
--       Window range 5 min slide 1 min (recent)    spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, sym, price)             files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--   measured: nothing, it begins after epoch 0
