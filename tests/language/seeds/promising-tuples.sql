-- A summary of a stream by granularity, and queries that prefer its promising regions.
CREATE SUMMARY items ON store1(item_no) WITH GRANULARITY 10 SECONDS AND COLLAPSE(2, 6);
CREATE SUMMARY prices ON store1(price) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)
    MAXLENGTH 10 SECONDS BUCKETS 8 USING histogram CONFIDENCE 60%;

SELECT s1.item_no, s1.ts, s2.ts FROM store1 AS s1 [RANGE 1 HOUR], store2 AS s2 [RANGE 1 HOUR]
WHERE s1.item_no = s2.item_no
WITH PREFERENCE DESC COUNT(s1.item_no), SUMMARY.Estimate.Count(s2.item_no) FADE FACTOR 0.8 WINDOW 1 HOUR;

SELECT SUM(price) FROM store1 [RANGE 1 HOUR] WITH PREFERENCE DESC COUNT(price) * price BUDGET PROBES 500, CPU 20%;

-- Correlated aggregates over a landmark window.
SELECT COUNT(*) WHEN price > 1.5 * AVG(price) FROM sales [SINCE '2026-01-01'];
SELECT SUM(amount) WHEN price <= 2 * MIN(price) FROM sales [RANGE 1 HOUR];
