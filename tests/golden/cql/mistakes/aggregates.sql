SELECT SUM(sym) FROM trades;
-- BindError: sum needs numbers, not string
--   detail: in SUM(sym)
--   hint: aggregate a number, or count rows with COUNT(*)

SELECT AVG(buy) FROM trades;
-- BindError: avg needs numbers, not bool
--   detail: in AVG(buy)
--   hint: aggregate a number, or count rows with COUNT(*)

SELECT STDDEV(ts) FROM trades [NOW];
-- BindError: stddev needs numbers, not time
--   detail: in STDDEV(ts)
--   hint: aggregate a number, or count rows with COUNT(*)

SELECT QUANTILE(sym, 0.5) FROM trades [NOW];
-- BindError: quantile needs numbers, not string
--   detail: in QUANTILE(sym, 0.5)
--   hint: aggregate a number, or count rows with COUNT(*)

SELECT CORR(price, sym) FROM trades [NOW];
-- BindError: corr needs numbers, not string
--   detail: in CORR(price, sym)
--   hint: aggregate a number, or count rows with COUNT(*)

SELECT AVG(price, size) FROM trades;
-- BindError: avg takes 1 argument
--   detail: got 2 in AVG(price, size)
--   hint: write AVG(value), CORR(x, y) or QUANTILE(value, 0.95)

SELECT CORR(price) FROM trades [NOW];
-- BindError: corr takes 2 arguments
--   detail: got 1 in CORR(price)
--   hint: write AVG(value), CORR(x, y) or QUANTILE(value, 0.95)

SELECT QUANTILE(price) FROM trades [NOW];
-- BindError: quantile takes 2 arguments
--   detail: got 1 in QUANTILE(price)
--   hint: write AVG(value), CORR(x, y) or QUANTILE(value, 0.95)

SELECT QUANTILE(price, 95) FROM trades [NOW];
-- BindError: quantile does not take 95
--   detail: in QUANTILE(price, 95)
--   hint: write a share from 0 to 1, as in QUANTILE(value, 0.95)

SELECT QUANTILE(price, size) FROM trades [NOW];
-- BindError: quantile does not take size
--   detail: in QUANTILE(price, size)
--   hint: write a share from 0 to 1, as in QUANTILE(value, 0.95)

SELECT QUANTILE(price, 'x') FROM trades [NOW];
-- BindError: quantile does not take 'x'
--   detail: in QUANTILE(price, 'x')
--   hint: write a share from 0 to 1, as in QUANTILE(value, 0.95)

SELECT TOP_K(sym, 0) FROM trades [NOW] ON CLOSE;
-- BindError: top_k does not take 0
--   detail: in TOP_K(sym, 0)
--   hint: write a whole number from 1, as in TOP_K(item, 10)

SELECT TOP_K(sym, 1.5) FROM trades [NOW] ON CLOSE;
-- BindError: top_k does not take 1.5
--   detail: in TOP_K(sym, 1.5)
--   hint: write a whole number from 1, as in TOP_K(item, 10)

SELECT TOP_K(sym, 5) FROM trades [NOW];
-- BindError: top_k answers whole lists, which do not change by an amount
--   detail: query 'q89a82663' answers on change
--   hint: write EVERY 10 SECONDS or ON CLOSE; in Python answer=every('10 s')

SELECT TOP_K(sym, 5) FROM trades [ROWS 5] EVERY 1 SECOND;
-- BindError: TOP_K(sym, 5) answers numbers and cannot be part of rows
--   detail: it is beside something else, or its query has more than one window of one stream
--   hint: ask for it by itself: SELECT ... FROM stream [RANGE 1 MINUTE]

SELECT FREQUENCY(sym, 3) FROM trades [NOW];
-- BindError: frequency does not take 3
--   detail: in FREQUENCY(sym, 3)
--   hint: write an item, as in FREQUENCY(name, 'A')

SELECT COUNT(price, size) FROM trades;
-- BindError: count takes one argument
--   detail: got 2 in COUNT(price, size)
--   hint: write COUNT(*) or COUNT(x)

SELECT COUNT() FROM trades;
-- ParseError: count needs an argument
--   detail: line 1, column 8
--     SELECT COUNT() FROM trades
--            ^
--   hint: write COUNT(column)

