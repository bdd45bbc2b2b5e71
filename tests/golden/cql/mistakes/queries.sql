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
--   hint: name one of these columns, or write 'who' for a text

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

SELECT t.sym FROM trades [NOW] t ASOF JOIN quotes [NOW] q ON t.sym = q.sym;
-- BindError: ASOF JOIN needs one inequality between its two sides
--   detail: got 0 of <, <=, >, >= in ON t.sym = q.sym
--   hint: write ON a.key = b.key AND a.ts >= b.ts, with other conditions in WHERE

SELECT t.sym FROM trades [NOW] t ASOF JOIN quotes [NOW] q ON t.ts >= q.ts AND t.price < q.bid;
-- BindError: ASOF JOIN needs one inequality between its two sides
--   detail: got 2 of <, <=, >, >= in ON t.ts >= q.ts AND t.price < q.bid
--   hint: write ON a.key = b.key AND a.ts >= b.ts, with other conditions in WHERE

SELECT t.sym FROM trades [NOW] t ASOF JOIN quotes [NOW] q ON t.ts >= q.ts AND q.bid > 5;
-- BindError: ASOF JOIN takes equalities and one inequality
--   detail: got q.bid > 5 in ON
--   hint: write ON a.key = b.key AND a.ts >= b.ts, with other conditions in WHERE

SELECT t.sym FROM trades [RANGE UNBOUNDED] t ASOF JOIN quotes [RANGE UNBOUNDED] q USING (sym, ts) EMIT APPEND;
-- BindError: rows of this query may be taken back, so they cannot be appended for good
--   detail: an ASOF JOIN takes a pair back when a nearer partner comes
--   hint: write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes

SELECT AVG(price) FROM trades [NOW] WHERE sym = NULL;
-- BindError: a comparison with NULL is never true
--   detail: got sym = NULL
--   hint: write sym IS NULL

SELECT AVG(price) FROM trades [NOW] WHERE NULL != sym;
-- BindError: a comparison with NULL is never true
--   detail: got NULL != sym
--   hint: write sym IS NOT NULL

SELECT AVG(price) FROM trades [NOW] WHERE price BETWEEN 10 AND 1;
-- BindError: a condition is never true
--   detail: got price BETWEEN 10 AND 1, and its lower end is above its upper end
--   hint: write price BETWEEN 1 AND 10

SELECT AVG(price) FROM trades [NOW] WHERE sym = "A";
-- BindError: unknown column 'A'
--   detail: columns are sym, ts, price, size, buy
--   hint: name one of these columns, or write 'A' for a text

INSERT INTO trades VALUES ('A', 1);
-- ParseError: unexpected 'INSERT'
--   detail: line 1, column 1
--     INSERT INTO trades VALUES ('A', 1)
--     ^
--   hint: rows come from the source of a stream: add files, or push rows to POST /v1/streams/NAME/rows

DELETE FROM trades WHERE price > 3;
-- ParseError: unexpected 'DELETE'
--   detail: line 1, column 1
--     DELETE FROM trades WHERE price > 3
--     ^
--   hint: rows come from the source of a stream: add files, or push rows to POST /v1/streams/NAME/rows

SELECT * FROM trades [NOW] a NATURAL JOIN quotes [NOW] b;
-- ParseError: unexpected 'NATURAL'
--   detail: line 1, column 30
--     SELECT * FROM trades [NOW] a NATURAL JOIN quotes [NOW] b
--                                  ^
--   hint: write JOIN ... USING (column) with the columns that are to be equal

SELECT sym price size, AVG(price) FROM trades [NOW];
-- ParseError: unexpected 'size'
--   detail: line 1, column 18
--     SELECT sym price size, AVG(price) FROM trades [NOW]
--                      ^
--   hint: write a comma before 'size', or an operator

SELECT CASE WHEN price > 3 THEN 1 FROM trades [NOW];
-- ParseError: unexpected 'FROM'
--   detail: line 1, column 35
--     SELECT CASE WHEN price > 3 THEN 1 FROM trades [NOW]
--                                       ^
--   hint: a CASE is not closed: write END before it

SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price) FROM trades [NOW];
-- ParseError: unexpected 'WITHIN'
--   detail: line 1, column 29
--     SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price) FROM trades [NOW]
--                                 ^
--   hint: write QUANTILE(column, 0.5)

SELECT AVG(price) FROM trades GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE);
-- BindError: unknown function 'tumble'
--   detail: there are 31 built in and 2 of your own
--   hint: write the window after the stream: FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]
