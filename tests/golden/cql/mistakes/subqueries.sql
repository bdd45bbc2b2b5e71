SELECT sym FROM trades [NOW] WHERE price > (SELECT bid FROM quotes [NOW]);
-- BindError: a subquery used as a value must give one row
--   detail: nothing says that there is one row of bid
--   hint: select an aggregate such as MAX(x), or add LIMIT 1

SELECT sym FROM trades [NOW] WHERE price > (SELECT MAX(bid), 1 FROM quotes [NOW]);
-- BindError: a subquery used as a value must have one column
--   detail: it has MAX(bid), 1
--   hint: select one

SELECT sym FROM trades [NOW] WHERE sym IN (SELECT sym, bid FROM quotes [NOW]);
-- BindError: IN needs a subquery with one column
--   detail: it has sym, bid
--   hint: select one

SELECT sym FROM trades [NOW] WHERE price IN (SELECT sym FROM quotes [NOW]);
-- BindError: cannot compare float with string
--   detail: in price IN (SELECT sym ...)
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades [NOW] t WHERE price > (SELECT bid FROM quotes [NOW] q WHERE q.sym = t.sym);
-- BindError: a subquery that reads the query around must be one aggregate
--   detail: it selects bid
--   hint: select one aggregate, such as COUNT(*), without GROUP BY and LIMIT

SELECT * FROM trades [NOW] t JOIN quotes [NOW] q ON EXISTS (SELECT 1 FROM symbols);
-- BindError: a subquery cannot be inside ON
--   detail: in inner join
--   hint: move it to WHERE

SELECT SUM((SELECT MAX(bid) FROM quotes [NOW])) FROM trades;
-- BindError: a subquery cannot be inside an aggregate
--   detail: in sum
--   hint: compute it in a subquery in FROM

SELECT sym FROM trades [NOW] t WHERE EXISTS (SELECT 1 FROM quotes [NOW] q WHERE q.who = t.sym);
-- BindError: unknown column 'q.who'
--   detail: columns are sym, ts, bid, ask
--   hint: name one of these columns, or write 'who' for a text

SELECT sym FROM trades [NOW] t WHERE EXISTS (SELECT 1 FROM quotes [NOW] q WHERE q.sym = t.price);
-- BindError: cannot compare string with float
--   detail: sym of the subquery with price of the query around it
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades [NOW] t WHERE size IN (SELECT bid FROM quotes [NOW] q WHERE q.sym = t.price);
-- BindError: cannot compare string with float
--   detail: sym of the subquery with price of the query around it
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades [NOW] WHERE buy OR price IN (SELECT sym FROM quotes [NOW]);
-- BindError: cannot compare float with string
--   detail: in price IN (SELECT sym ...)
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)
