SELECT price FORM trades;
-- ParseError: unexpected 'FORM'
--   detail: line 1, column 14
--     SELECT price FORM trades
--                  ^
--   hint: did you mean FROM?

SELECT FROM trades;
-- ParseError: unexpected 'FROM'
--   detail: line 1, column 8
--     SELECT FROM trades
--            ^
--   hint: name what to select, or write SELECT * FROM

SELECT sym trades;
-- ParseError: unexpected end
--   detail: line 1, column 18
--     SELECT sym trades
--                      ^
--   hint: a query needs FROM: SELECT ... FROM stream [RANGE 5 MINUTES]

SELECT sym FROM trades WHERE;
-- ParseError: unexpected end
--   detail: line 1, column 29
--     SELECT sym FROM trades WHERE
--                                 ^
--   hint: expected an expression

SELECT sym FROM trades WHERE sym = 'x;
-- ParseError: a text is not closed
--   detail: line 1, column 36
--     SELECT sym FROM trades WHERE sym = 'x
--                                        ^
--   hint: end it with ', and write '' for a quote

SELECT sym FROM trades WHERE (price > 1;
-- ParseError: unexpected end
--   detail: line 1, column 40
--     SELECT sym FROM trades WHERE (price > 1
--                                            ^
--   hint: a bracket is not closed: write ) before it

SELECT sym FROM trades WHERE price == 1;
-- ParseError: unexpected '='
--   detail: line 1, column 37
--     SELECT sym FROM trades WHERE price == 1
--                                         ^
--   hint: write a single =

SELECT sym FROM trades [RANGE 1 MINUTE;
-- ParseError: unexpected end
--   detail: line 1, column 39
--     SELECT sym FROM trades [RANGE 1 MINUTE
--                                           ^
--   hint: a window is written [RANGE 5 MINUTES], [ROWS 100] or [NOW]

SELECT sym FROM trades WHERE sym = "A";
-- BindError: unknown column 'A'
--   detail: columns are sym, ts, price, size, buy
--   hint: name one of these columns, or write 'A' for a text

SELECT sym FROM trades JOIN quotes;
-- ParseError: unexpected end
--   detail: line 1, column 35
--     SELECT sym FROM trades JOIN quotes
--                                       ^
--   hint: a join needs ON condition or USING (column); CROSS JOIN has neither

SELECT sym FROM trades;; garbage;
-- ParseError: unexpected 'garbage'
--   detail: line 1, column 26
--     SELECT sym FROM trades;; garbage
--                              ^
--   hint: expected ADVANCE, ALTER, CREATE, DESCRIBE, DROP, DSTREAM, EXPLAIN or 9 more
