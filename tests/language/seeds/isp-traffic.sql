-- The three queries of the traffic example of an internet provider: packets of a customer link
-- and of a backbone link.
-- Q1: the load of each minute, with an alarm above a threshold.
CREATE STANDING QUERY load_alarm AS
SELECT notifyoperator(SUM(length)) FROM pt_b [RANGE 1 MINUTE SLIDE 1 MINUTE]
GROUP BY getminute(timestamp) HAVING SUM(length) > 1000000
ON CLOSE EMIT APPEND;

-- Q2: the share of the backbone's traffic that comes from the customer.
CREATE STANDING QUERY customer_share AS
SELECT (SELECT COUNT(*) FROM pt_c [RANGE 10 MINUTES] AS c, pt_b [RANGE 10 MINUTES] AS b
        WHERE c.saddr = b.saddr AND c.daddr = b.daddr AND c.id = b.id)
       / COUNT(*) AS share
FROM pt_b [RANGE 10 MINUTES]
WITHIN 5 PERCENT CONFIDENCE 95%;

-- Q3: the pairs of source and destination in the top five percent.
CREATE STANDING QUERY heavy_pairs AS
WITH load AS (SELECT saddr, daddr, SUM(length) AS traffic FROM pt_b GROUP BY saddr, daddr)
SELECT saddr, daddr, traffic FROM load AS l1
WHERE (SELECT COUNT(*) FROM load AS l2 WHERE l2.traffic < l1.traffic)
    > (SELECT 0.95 * COUNT(*) FROM load)
ORDER BY traffic
EVERY 1 SECOND EMIT STORE;
