CREATE WINDOW recent AS [NOW];
-- BindError: window 'recent' exists already
--   detail: it is range 5 min slide 1 min
--   hint: write ALTER WINDOW recent AS [...], or gauge.resize_window

ALTER WINDOW resent AS [NOW];
-- BindError: no window named 'resent'
--   detail: nothing to resize
--   hint: create the window first

ALTER WINDOW recent AS [RANGE 1 ms];
-- UnsupportedWindow: length of range 1 ms is not a whole number of ticks
--   detail: 1 ms against a tick of 1 s
--   hint: use a multiple of 1 s, or declare a finer tick

CREATE WINDOW w AS [recent];
-- ParseError: 'recent' is the name of a window
--   detail: line 1, column 15
--     CREATE WINDOW w AS [recent]
--                   ^
--   hint: write a window itself: [RANGE 5 MINUTES]

CREATE VIEW big AS SELECT sym FROM quotes;
-- BindError: view 'big' exists already
--   detail: it is SELECT sym, price * size AS worth FROM trades WHERE size > 100
--   hint: drop it first, or choose another name

CREATE VIEW trades AS SELECT sym FROM quotes;
-- BindError: the name 'trades' is taken
--   detail: there is a stream of that name
--   hint: choose another name for the view

CREATE VIEW v AS SELECT who FROM quotes;
-- BindError: unknown column 'who'
--   detail: columns are sym, ts, bid, ask
--   hint: name one of these columns, or write 'who' for a text

CREATE TABLE symbols FROM 'other.csv';
-- BindError: table 'symbols' exists already
--   detail: it was read from /symbols.csv
--   hint: REFRESH TABLE symbols reads it again

CREATE TABLE gone FROM 'gone.csv';
-- SourceFailure: cannot read table gone.csv
--   detail: [Errno 2] Failed to open local file '/gone.csv'. Detail: [errno 2] No such file or directory
--   hint: check the path and its permissions

CREATE TABLE gone FROM JDBC 'postgresql://h/d' TABLE 't';
-- BindError: 'postgresql://h/d' is no address of a database
--   detail: it must begin with jdbc: and the kind of the database
--   hint: write 'jdbc:postgresql://host:5432/database'

CREATE TABLE gone FROM JDBC 'jdbc:mysql://h/d' TABLE 't';
-- BindError: no driver is known for 'mysql'
--   detail: known are postgresql
--   hint: name its class with DRIVER 'org.example.Driver', and its jar in spark.jars

CREATE TABLE gone FROM JDBC 'jdbc:postgresql://h/d?password=x' TABLE 't';
-- BindError: an address with a password in it is not kept
--   detail: it would stand in the journal for everyone who reads the home
--   hint: leave it out; name a file with PASSWORD FILE, or a variable with PASSWORD ENV

CREATE TABLE gone FROM JDBC 'jdbc:postgresql://h/d' USER 'u';
-- ParseError: a database is read by a table or by a query
--   detail: line 1, column 14
--     CREATE TABLE gone FROM JDBC 'jdbc:postgresql://h/d' USER 'u'
--                  ^
--   hint: write TABLE 'schema.name' or QUERY 'SELECT ...', one of them

CREATE TABLE gone FROM DELTA 'gone';
-- SourceFailure: cannot read Delta table /gone
--   detail: Local path "/gone" does not exist or you don't have access!
--   hint: name the directory that has _delta_log in it

ALTER TABLE gone REFRESH NEVER;
-- BindError: no table named 'gone'
--   detail: tables are symbols
--   hint: write CREATE TABLE gone FROM 'file.csv'

REFRESH TABLE gone;
-- BindError: no table named 'gone'
--   detail: tables are symbols
--   hint: write CREATE TABLE gone FROM 'file.csv'

CREATE FUNCTION hypot AS 'numpy:log';
-- BindError: function 'hypot' exists already
--   detail: it is numpy:hypot
--   hint: drop it first, or choose another name

CREATE FUNCTION f AS 'numpy:no_such';
-- BindError: function 'f' cannot be loaded
--   detail: numpy:no_such: it raised AttributeError: module 'numpy' has no attribute 'no_such'
--   hint: name a function that a listed module defines, where the job runs

CREATE FUNCTION f AS 'no_module:f';
-- BindError: function 'f' is not allowed
--   detail: got 'no_module:f', expected one of numpy
--   hint: ask the operator to start the job with --allow-functions no_module:f

CREATE FUNCTION f AS 'numpy';
-- BindError: function 'f' has no valid place
--   detail: got 'numpy', expected 'module:function' with one public name after the colon
--   hint: write AS 'my_functions:score', for example

