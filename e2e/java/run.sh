#!/bin/sh
# Apache Avro's Java Trevni as an oracle.  Needs Maven and Java 17; the first call downloads and builds.
#
#   run.sh read FILE [READER.avsc]         rows of a Trevni or Avro file, one JSON text per line
#   run.sh start                           only starts a JVM
#   run.sh rows FILE                       assembles all rows and prints their number
#   run.sh sum FILE COLUMN                 adds up a column of optional numbers
#   run.sh sum-rows FILE READER.avsc       adds up the only field of the reader's schema, from rows
#                                          (these three do it $PASSES times)
#   run.sh columns FILE                    header, column metadata and every value of every column
#   run.sh blocks FILE                     every column's block descriptors
#   run.sh seek FILE                       seeks to block edges and indexed values, checked against a scan
#   run.sh write IN.avro OUT [CODEC [CHECKSUM]]
#   run.sh write-all LIST [CODEC [CHECKSUM]]  LIST lines: IN.avro<TAB>OUT
#   run.sh write-values LIST [CODEC [CHECKSUM]]  the same for records of simple fields, with trevni.values everywhere
#   run.sh compare LIST                    LIST lines: IN.avro<TAB>PART[<TAB>PART...] (Trevni or Parquet); prints PASS|FAIL, file, detail
#                                          for the rows of all parts together, and each part's structure
#                                          and, of Parquet files, the indexes of all pages
#   run.sh selected FILE COLUMN VALUE      of a Parquet file, the rows in pages that can have the value, and all rows
#   run.sh filters FILE                    of a Parquet file, each column with a Bloom filter: its path, the number of its
#                                          values, how many of them the filter has, and how many of 10,000 others
#   run.sh parquet-cli ARGUMENT...         runs a command of parquet-cli; prints its lines, without empty ones
#   run.sh json LIST                       LIST lines: IN.avro<TAB>ROWS.json, of lines in Avro's JSON encoding; the same
#   run.sh resolve -                       standard input: WRITER.avsc<TAB>READER.avsc<TAB>DATUM in hexadecimal;
#                                          prints PASS|FAIL, -, the datum in the reader's schema or the error
#   run.sh serve                           one JVM for many of the above: standard input holds requests, each a line of
#                                          the command and its arguments, tab-separated, the lines of the list that is
#                                          named -, and an empty line; an empty line ends each answer too
#
# LIST may be - for standard input.  ORACLE_TARGET overrides the build folder, ORACLE_JAVA_OPTS adds JVM options.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=${ORACLE_TARGET:-$here/target}
mkdir -p "$target"
exec 9>"$target/lock"
flock 9
if [ ! -e "$target/built" ] || [ -n "$(find "$here/pom.xml" "$here/src" -newer "$target/built" -type f)" ]; then
    mvn -B -q -f "$here/pom.xml" -Doracle.target="$target" compile >"$target/mvn.log" 2>&1 9>&- ||
        { cat "$target/mvn.log" >&2; exit 70; }
    touch "$target/built"
fi
exec 9>&-
# shellcheck disable=SC2086
exec java -Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto ${ORACLE_JAVA_OPTS:-} \
    -cp "$target/classes:$(cat "$target/classpath")" TrevniOracle "$@"
