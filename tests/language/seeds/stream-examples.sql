-- The examples that introduce the continuous query language of the STREAM system.
-- A filter: the second form is what the first one means.
SELECT * FROM s WHERE s.a > 10;
SELECT ISTREAM(*) FROM s [ROWS UNBOUNDED] WHERE s.a > 10;

-- A join of two windows; without a relation-to-stream operator the result is a relation.
SELECT * FROM s1 [ROWS 1000], s2 [RANGE 2 MINUTES] WHERE s1.a = s2.a AND s1.a > 10;

-- Each arriving row beside what a stored table knows of it.
SELECT RSTREAM(s.a, r.b) FROM s [NOW], r WHERE s.a = r.a;

-- Aggregates over windows.
SELECT a, MAX(b) FROM s1 [ROWS 200] GROUP BY a;
SELECT AVG(temp) FROM sensor_readings [RANGE 5 MINUTES];
