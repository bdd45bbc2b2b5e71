PAUSE QUERY heatt;
-- QueryNotFound: no query named 'heatt'
--   detail: there are busy, heat, top[A].high, top[A].low, top[B].high and 2 more
--   hint: did you mean heat?

RESUME QUERY nothing;
-- QueryNotFound: no query named 'nothing'
--   detail: there are busy, heat, top[A].high, top[A].low, top[B].high and 2 more
--   hint: check the spelling

DROP QUERY heatt;
-- QueryNotFound: no query named 'heatt'
--   detail: there are busy, heat, top[A].high, top[A].low, top[B].high and 2 more
--   hint: did you mean heat?

DROP STREAM trades;
-- BindError: stream 'trades' is in use
--   detail: 2 queries or views read it, 'big' first
--   hint: drop those first

DROP STREAM quotess;
-- QueryNotFound: no stream named 'quotess'
--   detail: there are orders, packets, quotes, slow, trades
--   hint: did you mean quotes?

DROP TABLE symbol;
-- QueryNotFound: no table named 'symbol'
--   detail: there are symbols
--   hint: did you mean symbols?

DROP WINDOW recent;
-- BindError: window 'recent' is in use
--   detail: 1 queries read it, 'heat' first
--   hint: drop or alter the queries first

DROP WINDOW resent;
-- QueryNotFound: no window named 'resent'
--   detail: there are few, recent
--   hint: did you mean recent?

DROP VIEW bigg;
-- QueryNotFound: no view named 'bigg'
--   detail: there are big, counts
--   hint: did you mean big?

DROP FUNCTION hypott;
-- QueryNotFound: no function named 'hypott'
--   detail: there are hypot, spread
--   hint: did you mean hypot?

DROP TABLE symbols, symbols;
-- QueryNotFound: no table named 'symbols'
--   detail: there are none
--   hint: check the spelling
