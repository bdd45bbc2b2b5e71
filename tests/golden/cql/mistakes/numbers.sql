SELECT 99999999999999999999 FROM trades;
-- ParseError: number too large
--   detail: line 1, column 8
--     SELECT 99999999999999999999 FROM trades
--            ^
--   hint: whole numbers end at 9223372036854775807; write 1e19 for a float

SELECT 1e999 FROM trades;
-- ParseError: number too large
--   detail: line 1, column 8
--     SELECT 1e999 FROM trades
--            ^
--   hint: floats end near 1.8e308

SELECT sym FROM trades [RANGE 99999999 WEEKS];
-- ParseError: duration too long
--   detail: line 1, column 31
--     SELECT sym FROM trades [RANGE 99999999 WEEKS]
--                                   ^
--   hint: the longest is 9007199254740992 microseconds, 285 years

SELECT sym FROM trades [ROWS 99999999999999999999];
-- ParseError: number too large
--   detail: line 1, column 30
--     SELECT sym FROM trades [ROWS 99999999999999999999]
--                                  ^
--   hint: whole numbers end at 9223372036854775807; write 1e19 for a float

SELECT sym FROM trades [SINCE 'the flood'];
-- ParseError: not an instant: 'the flood'
--   detail: line 1, column 31
--     SELECT sym FROM trades [SINCE 'the flood']
--                                   ^
--   hint: write ISO 8601, '2026-01-31T12:00:00Z'

SELECT sym FROM trades WHERE ts > TIMESTAMP '2026-13-01';
-- ParseError: not an instant: '2026-13-01'
--   detail: line 1, column 45
--     SELECT sym FROM trades WHERE ts > TIMESTAMP '2026-13-01'
--                                                 ^
--   hint: write ISO 8601, '2026-01-31T12:00:00Z'