CREATE FUNCTION f AS 'numpy:pi';
-- BindError: function 'f' cannot be loaded
--   detail: numpy:pi: it raised TypeError: 'pi' is a float, not a function
--   hint: name a function that a listed module defines, where the job runs

CREATE FUNCTION f RETURNS widget AS 'numpy:log';
-- ParseError: unknown type 'widget'
--   detail: line 1, column 27
--     CREATE FUNCTION f RETURNS widget AS 'numpy:log'
--                               ^
--   hint: types are float, int, string, bool and time

CREATE FUNCTION sum AS 'numpy:log';
-- BindError: sum is an aggregate of the language
--   detail: CREATE FUNCTION sum AS 'numpy:log'
--   hint: choose another name, such as my_sum

CREATE STREAM s (a INT) FROM FILES 'x';
-- BindError: stream 's' has no event time
--   detail: no time column was named
--   hint: write TIME ts, the column that says when a row happened

CREATE STREAM s (a INT, ts TIME) FROM FILES 'x' TIME when;
-- ParseError: unexpected 'when'
--   detail: line 1, column 54
--     ATE STREAM s (a INT, ts TIME) FROM FILES 'x' TIME when
--                                                       ^
--   hint: WHEN is a keyword; as a name it is written "when"

CREATE STREAM s (a WIDGET, ts TIME) FROM FILES 'x' TIME ts;
-- ParseError: unknown type 'WIDGET'
--   detail: line 1, column 20
--     CREATE STREAM s (a WIDGET, ts TIME) FROM FILES 'x' TIME ts
--                        ^
--   hint: types are float, int, string, bool and time

CREATE STREAM s (a INT, ts TIME) FROM FILES 'x' TIME ts KEY who;
-- BindError: unknown column 'who'
--   detail: the stream has a, ts
--   hint: check the spelling, or declare the column in the stream's schema

CREATE STREAM s (a INT, ts TIME) FROM FILES 'x' TIME ts TICK 0 s;
-- ParseError: TICK needs a positive duration
--   detail: line 1, column 62
--     AM s (a INT, ts TIME) FROM FILES 'x' TIME ts TICK 0 s
--                                                       ^
--   hint: write TICK 1 SECOND

CREATE STREAM s (a INT, ts TIME) FROM FILES 'x' TIME ts TICK 1 s TICK 2 s;
-- ParseError: TICK is written twice
--   detail: line 1, column 66
--      (a INT, ts TIME) FROM FILES 'x' TIME ts TICK 1 s TICK 2 s
--                                                       ^
--   hint: write each option once

CREATE STREAM s (a INT, a INT, ts TIME) FROM FILES 'x' TIME ts;
-- BindError: stream 's' has two columns named 'a'
--   detail: its columns are a, a, ts
--   hint: give each column a name of its own

CREATE STREAM s (a INT, ts TIME) FROM FILES 'x' FORMAT xml TIME ts;
-- BindError: unknown format 'xml' of stream 's'
--   detail: formats are parquet, csv, jsonl, pcap, flows, access_log
--   hint: write FORMAT csv, for example

CREATE STREAM s (a INT, ts TIME) FROM FILES 'x' TIME ts CHANGES b;
-- BindError: unknown column 'b'
--   detail: the stream has a, ts
--   hint: check the spelling, or declare the column in the stream's schema

CREATE STREAM s FROM FILES 'no_such_directory' TIME ts;
-- SourceFailure: cannot read /no_such_directory
--   detail: Failed to open local file '/no_such_directory'. Detail: [errno 2] No such file or directory
--   hint: check that the file exists, that it may be read and that its disk is mounted

CREATE STREAM trades (a INT, ts TIME) FROM FILES 'x' TIME ts;
-- BindError: stream 'trades' exists already with another declaration
--   detail: it reads {'kind': 'files', 'path': '/trades', 'format': 'csv'}
--   hint: drop it first, or choose another name

CREATE STREAM big (a INT, ts TIME) FROM FILES 'x' TIME ts;
-- BindError: the name 'big' is taken
--   detail: there is a view of that name
--   hint: choose another name for the stream

CREATE STREAM s FROM PLANT (1, 2, 3, 4) TIME ts;
-- ParseError: a plant has three numbers
--   detail: line 1, column 29
--     CREATE STREAM s FROM PLANT (1, 2, 3, 4) TIME ts
--                                 ^
--   hint: write PLANT (sensors, seed, speed)
