SELECT sym FROM trades WHERE price > 1 WITHIN 5 PERCENT;
-- ContractUnsatisfiable: rows are exact, a tolerance is for numbers
--   detail: the query asks for within 0.05 of the value at 95% confidence
--   hint: leave WITHIN out; only an aggregate of one stream can be approximate

SELECT AVG(price) + 1 FROM trades [RANGE 1 MINUTE] WITHIN 5 PERCENT;
-- ContractUnsatisfiable: rows are exact, a tolerance is for numbers
--   detail: the query asks for within 0.05 of the value at 95% confidence
--   hint: ask for AVG(price) of one stream by itself, or write EXACT

SELECT MAX(price) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK;
-- ContractUnsatisfiable: max(price) has no rank to be wrong in
--   detail: query 'q73439411' asks for within 0.01 in rank at 95% confidence
--   hint: the nearest that can be held is within 0.01 of the value at 95% confidence: write WITHIN 1% CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value

SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE] GUARANTEED WITHIN 1 PERCENT;
-- ContractUnsatisfiable: no sketch holds Distinct within 0.01 of the value
--   detail: reservoir: reservoir cannot be exact or certain; hll: hll owes a share of the count at a confidence below 100%; theta: theta owes a share of the count at a confidence below 100%; and 2 more
--   hint: the nearest that can be held is within 0.01 of the value at 99% confidence: write WITHIN 1% CONFIDENCE 99%; or EXACT, Contract.exact(), which keeps every value

SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE] WITHIN 3;
-- ContractUnsatisfiable: no sketch holds Distinct within 3 at 95% confidence
--   detail: reservoir: reservoir cannot owe this of Distinct; hll: an absolute width of a distinct count needs the largest count there can be; theta: an absolute width of a distinct count needs the largest count there can be; and 2 more
--   hint: the nearest that can be held is within 0.01 of the value at 95% confidence: write WITHIN 1% CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value

SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK;
-- ContractUnsatisfiable: no sketch holds Distinct within 0.01 in rank at 95% confidence
--   detail: reservoir: reservoir cannot owe this of Distinct; hll: hll owes a share of the count at a confidence below 100%; theta: theta owes a share of the count at a confidence below 100%; and 2 more
--   hint: the nearest that can be held is within 0.01 of the value at 95% confidence: write WITHIN 1% CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value

SELECT SUM(size) WHEN price > AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 1 PERCENT;
-- ContractUnsatisfiable: no synopsis holds sum(size) when price > avg(price) within 0.01 of the value at 95% confidence
--   detail: only a count can be owed, as a share of the rows; the buckets that follow a moving cut give bars, but no width of them is known beforehand
--   hint: ask for exact answers, EXACT or Contract.exact(); on_change(e) already spares answers that moved less

SELECT QUANTILE(price, 0.5) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK BUDGET MEMORY 100 B;
-- ContractUnsatisfiable: no sketch holds Quantile within 0.01 in rank at 95% confidence
--   detail: kll: kll would be too large; log_histogram: log_histogram owes a share of a quantile's value, 0.0001 or more; gk: gk needs more memory for this contract; and 2 more
--   hint: it takes BUDGET MEMORY 14372 B to hold it; or ask for a wider bar

SELECT QUANTILE(price, 0.5) FROM trades [RANGE 1 MINUTE] BUDGET MEMORY 1 MB;
-- ContractUnsatisfiable: exact answers keep every value, which no budget bounds
--   detail: query 'qeefd8282' may take 1,000,000 bytes a group and pane
--   hint: say how far off it may be, as in WITHIN 1 PERCENT, or leave BUDGET MEMORY out

SELECT sym FROM trades [NOW] BUDGET MEMORY 1 MB;
-- ContractUnsatisfiable: no budget bounds the rows of a view
--   detail: BUDGET MEMORY 1,000,000
--   hint: leave it out: windows bound what is kept, EXPLAIN says how

SELECT AVG(price) FROM trades [NOW] BUDGET DISK 0.5;
-- ContractUnsatisfiable: a budget of disk cannot be held to here
--   detail: BUDGET DISK 0.5
--   hint: BUDGET MEMORY bounds the bytes of a synopsis, BUDGET PROBES and CPU the work on promising rows; a stream states its CAPACITY

SELECT AVG(price) FROM trades [NOW] BUDGET MEMORY 1 PARSEC;
-- ParseError: unknown unit 'PARSEC' of a budget
--   detail: line 1, column 53
--     LECT AVG(price) FROM trades [NOW] BUDGET MEMORY 1 PARSEC
--                                                       ^
--   hint: write BUDGET MEMORY 1 MB, CPU 0.5

SELECT AVG(price) FROM trades [NOW] BUDGET MEMORY 1 MB, MEMORY 2 MB;
-- ParseError: a budget names one thing twice
--   detail: line 1, column 44
--     SELECT AVG(price) FROM trades [NOW] BUDGET MEMORY 1 MB, MEMORY 2 MB
--                                                ^
--   hint: give each limit once

