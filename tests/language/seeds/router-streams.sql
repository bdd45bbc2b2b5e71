-- The three reference queries over router streams from a survey of synopses.
-- The most frequent pairs of the past week.
SELECT ip_source, ip_dest, COUNT(*) AS frequency FROM r1 [RANGE 1 WEEK SLIDE 1 HOUR]
GROUP BY ip_source, ip_dest ORDER BY COUNT(*) DESC LIMIT 100;

-- An expression of sets.
SELECT COUNT(*) FROM (
    (SELECT DISTINCT ip_source, ip_dest FROM r1 INTERSECT SELECT DISTINCT ip_source, ip_dest FROM r2)
    EXCEPT SELECT DISTINCT ip_source, ip_dest FROM r3);

-- The size of a join.
SELECT COUNT(*) FROM r1, r2 WHERE r1.ip_source = r2.ip_dest;
