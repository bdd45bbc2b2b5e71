CREATE QUERY heat AS SELECT AVG(price) FROM trades [NOW];
-- BindError: query 'heat' exists already
--   detail: it asks avg(price) from trades [recent] group by sym, every 1 min, exact
--   hint: choose another name, or alter it

CREATE QUERY trades AS SELECT AVG(price) FROM trades [NOW];
-- BindError: the name 'trades' is taken
--   detail: there is a stream of that name
--   hint: choose another name for the query

CREATE QUERY big AS SELECT AVG(price) FROM trades [NOW];
-- BindError: the name 'big' is taken
--   detail: there is a view of that name
--   hint: choose another name for the query

CREATE QUERY busy AS SELECT sym FROM trades;
-- BindError: query 'busy' exists already
--   detail: it asks SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym HAVING COUNT(*) > 1, on change, exact
--   hint: choose another name, or alter it

CREATE QUERY n FOR EACH sym IN ('A', 'A') AS SELECT MAX(price) FROM trades [NOW];
-- BindError: FOR EACH sym names 'A' twice
--   detail: 2 values, 1 different
--   hint: name each value once

CREATE QUERY n FOR EACH sym IN ('A') AS SELECT MAX(price) FROM trades [NOW] WHERE sym = $sim;
-- BindError: $sim has no value
--   detail: FOR EACH gives $sym
--   hint: write $sym, or FOR EACH sim

CREATE QUERY n FOR EACH who IN ('A') AS SELECT MAX(price) FROM trades [NOW];
-- BindError: unknown column 'who'
--   detail: columns are sym, ts, price, size, buy
--   hint: check the spelling

CREATE QUERY n FOR EACH price IN ('A') AS SELECT MAX(price) FROM trades [NOW];
-- BindError: cannot compare float with string
--   detail: in price = 'A'
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

CREATE QUERY n FOR EACH sym IN ('A') AS SELECT sym FROM trades [NOW] UNION SELECT sym FROM quotes [NOW];
-- BindError: FOR EACH sym has no place in this query
--   detail: only a plain SELECT gets its filter by itself
--   hint: write $sym where the value belongs, such as WHERE sym = $sym

CREATE QUERY n FOR EACH sym IN () AS SELECT MAX(price) FROM trades [NOW];
-- ParseError: unexpected ')'
--   detail: line 1, column 33
--     CREATE QUERY n FOR EACH sym IN () AS SELECT MAX(price) FROM trades [NOW]
--                                     ^
--   hint: expected a number, a text in quotes, FALSE, NULL, TRUE, '-' or '+'

CREATE QUERY n FOR EACH sym IN (NULL) AS SELECT MAX(price) FROM trades [NOW];
-- BindError: FOR EACH sym names NULL, which equals nothing
--   detail: it is one of 1 values
--   hint: leave it out; WHERE sym IS NULL is a query of its own

SELECT MAX(price) FROM trades [NOW] WHERE sym = $sym;
-- BindError: $sym has no value
--   detail: a parameter gets its values from FOR EACH
--   hint: write CREATE QUERY name FOR EACH sym IN (...) AS ..., or a value

CREATE QUERY n AS SELECT MAX(price) FROM trades [NOW] WHERE sym = $sym;
-- BindError: $sym has no value
--   detail: a parameter gets its values from FOR EACH
--   hint: write CREATE QUERY name FOR EACH sym IN (...) AS ..., or a value

ALTER QUERY heatt AS SELECT AVG(price) FROM trades [NOW];
-- QueryNotFound: no query named 'heatt'
--   detail: there are busy, heat, top[A].high, top[A].low, top[B].high and 2 more
--   hint: did you mean heat?