SELECT SUM(*) FROM trades;
-- ParseError: sum(*) has no meaning
--   detail: line 1, column 8
--     SELECT SUM(*) FROM trades
--            ^
--   hint: only COUNT takes *; name a column

SELECT SUM() FROM trades;
-- ParseError: sum needs an argument
--   detail: line 1, column 8
--     SELECT SUM() FROM trades
--            ^
--   hint: write SUM(column)

SELECT MAX(DISTINCT price) FROM trades;
-- BindError: max takes no DISTINCT
--   detail: in MAX(DISTINCT price)
--   hint: only COUNT takes DISTINCT

SELECT SUM(DISTINCT price) FROM trades;
-- BindError: sum takes no DISTINCT
--   detail: in SUM(DISTINCT price)
--   hint: only COUNT takes DISTINCT

SELECT MAX(price WEIGHT size) FROM trades;
-- BindError: max does not take this weight
--   detail: size is int
--   hint: weights are numbers and go with sum, avg, var and stddev

SELECT AVG(price WEIGHT sym) FROM trades [NOW];
-- BindError: avg does not take this weight
--   detail: sym is string
--   hint: weights are numbers and go with sum, avg, var and stddev

SELECT sym, VAR(price WEIGHT size) + 1 AS v FROM trades [RANGE 1 MINUTE] GROUP BY sym;
-- BindError: VAR(price WEIGHT size) answers numbers and cannot be part of rows
--   detail: rows that come and go are weighed in sums and averages only
--   hint: ask for it by itself: SELECT VAR(x WEIGHT w) FROM stream [RANGE 1 MINUTE]

SELECT sym, STDDEV(price WEIGHT size) + 1 AS v FROM trades [RANGE 1 MINUTE] GROUP BY sym;
-- BindError: STDDEV(price WEIGHT size) answers numbers and cannot be part of rows
--   detail: rows that come and go are weighed in sums and averages only
--   hint: ask for it by itself: SELECT VAR(x WEIGHT w) FROM stream [RANGE 1 MINUTE]

SELECT SUM(COUNT(*)) FROM trades;
-- BindError: an aggregate cannot be inside another
--   detail: in SUM(COUNT(*))
--   hint: compute the inner one in a subquery in FROM

SELECT COUNT(*) FILTER (WHERE SUM(price) > 1) FROM trades;
-- BindError: an aggregate cannot be inside another
--   detail: in COUNT(*) FILTER (WHERE SUM(price) > 1)
--   hint: compute the inner one in a subquery in FROM

SELECT COUNT(*) FILTER (WHERE price) FROM trades;
-- BindError: a condition must be true or false
--   detail: price is float
--   hint: compare it with something

SELECT sym FROM trades WHERE COUNT(*) > 1;
-- BindError: an aggregate cannot be inside WHERE
--   detail: COUNT(*) is computed from rows that passed it
--   hint: write the condition after HAVING

SELECT sym FROM trades GROUP BY COUNT(*);
-- BindError: rows cannot be grouped by an aggregate
--   detail: in GROUP BY COUNT(*)
--   hint: use HAVING

SELECT price, COUNT(*) FROM trades GROUP BY sym;
-- BindError: column price is neither grouped nor aggregated
--   detail: groups are by sym
--   hint: add it to GROUP BY, or take MAX(price)

SELECT sym, COUNT(*) FROM trades;
-- BindError: column sym is neither grouped nor aggregated
--   detail: groups are by nothing
--   hint: add it to GROUP BY, or take MAX(sym)

SELECT sym FROM trades GROUP BY 2;
-- BindError: there is no item 2 to group by
--   detail: the select list has 1
--   hint: count from 1, or write the column

SELECT sym FROM trades HAVING price > 1;
-- BindError: HAVING is for groups
--   detail: no group and no aggregate beside price > 1
--   hint: write the condition after WHERE

SELECT COUNT(*) FROM trades HAVING price > 1;
-- BindError: column price is neither grouped nor aggregated
--   detail: groups are by nothing
--   hint: add it to GROUP BY, or take MAX(price)

