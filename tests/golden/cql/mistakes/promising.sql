SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.price = q.bid BUDGET PROBES 5;
-- BindError: no summary tells which bid of stream 'quotes' promises most
--   detail: summaries are syms of trades(sym), prices of trades(price), quoted of quotes(sym)
--   hint: write CREATE SUMMARY quotes_bid ON quotes(bid) WITH GRANULARITY 4 SECONDS AND COLLAPSE(2, 4)

SELECT sym FROM slow WHERE price > 3 BUDGET PROBES 5;
-- BindError: no summary tells which price of stream 'slow' promises most
--   detail: summaries are syms of trades(sym), prices of trades(price), quoted of quotes(sym)
--   hint: write CREATE SUMMARY slow_price ON slow(price) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)

SELECT AVG(price) FROM slow [RANGE 5 MINUTES] WITH PREFERENCE WEIGHTED COUNT(sym);
-- BindError: no summary tells which sym of stream 'slow' promises most
--   detail: summaries are syms of trades(sym), prices of trades(price), quoted of quotes(sym)
--   hint: write CREATE SUMMARY slow_sym ON slow(sym) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE COUNT(sym);
-- BindError: column 'sym' is ambiguous
--   detail: t and q have it
--   hint: write t.sym

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE COUNT(t.prise);
-- BindError: unknown column 't.prise'
--   detail: columns are sym, ts, price, size, buy
--   hint: did you mean price?

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE COUNT(t.price);
-- BindError: COUNT(t.price) says nothing of the rows that meet
--   detail: the streams meet in q.sym = t.sym
--   hint: write COUNT(q.sym)

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE COUNT(t.sym) * t.price;
-- BindError: a region of a join is judged by estimates alone
--   detail: t.price in the preference COUNT(t.sym) * t.price belongs to one row
--   hint: write COUNT(t.price), or leave it out

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE DESC 3;
-- BindError: a preference needs an estimate, or all regions are alike
--   detail: 3 has none
--   hint: write COUNT(t.column) in it

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE DESC SUM(t.size);
-- BindError: a preference is arithmetic over estimates
--   detail: SUM(t.size) is not known there
--   hint: use COUNT(column), FREQUENCY(column), numbers, + - * / and brackets

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE DESC COUNT(*);
-- BindError: a preference is arithmetic over estimates
--   detail: COUNT(*) is not known there
--   hint: use COUNT(column), FREQUENCY(column), numbers, + - * / and brackets

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE COUNT(t.sym), COUNT(t.sym) * 2;
-- BindError: a preference has one expression for all streams, or one for each
--   detail: 2 expressions, 2 streams: t, q
--   hint: write COUNT(t.column), COUNT(q.column)

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITH PREFERENCE COUNT(t.sym) FADE FACTOR 1.5;
-- BindError: a preference is ASC, DESC or WEIGHTED, and fades by a factor in (0, 1]
--   detail: got DESC, FADE FACTOR 1.5
--   hint: write WITH PREFERENCE DESC COUNT(item) FADE FACTOR 0.8

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 0;
-- BindError: a budget lets something be done
--   detail: got 0 probes a tick, None cores
--   hint: write BUDGET PROBES 100, or BUDGET CPU 0.2

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 10 EMIT STORE;
-- BindError: a promising query tells what came and went, also what it has not seen
--   detail: query 'q592ce2f4' has EMIT STORE, which keeps the current rows only
--   hint: leave EMIT STORE out

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 10 WITHIN 5;
-- ContractUnsatisfiable: rows are exact, a tolerance is for numbers
--   detail: the query asks for within 5 at 95% confidence
--   hint: leave WITHIN out; only an aggregate of one stream can be approximate

SELECT t.sym FROM trades [RANGE 1 HOUR] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 5;
-- BindError: summary 'syms' does not reach back over the window
--   detail: [range 1 h] of stream 'trades', and it reaches 5 min
--   hint: create it with COLLAPSE(2, 8), which reaches 1 h 25 min; or write [RANGE 5 min]