SELECT AVG(price) FROM trades [NOW] WITHIN -1;
-- ParseError: unexpected '-'
--   detail: line 1, column 44
--     SELECT AVG(price) FROM trades [NOW] WITHIN -1
--                                                ^
--   hint: expected a number

SELECT AVG(price) FROM trades [NOW] WITHIN 200% RANK;
-- ContractUnsatisfiable: contract within 2 in rank is kept by any answer
--   detail: got within=2, expected 0 <= within < 1
--   hint: write Contract.rank(0.01, confidence=0.95); in SQL WITHIN 5 PERCENT or WITHIN 0.01 RANK

SELECT AVG(price) FROM trades [NOW] WITHIN 5% CONFIDENCE 0%;
-- ParseError: a confidence lies between 0 and 1
--   detail: line 1, column 58
--     AVG(price) FROM trades [NOW] WITHIN 5% CONFIDENCE 0%
--                                                       ^
--   hint: write CONFIDENCE 95% or CONFIDENCE 0.95

SELECT AVG(price) FROM trades [NOW] WITHIN 5% CONFIDENCE 300%;
-- ParseError: a confidence lies between 0 and 1
--   detail: line 1, column 58
--     AVG(price) FROM trades [NOW] WITHIN 5% CONFIDENCE 300%
--                                                       ^
--   hint: write CONFIDENCE 95% or CONFIDENCE 0.95

SELECT AVG(price) FROM trades [NOW] CONFIDENCE 95%;
-- ContractUnsatisfiable: a confidence says how surely, and nothing says how far off
--   detail: CONFIDENCE 0.95 without WITHIN
--   hint: write WITHIN 5 PERCENT CONFIDENCE 0.95, or leave it out

SELECT AVG(price) FROM trades [NOW] FRESH 0 s;
-- ParseError: FRESH needs a positive duration
--   detail: line 1, column 43
--     SELECT AVG(price) FROM trades [NOW] FRESH 0 s
--                                               ^
--   hint: write FRESH 1 SECOND

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 1 MINUTE FRESH 10 s;
-- ContractUnsatisfiable: answers of 'q4d72f429' cannot be as fresh as 10 s
--   detail: tick takes 1 s, cadence takes 1 min
--   hint: FRESH 1 min 1 s can be held; cadence takes most, make it smaller

SELECT JOIN_SIZE(t.sym, q.sym) FROM trades [ROWS 5] t, quotes [ROWS 5] q WITHIN 10 PERCENT;
-- ContractUnsatisfiable: rows are exact, a tolerance is for numbers
--   detail: the query asks for within 0.1 of the value at 95% confidence
--   hint: ask for JOIN_SIZE(t.sym, q.sym) of one stream by itself, or write EXACT

SELECT JOIN_SIZE(sym, sym) + 1 FROM trades [NOW];
-- BindError: join_size compares a column of one source with a column of another
--   detail: in JOIN_SIZE(sym, sym)
--   hint: write JOIN_SIZE(a.x, b.x) FROM s [RANGE 1 MINUTE] a, t [RANGE 1 MINUTE] b

SELECT APPROX_QUANTILE(price, 2) FROM trades [NOW];
-- BindError: approx_quantile does not take 2
--   detail: in APPROX_QUANTILE(price, 2)
--   hint: write a share from 0 to 1, as in QUANTILE(value, 0.95)

SELECT FREQUENCY(sym, 'A') FROM trades [RANGE 1 MINUTE] WITHIN 10 PERCENT;
-- ContractUnsatisfiable: no sketch holds Frequency within 0.1 of the value at 95% confidence
--   detail: reservoir: reservoir cannot owe this of Frequency; count_min: count_min owes a share of the total weight at a confidence below 100%; space_saving: space_saving owes a share of the total weight; and 5 more
--   hint: the nearest that can be held is within 0.1 in rank at 95% confidence: write WITHIN 10% RANK CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value

SELECT COUNT(*) AS n FROM (SELECT sym FROM trades [RANGE 1 MINUTE] INTERSECT SELECT sym FROM quotes [RANGE 1 MINUTE]) x WITHIN 10 PERCENT EVERY 10 SECONDS;
-- ContractUnsatisfiable: no sketch holds set_size(p0 & p1) within 0.1 of the value at 95% confidence
--   detail: its error is within 0.0905 n, 95.0% per question, BJKST02 thm 2, where n is the rows of all the streams, of which the answer may be any part
--   hint: the nearest that can be held is within 0.1 in rank at 95% confidence: write WITHIN 10% RANK CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value

SELECT JOIN_SIZE(t.sym, q.sym) AS n FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WITHIN 10 PERCENT EVERY 10 SECONDS;
-- ContractUnsatisfiable: no sketch holds join_size(p0 = p1) within 0.1 of the value at 95% confidence
--   detail: its error is within 0.0926 n, 95.0% per question, AMS99 thm 2.2, where n is the number of pairs of rows, of which any part may meet
--   hint: the nearest that can be held is within 0.1 in rank at 95% confidence: write WITHIN 10% RANK CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value