SELECT sym FROM trades [NOW] ORDER BY 2 LIMIT 1;
-- BindError: there is no column 2 to order by
--   detail: the query has 1
--   hint: count from 1, or write the column

SELECT sym FROM trades [NOW] ORDER BY prise;
-- BindError: unknown column 'prise'
--   detail: columns are sym, ts, price, size, buy
--   hint: did you mean price?

SELECT DISTINCT sym FROM trades [NOW] ORDER BY price;
-- BindError: DISTINCT rows can be ordered only by what is selected
--   detail: price is not in the select list
--   hint: select it too, or order by a selected column

SELECT sym FROM trades [NOW] LIMIT -1;
-- ParseError: unexpected '-'
--   detail: line 1, column 36
--     SELECT sym FROM trades [NOW] LIMIT -1
--                                        ^
--   hint: expected a number

SELECT sym FROM trades [NOW] LIMIT 1.5;
-- ParseError: 1.5 is not a whole number
--   detail: line 1, column 36
--     SELECT sym FROM trades [NOW] LIMIT 1.5
--                                        ^
--   hint: write 2

SELECT COUNT(*) WHEN price > 1 FROM trades [NOW];
-- ParseError: WHEN needs an aggregate in its condition
--   detail: line 1, column 8
--     SELECT COUNT(*) WHEN price > 1 FROM trades [NOW]
--            ^
--   hint: write COUNT(*) FILTER (WHERE ...) for a plain condition

SELECT COUNT(*) WHEN price > AVG(size) FROM trades [NOW];
-- BindError: WHEN compares a value with an aggregate of the same value
--   detail: got COUNT(*) WHEN price > AVG(size)
--   hint: write COUNT(*) WHEN x > 1.5 * AVG(x), or SUM(y) WHEN x <= 2 * MIN(x)

SELECT COUNT(*) WHEN price > AVG(price) * AVG(price) FROM trades [NOW];
-- BindError: WHEN compares a value with an aggregate of the same value
--   detail: got COUNT(*) WHEN price > AVG(price) * AVG(price)
--   hint: write COUNT(*) WHEN x > 1.5 * AVG(x), or SUM(y) WHEN x <= 2 * MIN(x)

SELECT MAX(size) WHEN price > AVG(price) FROM trades [NOW];
-- BindError: WHEN compares a value with an aggregate of the same value
--   detail: got MAX(size) WHEN price > AVG(price)
--   hint: write COUNT(*) WHEN x > 1.5 * AVG(x), or SUM(y) WHEN x <= 2 * MIN(x)

SELECT (COUNT(*) WHEN price > AVG(price)) + 1 AS n FROM trades [NOW];
-- BindError: COUNT(*) WHEN price > AVG(price) answers numbers and cannot be part of rows
--   detail: it is beside something else, or its query has more than one window of one stream
--   hint: ask for it by itself: SELECT ... FROM stream [RANGE 1 MINUTE]

SELECT COUNT(*) WHEN price > AVG(price) FROM trades [ROWS 5];
-- BindError: COUNT(*) WHEN price > AVG(price) answers numbers and cannot be part of rows
--   detail: it is beside something else, or its query has more than one window of one stream
--   hint: ask for it by itself: SELECT ... FROM stream [RANGE 1 MINUTE]

SELECT F2(sym) + 1 AS n FROM trades [NOW];
-- BindError: F2(sym) answers numbers and cannot be part of rows
--   detail: it is beside something else, or its query has more than one window of one stream
--   hint: ask for it by itself: SELECT ... FROM stream [RANGE 1 MINUTE]

SELECT QUANTILE(price, 95) + 1 AS q FROM trades [NOW];
-- BindError: quantile does not take 95
--   detail: in QUANTILE(price, 95)
--   hint: write a share from 0 to 1, as in QUANTILE(value, 0.95)

SELECT JOIN_SIZE(t.sym, t.sym) AS n FROM trades [NOW] t, quotes [NOW] q;
-- BindError: join_size compares a column of one source with a column of another
--   detail: in JOIN_SIZE(t.sym, t.sym)
--   hint: write JOIN_SIZE(a.x, b.x) FROM s [RANGE 1 MINUTE] a, t [RANGE 1 MINUTE] b