SELECT AVG(price) FROM trades [RANGE 1 HOUR] WHERE price > 3 BUDGET PROBES 5;
-- BindError: summary 'prices' does not reach back over the window
--   detail: [range 1 h] of stream 'trades', and it reaches 7 min
--   hint: create it with COLLAPSE(2, 6), which reaches 1 h 3 min; or write [RANGE 7 min]

SELECT t.sym FROM trades t, quotes q WHERE t.sym = q.sym BUDGET PROBES 5;
-- BindError: a join would keep every row of stream 'trades' for ever
--   detail: no window is written after trades
--   hint: write trades [RANGE 5 MINUTES], or trades [RANGE UNBOUNDED] if every row is to stay

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.price > q.bid BUDGET PROBES 5;
-- BindError: streams meet in one column that is equal on all sides
--   detail: t, q meet on t.price > q.bid
--   hint: write WHERE t.k = q.k, without a function around k

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q, trades [RANGE 1 MINUTE] u WHERE t.sym = q.sym BUDGET PROBES 5;
-- BindError: streams meet in one column that is equal on all sides
--   detail: t, q, u meet on t.sym = q.sym
--   hint: write WHERE t.k = q.k AND t.k = u.k, without a function around k

SELECT t.sym FROM trades [RANGE 1 MINUTE] t LEFT JOIN quotes [RANGE 1 MINUTE] q ON t.sym = q.sym BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'qdfe3f20a': LEFT JOIN pads rows without a partner, and one may only not be found yet
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT t.sym FROM trades [ROWS 10] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 5;
-- UnsupportedWindow: rows are chosen by their promise in windows of time
--   detail: stream 'trades' has [rows 10]
--   hint: write [RANGE 1 MINUTE], or [RANGE UNBOUNDED] if every row is to stay

SELECT t.sym FROM trades [RANGE 1 MINUTE] t, symbols s WHERE t.sym = s.sym BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'qb4522b6d': it reads table 'symbols', which is no stream
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT sym FROM big WHERE worth > 3 BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q4a5e6af4': it reads view 'big', which is no stream
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT sym FROM busy WHERE n > 3 BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'qd62cc958': it reads query 'busy', which is no stream
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT x FROM (SELECT sym AS x FROM trades) s WHERE x = 'A' BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q4fc503a2': it reads a subquery s
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT sym FROM orders WHERE size > 3 BUDGET PROBES 5;
-- BindError: the rows of stream 'orders' cannot be chosen by their promise
--   detail: it takes rows back in column 'op'
--   hint: leave the preference and the budget out, or read a stream whose rows come once

SELECT saddr FROM packets WHERE length > 3 BUDGET PROBES 5;
-- BindError: the rows of stream 'packets' cannot be chosen by their promise
--   detail: its late rows revise what was given
--   hint: leave the preference and the budget out, or read a stream whose rows come once

SELECT sym FROM trades BUDGET PROBES 5;
-- BindError: nothing is to be preferred: every row is part of the answer
--   detail: query 'qf156480f' has no WHERE on stream 'trades'
--   hint: leave the preference and the budget out, or write WHERE

SELECT DISTINCT sym FROM trades [RANGE 1 MINUTE] WHERE price > 3 BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q3fff4d3d': it has DISTINCT
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT sym, AVG(price) FROM trades [RANGE 1 MINUTE] GROUP BY sym BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q68e2a18b': it has GROUP BY
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT COUNT(*) FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'qd92f2c9e': it asks for COUNT(*) of a join
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT AVG(price) + 1 FROM trades [RANGE 1 MINUTE] BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q5ce09589': it asks for AVG(price) with more around it
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT MAX(price) FROM trades [RANGE 1 MINUTE] BUDGET PROBES 5;
-- BindError: max(price) cannot be estimated from the most promising rows
--   detail: query 'q6f502efd'; COUNT, SUM, AVG, MEDIAN and QUANTILE of a column can
--   hint: leave the preference and the budget out, or ask for one of those

