SELECT DISTINCT value FROM heat;
-- BindError: numbers with bars do not go through distinct
--   detail: rows are told apart by values, which are known up to their bars only
--   hint: compute with +, -, *, /, SUM, AVG, MIN and MAX; filter, join and order as you like

SELECT value, COUNT(*) FROM heat GROUP BY value;
-- BindError: groups cannot be by value
--   detail: it has a bar
--   hint: group by columns without one

SELECT value FROM heat UNION SELECT value FROM users;
-- BindError: numbers with bars do not go through union
--   detail: rows are told apart by values, which are known up to their bars only
--   hint: compute with +, -, *, /, SUM, AVG, MIN and MAX; filter, join and order as you like
