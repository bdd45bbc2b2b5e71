-- Questions about the plant of `examples/plant`, in the language. While it runs,
--   streamgauge run examples/plant
-- ask from another terminal:
--   streamgauge sql -f examples/language.sql --home examples/plant/plant.gauge
-- and look with `streamgauge sql`: SHOW QUERIES; WATCH hot;

-- A percentile for each kind of sensor, one percent off at most.
CREATE QUERY high_end AS
SELECT kind, QUANTILE(value, 0.95) FROM plant [RANGE 1 MINUTE]
GROUP BY kind EVERY 1 MINUTE WITHIN 1 PERCENT CONFIDENCE 95%;

-- The same question for each of three sites: site_load[site-00], ...
CREATE QUERY site_load FOR EACH site IN ('site-00', 'site-01', 'site-02') AS
SELECT SUM(value) FROM plant [RANGE 1 MINUTE] WHERE kind = 'power' AND site = $site EVERY 1 MINUTE;

-- Rows that come and go: sensors above 100 in the last ten seconds.
CREATE QUERY hot AS
SELECT series, site, value FROM plant [RANGE 10 SECONDS] WHERE value > 100;

-- Sites where something is hot, the worst first.
CREATE QUERY worst AS
SELECT site, COUNT(*) AS n, MAX(value) AS top FROM plant [RANGE 10 SECONDS]
WHERE value > 100 GROUP BY site ORDER BY n DESC, site LIMIT 3;

EXPLAIN worst;
