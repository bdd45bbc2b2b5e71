SELECT price + sym FROM trades;
-- BindError: cannot compute float + string
--   detail: in price + sym
--   hint: use numbers on both sides, or convert: CAST(x AS FLOAT)

SELECT sym * 2 FROM trades;
-- BindError: cannot compute string * int
--   detail: in sym * 2
--   hint: use numbers on both sides, or convert: CAST(x AS FLOAT)

SELECT -sym FROM trades;
-- BindError: cannot negate a string
--   detail: in -sym
--   hint: use one of int, float, duration, or convert: CAST(x AS FLOAT)

SELECT sym FROM trades WHERE price > 'x';
-- BindError: cannot compare float with string
--   detail: in price > 'x'
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades WHERE sym = 1;
-- BindError: cannot compare string with int
--   detail: in sym = 1
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades WHERE NOT price;
-- BindError: price is float, not bool
--   detail: in NOT price
--   hint: combine conditions, such as x > 1 AND y IS NULL

SELECT sym FROM trades WHERE price AND buy;
-- BindError: a condition must be true or false
--   detail: price is float
--   hint: compare it with something

SELECT sym FROM trades WHERE price BETWEEN 'a' AND 2;
-- BindError: cannot compare float with string
--   detail: in price BETWEEN 'a' AND 2
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades WHERE price IN (1, 'a');
-- BindError: cannot compare float with string
--   detail: in price IN (1, 'a')
--   hint: compare values of one type, or convert one: CAST(x AS FLOAT)

SELECT sym FROM trades WHERE price LIKE 'a%';
-- BindError: price is float, not string
--   detail: in price LIKE 'a%'
--   hint: convert to text first: CAST(x AS STRING)

SELECT sym FROM trades WHERE sym LIKE sym;
-- BindError: the pattern of LIKE must be a constant
--   detail: in sym LIKE sym
--   hint: write x LIKE 'abc%', or use starts_with(x, y) or contains(x, y)

SELECT sym || price FROM trades;
-- BindError: price is float, not string
--   detail: in sym || price
--   hint: convert to text first: CAST(x AS STRING)

SELECT ts + 1 FROM trades;
-- BindError: cannot compute time + int
--   detail: in ts + 1
--   hint: use numbers on both sides, or convert: CAST(x AS FLOAT)

SELECT ts + ts FROM trades;
-- BindError: cannot compute time + time
--   detail: in ts + ts
--   hint: use numbers on both sides, or convert: CAST(x AS FLOAT)

SELECT sym FROM trades WHERE ts > 'yesterday';
-- BindError: not an instant: 'yesterday'
--   detail: Invalid isoformat string: 'yesterday'
--   hint: write ISO 8601, 2026-01-31T12:00:00Z

SELECT CASE WHEN price THEN 1 ELSE 2 END FROM trades;
-- BindError: price is float, not bool
--   detail: in CASE WHEN price THEN 1 ELSE 2 END
--   hint: write a condition after WHEN

SELECT CASE WHEN buy THEN 1 ELSE 'x' END FROM trades;
-- BindError: the results of CASE have different types
--   detail: int, string in CASE WHEN buy THEN 1 ELSE 'x' END
--   hint: convert them to one type: CAST(x AS STRING)

SELECT CAST(ts AS INT) FROM trades;
-- BindError: cannot convert time to int
--   detail: int can be made of int, float, string, bool, duration
--   hint: for the number of seconds in a time write epoch(ts)

SELECT CAST(price AS WIDGET) FROM trades;
-- ParseError: unknown type 'WIDGET'
--   detail: line 1, column 22
--     SELECT CAST(price AS WIDGET) FROM trades
--                          ^
--   hint: types are float, int, string, bool and time

SELECT abs(sym) FROM trades;
-- BindError: abs cannot take sym, a string
--   detail: argument 1 is int or float
--   hint: write abs(number), or convert: CAST(x AS FLOAT)

SELECT round(price, 1.5) FROM trades;
-- BindError: round cannot take 1.5, a float
--   detail: argument 2 is int
--   hint: write round(float[, int]), or convert: CAST(x AS INT)

SELECT round() FROM trades;
-- BindError: wrong number of arguments of round
--   detail: it takes 1 to 2, not 0, in round()
--   hint: write round(float[, int])

SELECT substr(sym) FROM trades;
-- BindError: wrong number of arguments of substr
--   detail: it takes 2 to 3, not 1, in substr(sym)
--   hint: write substr(string, int[, int])

SELECT coalesce(price, sym) FROM trades;
-- BindError: the arguments of coalesce have different types
--   detail: float, string in coalesce(price, sym)
--   hint: convert them to one type: CAST(x AS STRING)

SELECT sqr(price) FROM trades;
-- BindError: unknown function 'sqr'
--   detail: there are 31 built in and 2 of your own
--   hint: write sqrt

SELECT frobnicate(price) FROM trades;
-- BindError: unknown function 'frobnicate'
--   detail: there are 31 built in and 2 of your own
--   hint: check the spelling

SELECT hypott(price, 1) FROM trades;
-- BindError: unknown function 'hypott'
--   detail: there are 31 built in and 2 of your own
--   hint: write hypot

SELECT hypot() FROM trades;
-- BindError: hypot has no arguments
--   detail: in hypot()
--   hint: give it a column, so that it knows the rows

SELECT sym FROM trades WHERE spread(price) > 1;
-- BindError: an aggregate cannot be inside WHERE
--   detail: spread(price) is computed from rows that passed it
--   hint: write the condition after HAVING

SELECT AVERAGE(price) FROM trades [NOW];
-- BindError: unknown function 'average'
--   detail: there are 31 built in and 2 of your own
--   hint: write avg

SELECT QUANTIL(price, 0.5) FROM trades [NOW];
-- BindError: unknown function 'quantil'
--   detail: there are 31 built in and 2 of your own
--   hint: write quantile

SELECT pow(price, 2) FROM trades;
-- BindError: unknown function 'pow'
--   detail: there are 31 built in and 2 of your own
--   hint: write power

SELECT concat(price) FROM trades;
-- BindError: concat cannot take price, a float
--   detail: argument 1 is string
--   hint: write concat(string, ...), or convert: CAST(x AS STRING)
