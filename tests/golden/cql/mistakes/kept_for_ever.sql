SELECT sym, price FROM trades [RANGE 1 MINUTE] EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: rows leave the window [range 1 min]
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: COUNT(*) changes with every row
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT sym FROM trades EXCEPT SELECT sym FROM quotes EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: EXCEPT takes rows back when they turn up on the right
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT sym FROM orders EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: stream 'orders' takes rows back itself
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT sym FROM symbols EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: table 'symbols' may be read again
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT t.sym FROM trades [RANGE UNBOUNDED] t LEFT JOIN quotes [RANGE UNBOUNDED] q ON t.sym = q.sym EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: a LEFT JOIN takes a padded row back when its partner comes
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT value FROM heat EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: heat answers anew
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT ISTREAM(sym) FROM trades EMIT STORE;
-- BindError: a stream of rows has no current rows to store
--   detail: ISTREAM gives rows as they come or go
--   hint: leave ISTREAM out, or write EMIT APPEND
