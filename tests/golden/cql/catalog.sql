-- What the cases ask about.
CREATE STREAM trades (sym STRING, ts TIME, price FLOAT, size INT, buy BOOL)
  FROM FILES 'trades' FORMAT csv KEY sym TIME ts;
CREATE STREAM quotes (sym STRING, ts TIME, bid FLOAT, ask FLOAT)
  FROM FILES 'quotes' FORMAT csv KEY sym TIME ts LATE ALLOW 5 SECONDS;
CREATE STREAM packets (ts TIME, saddr STRING, daddr STRING, port INT, length INT)
  FROM FILES 'packets' FORMAT csv TIME ts LATE REVISE 1 MINUTE;
CREATE STREAM orders (op STRING, ts TIME, sym STRING, size INT)
  FROM FILES 'orders' FORMAT csv TIME ts CHANGES op;
CREATE STREAM slow (sym STRING, ts TIME, price FLOAT, size INT, buy BOOL)
  FROM FILES 'slow' FORMAT csv KEY sym TIME ts TICK 1 MINUTE;
CREATE TABLE symbols FROM 'symbols.csv';
CREATE WINDOW recent AS [RANGE 5 MINUTES SLIDE 1 MINUTE];
CREATE WINDOW few AS [ROWS 10];
CREATE FUNCTION hypot RETURNS FLOAT AS 'numpy:hypot';
CREATE AGGREGATE spread AS 'numpy:ptp';
CREATE VIEW big AS SELECT sym, price * size AS worth FROM trades WHERE size > 100;
CREATE VIEW counts AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym;
CREATE QUERY heat AS SELECT sym, AVG(price) FROM trades [recent] GROUP BY sym EVERY 1 MINUTE;
CREATE QUERY users AS SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE]
  WITHIN 5 PERCENT CONFIDENCE 95%;
CREATE QUERY busy AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym HAVING COUNT(*) > 1;
CREATE QUERY top FOR EACH sym IN ('A', 'B') AS SELECT MAX(price) AS high, MIN(price) AS low FROM trades [RANGE 1 MINUTE];
