ADVANCE STREAM trade TO '2026-01-01';
-- QueryNotFound: no stream named 'trade'
--   detail: there are orders, packets, quotes, slow, trades
--   hint: did you mean trades?

ADVANCE STREAM trades TO 'noon';
-- ParseError: not an instant: 'noon'
--   detail: line 1, column 26
--     ADVANCE STREAM trades TO 'noon'
--                              ^
--   hint: write ISO 8601, '2026-01-31T12:00:00Z'

SHOW THINGS;
-- ParseError: unexpected 'THINGS'
--   detail: line 1, column 6
--     SHOW THINGS
--          ^
--   hint: expected ALERTS, ANSWERS, FUNCTIONS, QUERIES, SINKS, STREAMS, SUMMARIES or 3 more

SHOW ANSWERS OF heatt;
-- QueryNotFound: no query named 'heatt'
--   detail: there are busy, heat, top[A].high, top[A].low, top[B].high and 2 more
--   hint: did you mean heat?

DESCRIBE nothing;
-- QueryNotFound: nothing is named 'nothing'
--   detail: there are 5 streams, 1 tables, 7 queries, 2 windows
--   hint: check the spelling, or look with SHOW STREAMS and SHOW QUERIES

EXPLAIN nothing;
-- QueryNotFound: no query named 'nothing'
--   detail: there are busy, heat, top[A].high, top[A].low, top[B].high and 2 more
--   hint: check the spelling

EXPLAIN SELECT prise FROM trades;
-- BindError: unknown column 'prise'
--   detail: columns are sym, ts, price, size, buy
--   hint: did you mean price?

EXPLAIN ANALYZE SELECT sym FROM trades;
-- BindError: EXPLAIN ANALYZE needs a query that has run
--   detail: this one is not registered
--   hint: register it, let it answer, then write EXPLAIN ANALYZE and its name

SELECT * FROM top;
-- BindError: 'top' stands for 4 queries
--   detail: there are top[A].high, top[A].low, top[B].high, top[B].low
--   hint: name one of them: FROM "top[A].high"

SELECT sym FROM trades WHERE price > 1 ON CLOSE;
-- BindError: ON CLOSE needs windows that all move by one slide
--   detail: slides here are none
--   hint: write [RANGE 5 MINUTES SLIDE 1 MINUTE], or EVERY 1 MINUTE