SELECT AVG(price) FROM trades BUDGET PROBES 5;
-- UnsupportedWindow: a promising aggregate is of a window of time
--   detail: query 'qc5663869' of trades has unbounded
--   hint: write [RANGE 1 MINUTE] after the stream

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] BUDGET PROBES 5, MEMORY 1 MB;
-- ContractUnsatisfiable: promising rows are looked at in their window, which no budget of memory bounds
--   detail: query 'q69dbc10e' has BUDGET MEMORY 1,000,000
--   hint: leave BUDGET MEMORY out; BUDGET PROBES and CPU bound the work

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK BUDGET PROBES 5;
-- ContractUnsatisfiable: avg(price) has no rank to be wrong in
--   detail: query 'q48b1de78' asks for within 0.01 in rank at 95% confidence
--   hint: the nearest that can be held is within 0.01 of the value at 95% confidence: write WITHIN 1% CONFIDENCE 95%; or EXACT, Contract.exact(), which keeps every value

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITH PREFERENCE COUNT(sym), COUNT(price);
-- BindError: a preference about one stream is one expression
--   detail: 2 are written: COUNT(sym), COUNT(price)
--   hint: write one, such as COUNT(sym)

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITH PREFERENCE COUNT(sym) + COUNT(price);
-- BindError: one summary says what regions promise
--   detail: the preference COUNT(sym) + COUNT(price) asks of sym and price
--   hint: choose one, such as COUNT(sym)

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITH PREFERENCE COUNT(sym) * size;
-- BindError: column 'size' is not known of a region
--   detail: it is in the preference COUNT(sym) * size; known are numbers of the summarised column and of 'price'
--   hint: write COUNT(sym), or create a summary of 'size'

SELECT sym FROM trades UNION SELECT sym FROM quotes BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q1da0f55a': it is written with UNION
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

WITH x AS (SELECT sym FROM trades) SELECT sym FROM x WHERE sym = 'A' BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q1a666e59': it is written with WITH x
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT RSTREAM(sym) FROM trades [RANGE 1 MINUTE] WHERE price > 3 BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q2db08498': it has RSTREAM
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

SELECT sym FROM trades WHERE price > (SELECT AVG(bid) FROM quotes [RANGE 1 MINUTE]) BUDGET PROBES 5;
-- BindError: a preference is for a join of streams, a selection or an aggregate of one stream
--   detail: query 'q7b803ca1': it has a subquery beside FROM
--   hint: write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]

CREATE SUMMARY syms ON trades(price) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4);
-- BindError: summary 'syms' exists already
--   detail: it is count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   hint: drop it first, or choose another name

CREATE SUMMARY more ON trades(colour) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4);
-- BindError: unknown column 'colour'
--   detail: the stream has sym, ts, price, size, buy
--   hint: check the spelling, or declare the column in the stream's schema

CREATE SUMMARY more ON trade(sym) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4);
-- QueryNotFound: no stream named 'trade'
--   detail: there are orders, packets, quotes, slow, trades
--   hint: did you mean trades?

CREATE SUMMARY more ON trades(sym) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4) USING kll;
-- BindError: no summary is kept as 'kll'
--   detail: known are count_sketch, count_min, sample, histogram, wavelet
--   hint: write USING count_sketch, or leave USING out

CREATE SUMMARY more ON trades(sym) WITH GRANULARITY 1 SECOND AND COLLAPSE(2, 4) BUCKETS 0;
-- BindError: a summary needs positive whole numbers and a confidence in [0, 1)
--   detail: got granularity=1000000, rate=2, depth=4, buckets=0, confidence=0.5, longest=0
--   hint: write WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)

DROP SUMMARY sims;
-- QueryNotFound: no summary named 'sims'
--   detail: there are prices, quoted, syms
--   hint: did you mean syms?
