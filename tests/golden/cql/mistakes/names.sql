SELECT prise FROM trades;
-- BindError: unknown column 'prise'
--   detail: columns are sym, ts, price, size, buy
--   hint: did you mean price?

SELECT t.prise FROM trades t;
-- BindError: unknown column 't.prise'
--   detail: columns are sym, ts, price, size, buy
--   hint: did you mean price?

SELECT trade.price FROM trades;
-- BindError: unknown table 'trade' in trade.price
--   detail: FROM has trades
--   hint: did you mean trades.price?

SELECT x.* FROM trades;
-- BindError: unknown table 'x' in x.*
--   detail: FROM has trades
--   hint: name it in FROM

SELECT sym FROM trades [NOW], quotes [NOW];
-- BindError: column 'sym' is ambiguous
--   detail: trades and quotes have it
--   hint: write trades.sym

SELECT sym FROM trades [NOW] t JOIN quotes [NOW] q ON sym = q.sym;
-- BindError: column 'sym' is ambiguous
--   detail: t and q have it
--   hint: write t.sym

SELECT * FROM trades [NOW] a JOIN quotes [NOW] b USING (price);
-- BindError: USING (price) needs the column on both sides
--   detail: the right side of the join has none of that name
--   hint: write ON and the two columns that are to be equal

SELECT 1 FROM trades [NOW], trades [NOW];
-- BindError: two sources are named 'trades'
--   detail: FROM has trades
--   hint: give each a name of its own: FROM s [RANGE 1 MINUTE] AS a, s [NOW] AS b

SELECT * FROM (SELECT sym FROM trades [NOW]), (SELECT sym FROM quotes [NOW]);
-- BindError: two subqueries have no name
--   detail: FROM has a subquery
--   hint: give each a name of its own: FROM s [RANGE 1 MINUTE] AS a, s [NOW] AS b

SELECT * FROM trade;
-- BindError: unknown stream or table 'trade'
--   detail: there are big, busy, counts, heat, orders, packets, quotes, slow ...
--   hint: did you mean trades?

SELECT * FROM nothing_like_it;
-- BindError: unknown stream or table 'nothing_like_it'
--   detail: there are big, busy, counts, heat, orders, packets, quotes, slow ...
--   hint: check the spelling, or create it first

SELECT * FROM trades [resent];
-- BindError: unknown window 'resent'
--   detail: there are few, recent
--   hint: did you mean recent?
