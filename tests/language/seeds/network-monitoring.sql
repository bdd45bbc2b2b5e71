-- The five standing queries of the network monitor in the paper on adaptive filters: volumes of
-- traffic averaged over the hosts of an organization, each to within a stated width.
-- Q1: remote logins that come from outside.
CREATE STANDING QUERY q1 AS
SELECT AVG(login_requests) FROM hosts WHERE origin = 'external' WITHIN 0.5;

-- Q2: incoming traffic.
CREATE STANDING QUERY q2 AS SELECT AVG(bytes_in) FROM hosts GUARANTEED WITHIN 500;

-- Q3: incoming SYN packets.
CREATE STANDING QUERY q3 AS SELECT AVG(syn_packets) FROM hosts ON CHANGE OF 2.5;

-- Q4: outgoing DNS lookups, host by host.
CREATE STANDING QUERY q4 FOR EACH host IN ('alpha', 'beta', 'gamma') AS
SELECT AVG(dns_lookups) FROM hosts WITHIN 5 FRESH 1 SECOND;

-- Q5: traffic with external hosts, weighted.
CREATE STANDING QUERY q5 AS
SELECT AVG(external_bytes WEIGHT importance) FROM hosts [RANGE 1 MINUTE] WITHIN 5 PERCENT;
