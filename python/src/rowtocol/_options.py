"""The flags of the program as keyword arguments, for editors, type checkers and help.

TestPython of cmd/rowtocol wrote this file: change the program, and run
go test ./cmd/rowtocol -run TestPython -update.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypedDict


class OpenOptions(TypedDict, total=False):
    """The flags of all commands.

    config: YAML job file with values for flags
    keytab: Kerberos keytab file (default: use the ticket cache)
    log_level: level of messages: debug, info, warn or error
    memory: limit for the memory of the program; give its container 48 MiB more
    principal: Kerberos principal (default the only principal of --keytab, or without --keytab the principal of the
        ticket cache)
    quiet: print only warnings and errors, and no summary
    replication: number of replicas of each new file on HDFS (default as the cluster is configured)
    store_retry: how long to retry remote storage after failures that may pass
    temp_dir: directory for temporary files
    verbose: print a message for each task and each published file, too
    workers: number of parallel workers, by default the number of cores; the number never changes the output
    """

    config: str | os.PathLike[str]
    keytab: str | os.PathLike[str]
    log_level: str
    memory: str | int
    principal: str
    quiet: bool
    replication: int
    store_retry: str | timedelta
    temp_dir: str | os.PathLike[str]
    verbose: bool
    workers: int


class ConvertOptions(OpenOptions, total=False):
    """The flags of rowtocol convert.

    allow_empty: accept directories without an Avro file, and patterns without a match
    block_codec: hfile: codec of blocks: none or gz
    block_size: number of bytes after which a column's block ends (default 64KiB, or less if --memory is too small
        for the columns)
    bloom: hfile: add a Bloom filter of the keys, in the form that HBase or Hudi reads: hbase or hudi (default
        no filter)
    bloom_filter: parquet: write a Bloom filter for the column path; repeatable
    checksum: trevni: checksum of blocks: crc32, which Java reads; crc-32, as in the specification, which Java
        does not know; or null, for none
    codec: trevni: codec, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable
        (default snappy)
    column: hfile: FAMILY:QUALIFIER of all cells, for HBase (default none, as in Hudi's files)
    compression: cfile: compression, or PATH=compression for one column: none, snappy, lz4, zlib; repeatable (default
        snappy, or none with bitshuffle); parquet: compression, or PATH=compression for one column: snappy,
        zstd, gzip, lz4_raw, none; repeatable (default snappy)
    copies: what to do about an input with the same bytes as another input, or as an input that DEST has: take
        (convert it, with a warning), skip or refuse
    encoding: cfile: PATH=encoding for one column: plain, rle, dict, prefix, bitshuffle; or physical, which stores
        dates, times, decimals and enums as plain numbers and bytes; repeatable (default Kudu's encoding for
        the type); parquet: PATH=encoding for one column: dictionary, plain, rle, delta_binary_packed,
        delta_length_byte_array, delta_byte_array, byte_stream_split; repeatable (default dictionary, or
        plain for booleans)
    exclude: leave out the inputs whose name matches this pattern, or with a / in it, whose path or directory
        matches it; repeatable
    exit_nothing: exit code if there was nothing to do (default 0)
    format: format of the output: trevni or cfile or hfile or parquet
    incremental: convert only inputs that DEST does not have yet, as an increment next to what DEST holds
    index: make a key index on these fields for lookup: paths of simple fields, separated by commas; repeatable
    invalid_utf8: parquet: what to do about strings that are not UTF-8: refuse them, or replace each run of invalid
        bytes by U+FFFD and count the strings
    job_name: name of the scheduled job in metrics and lineage, for a DEST that changes from run to run (default
        DEST)
    keep_replaced: leave the files of a replaced output and its increments in DEST for this duration, for programs that
        are reading them (default 48h if the job file has a table, else 0)
    key: hfile: fields by which rows are sorted and found: paths, separated by commas
    lineage: append OpenLineage run events to this file, one JSON line each
    many_files: cfile: allow more than 1,000 files per row group; each column has a file
    max_input_block: limit for a decompressed input block, and for a row after it is resolved to --schema
    max_lost_rows: fail if more rows than this are lost to damage; -1 is no limit
    max_runtime: stop after this time, keep finished work, and end with exit code 4, so that a retry resumes (default
        no limit)
    meta: trevni: KEY=VALUE to add to the metadata of each file; repeatable
    metrics_file: write the figures of the run to this file, *.prom, or to a file named after the job in this
        directory; node-exporter's textfile collector reads it for Prometheus
    min_age: leave out, until a later run, inputs that were modified within this time before now; this machine's
        clock should agree with the storage's
    moved: OLD=NEW: the inputs of DEST that were below OLD are now below NEW; OLD and NEW are directories, or
        roots of clusters; repeatable
    on_damage: what to do about damaged input: fail; skip, which leaves it out; or quarantine, which leaves it out
        and keeps its bytes in DEST
    overwrite: replace the output and all increments that DEST has
    page_version: parquet: version of data pages: 1 or 2, which does not compress levels
    partitioned: INPUT must be one directory: convert the new files of each of its deepest key=value directories into
        the directory of the same name in DEST
    push_gateway: send the figures of the run to the Prometheus push gateway at this address, http://HOST:PORT
    recursive: keep the recursive part of a schema as one column of Avro-encoded bytes (default: refuse such a
        schema)
    reprocess: with --partitioned, make one new output of each partition whose inputs, format or schema changed,
        that lacks an index of --index, or that has increments
    require_marker: leave out, until a later run, inputs whose directory has no file of this name, such as _SUCCESS
    restart: plan anew instead of resuming unfinished work; with --overwrite, convert again even if DEST already
        holds the output
    row_group_size: size at which a row group (a file, or with cfile a directory of files) ends; only its last row may
        exceed it
    schema: resolve all rows to the Avro schema in this file, by Avro's rules: defaults, aliases and wider types
    since: leave out inputs that were modified before this time: 2026-01-31T18:00:00Z, 2026-01-31 (UTC), or 36h
        (that long ago)
    sorted_by: cfile: column whose values ascend from row to row, which is checked; it gets an index of values, so
        that readers can seek by value; repeatable; parquet: fields, joined by commas, by which rows ascend,
        which is checked; engines then know the order
    strict: if other readers may refuse the schema, or an input has fields that the output lacks, fail instead
        of warning
    times: parquet: types of timestamps and times of day: exact, as in Avro; spark: timestamps in microseconds,
        and times of day as integers; iceberg: all but nanoseconds in microseconds
    timestamp: hfile: timestamp of all cells, in milliseconds (default the latest possible, as in Hudi's files;
        HBase then hides all later puts)
    until: leave out inputs that were modified at this time or later
    values: trevni: column for which each block's first value is kept, so that readers can seek by value;
        repeatable
    """

    allow_empty: bool
    block_codec: str
    block_size: str | int
    bloom: str
    bloom_filter: str | Sequence[str]
    checksum: str
    codec: str | Sequence[str]
    column: str
    compression: str | Sequence[str]
    copies: str
    encoding: str | Sequence[str]
    exclude: str | Sequence[str]
    exit_nothing: int
    format: str
    incremental: bool
    index: str | Sequence[str]
    invalid_utf8: str
    job_name: str
    keep_replaced: str | timedelta
    key: str
    lineage: str | os.PathLike[str]
    many_files: bool
    max_input_block: str | int
    max_lost_rows: int
    max_runtime: str | timedelta
    meta: str | Sequence[str]
    metrics_file: str | os.PathLike[str]
    min_age: str | timedelta
    moved: str | Sequence[str]
    on_damage: str
    overwrite: bool
    page_version: str
    partitioned: bool
    push_gateway: str
    recursive: str
    reprocess: bool
    require_marker: str
    restart: bool
    row_group_size: str | int
    schema: str | os.PathLike[str]
    since: str | date
    sorted_by: str | Sequence[str]
    strict: bool
    times: str
    timestamp: str
    until: str | date
    values: str | Sequence[str]


class SubmitOptions(OpenOptions, total=False):
    """The flags of rowtocol submit.

    allow_empty: accept directories without an Avro file, and patterns without a match
    attach: follow the application or job with this ID, and publish its output; give no INPUT and DEST
    block_codec: hfile: codec of blocks: none or gz
    block_size: number of bytes after which a column's block ends (default 64KiB, or less if --memory is too small
        for the columns)
    bloom: hfile: add a Bloom filter of the keys, in the form that HBase or Hudi reads: hbase or hudi (default
        no filter)
    bloom_filter: parquet: write a Bloom filter for the column path; repeatable
    cancel: kill the application or job with this ID; the work of finished tasks stays; give no INPUT and DEST
    checksum: trevni: checksum of blocks: crc32, which Java reads; crc-32, as in the specification, which Java
        does not know; or null, for none
    codec: trevni: codec, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable
        (default snappy)
    column: hfile: FAMILY:QUALIFIER of all cells, for HBase (default none, as in Hudi's files)
    compression: cfile: compression, or PATH=compression for one column: none, snappy, lz4, zlib; repeatable (default
        snappy, or none with bitshuffle); parquet: compression, or PATH=compression for one column: snappy,
        zstd, gzip, lz4_raw, none; repeatable (default snappy)
    copies: what to do about an input with the same bytes as another input, or as an input that DEST has: take
        (convert it, with a warning), skip or refuse
    detach: start the job, print its ID and where to follow it, and end without publishing anything
    encoding: cfile: PATH=encoding for one column: plain, rle, dict, prefix, bitshuffle; or physical, which stores
        dates, times, decimals and enums as plain numbers and bytes; repeatable (default Kudu's encoding for
        the type); parquet: PATH=encoding for one column: dictionary, plain, rle, delta_binary_packed,
        delta_length_byte_array, delta_byte_array, byte_stream_split; repeatable (default dictionary, or
        plain for booleans)
    exclude: leave out the inputs whose name matches this pattern, or with a / in it, whose path or directory
        matches it; repeatable
    exit_nothing: exit code if there was nothing to do (default 0)
    format: format of the output: trevni or cfile or hfile or parquet
    incremental: convert only inputs that DEST does not have yet, as an increment next to what DEST holds
    index: make a key index on these fields for lookup: paths of simple fields, separated by commas; repeatable
    invalid_utf8: parquet: what to do about strings that are not UTF-8: refuse them, or replace each run of invalid
        bytes by U+FFFD and count the strings
    job_name: name of the scheduled job in metrics and lineage, for a DEST that changes from run to run (default
        DEST)
    keep_replaced: leave the files of a replaced output and its increments in DEST for this duration, for programs that
        are reading them (default 48h if the job file has a table, else 0)
    key: hfile: fields by which rows are sorted and found: paths, separated by commas
    lineage: append OpenLineage run events to this file, one JSON line each
    many_files: cfile: allow more than 1,000 files per row group; each column has a file
    max_input_block: limit for a decompressed input block, and for a row after it is resolved to --schema
    max_lost_rows: fail if more rows than this are lost to damage; -1 is no limit
    max_runtime: stop after this time, keep finished work, and end with exit code 4, so that a retry resumes (default
        no limit)
    memory: limit for the memory of each task; its container gets 48 MiB more, plus 256 MiB for Java
    meta: trevni: KEY=VALUE to add to the metadata of each file; repeatable
    metrics_file: write the figures of the run to this file, *.prom, or to a file named after the job in this
        directory; node-exporter's textfile collector reads it for Prometheus
    min_age: leave out, until a later run, inputs that were modified within this time before now; this machine's
        clock should agree with the storage's
    moved: OLD=NEW: the inputs of DEST that were below OLD are now below NEW; OLD and NEW are directories, or
        roots of clusters; repeatable
    on_damage: what to do about damaged input: fail; skip, which leaves it out; or quarantine, which leaves it out
        and keeps its bytes in DEST
    overwrite: replace the output and all increments that DEST has
    page_version: parquet: version of data pages: 1 or 2, which does not compress levels
    partitioned: INPUT must be one directory: convert the new files of each of its deepest key=value directories into
        the directory of the same name in DEST
    property: Hadoop property of the job, KEY=VALUE; it overrides the cluster's configuration; repeatable
    push_gateway: send the figures of the run to the Prometheus push gateway at this address, http://HOST:PORT
    queue: YARN queue of the job (default the cluster's)
    recursive: keep the recursive part of a schema as one column of Avro-encoded bytes (default: refuse such a
        schema)
    reprocess: with --partitioned, make one new output of each partition whose inputs, format or schema changed,
        that lacks an index of --index, or that has increments
    require_marker: leave out, until a later run, inputs whose directory has no file of this name, such as _SUCCESS
    restart: plan anew instead of resuming unfinished work; with --overwrite, convert again even if DEST already
        holds the output
    row_group_size: size at which a row group (a file, or with cfile a directory of files) ends; only its last row may
        exceed it
    schema: resolve all rows to the Avro schema in this file, by Avro's rules: defaults, aliases and wider types
    since: leave out inputs that were modified before this time: 2026-01-31T18:00:00Z, 2026-01-31 (UTC), or 36h
        (that long ago)
    sorted_by: cfile: column whose values ascend from row to row, which is checked; it gets an index of values, so
        that readers can seek by value; repeatable; parquet: fields, joined by commas, by which rows ascend,
        which is checked; engines then know the order
    strict: if other readers may refuse the schema, or an input has fields that the output lacks, fail instead
        of warning
    times: parquet: types of timestamps and times of day: exact, as in Avro; spark: timestamps in microseconds,
        and times of day as integers; iceberg: all but nanoseconds in microseconds
    timestamp: hfile: timestamp of all cells, in milliseconds (default the latest possible, as in Hudi's files;
        HBase then hides all later puts)
    until: leave out inputs that were modified at this time or later
    values: trevni: column for which each block's first value is kept, so that readers can seek by value;
        repeatable
    workers: number of workers of each task, and of vcores of its container; the number never changes the output
    """

    allow_empty: bool
    attach: str
    block_codec: str
    block_size: str | int
    bloom: str
    bloom_filter: str | Sequence[str]
    cancel: str
    checksum: str
    codec: str | Sequence[str]
    column: str
    compression: str | Sequence[str]
    copies: str
    detach: bool
    encoding: str | Sequence[str]
    exclude: str | Sequence[str]
    exit_nothing: int
    format: str
    incremental: bool
    index: str | Sequence[str]
    invalid_utf8: str
    job_name: str
    keep_replaced: str | timedelta
    key: str
    lineage: str | os.PathLike[str]
    many_files: bool
    max_input_block: str | int
    max_lost_rows: int
    max_runtime: str | timedelta
    meta: str | Sequence[str]
    metrics_file: str | os.PathLike[str]
    min_age: str | timedelta
    moved: str | Sequence[str]
    on_damage: str
    overwrite: bool
    page_version: str
    partitioned: bool
    property: str | Sequence[str]
    push_gateway: str
    queue: str
    recursive: str
    reprocess: bool
    require_marker: str
    restart: bool
    row_group_size: str | int
    schema: str | os.PathLike[str]
    since: str | date
    sorted_by: str | Sequence[str]
    strict: bool
    times: str
    timestamp: str
    until: str | date
    values: str | Sequence[str]


class PlanOptions(OpenOptions, total=False):
    """The flags of rowtocol plan.

    allow_empty: accept directories without an Avro file, and patterns without a match
    block_codec: hfile: codec of blocks: none or gz
    block_size: number of bytes after which a column's block ends (default 64KiB, or less if --memory is too small
        for the columns)
    bloom: hfile: add a Bloom filter of the keys, in the form that HBase or Hudi reads: hbase or hudi (default
        no filter)
    bloom_filter: parquet: write a Bloom filter for the column path; repeatable
    checksum: trevni: checksum of blocks: crc32, which Java reads; crc-32, as in the specification, which Java
        does not know; or null, for none
    codec: trevni: codec, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable
        (default snappy)
    column: hfile: FAMILY:QUALIFIER of all cells, for HBase (default none, as in Hudi's files)
    compression: cfile: compression, or PATH=compression for one column: none, snappy, lz4, zlib; repeatable (default
        snappy, or none with bitshuffle); parquet: compression, or PATH=compression for one column: snappy,
        zstd, gzip, lz4_raw, none; repeatable (default snappy)
    copies: what to do about an input with the same bytes as another input, or as an input that DEST has: take
        (convert it, with a warning), skip or refuse
    encoding: cfile: PATH=encoding for one column: plain, rle, dict, prefix, bitshuffle; or physical, which stores
        dates, times, decimals and enums as plain numbers and bytes; repeatable (default Kudu's encoding for
        the type); parquet: PATH=encoding for one column: dictionary, plain, rle, delta_binary_packed,
        delta_length_byte_array, delta_byte_array, byte_stream_split; repeatable (default dictionary, or
        plain for booleans)
    exclude: leave out the inputs whose name matches this pattern, or with a / in it, whose path or directory
        matches it; repeatable
    format: format of the output: trevni or cfile or hfile or parquet
    incremental: convert only inputs that DEST does not have yet, as an increment next to what DEST holds
    index: make a key index on these fields for lookup: paths of simple fields, separated by commas; repeatable
    invalid_utf8: parquet: what to do about strings that are not UTF-8: refuse them, or replace each run of invalid
        bytes by U+FFFD and count the strings
    key: hfile: fields by which rows are sorted and found: paths, separated by commas
    many_files: cfile: allow more than 1,000 files per row group; each column has a file
    max_input_block: limit for a decompressed input block, and for a row after it is resolved to --schema
    max_lost_rows: fail if more rows than this are lost to damage; -1 is no limit
    meta: trevni: KEY=VALUE to add to the metadata of each file; repeatable
    min_age: leave out, until a later run, inputs that were modified within this time before now; this machine's
        clock should agree with the storage's
    moved: OLD=NEW: the inputs of DEST that were below OLD are now below NEW; OLD and NEW are directories, or
        roots of clusters; repeatable
    on_damage: what to do about damaged input: fail; skip, which leaves it out; or quarantine, which leaves it out
        and keeps its bytes in DEST
    output: write the plan to this file, local or on HDFS; - is standard output; an existing plan is replaced
    page_version: parquet: version of data pages: 1 or 2, which does not compress levels
    recursive: keep the recursive part of a schema as one column of Avro-encoded bytes (default: refuse such a
        schema)
    require_marker: leave out, until a later run, inputs whose directory has no file of this name, such as _SUCCESS
    row_group_size: size at which a row group (a file, or with cfile a directory of files) ends; only its last row may
        exceed it
    schema: resolve all rows to the Avro schema in this file, by Avro's rules: defaults, aliases and wider types
    since: leave out inputs that were modified before this time: 2026-01-31T18:00:00Z, 2026-01-31 (UTC), or 36h
        (that long ago)
    sorted_by: cfile: column whose values ascend from row to row, which is checked; it gets an index of values, so
        that readers can seek by value; repeatable; parquet: fields, joined by commas, by which rows ascend,
        which is checked; engines then know the order
    strict: if other readers may refuse the schema, or an input has fields that the output lacks, fail instead
        of warning
    times: parquet: types of timestamps and times of day: exact, as in Avro; spark: timestamps in microseconds,
        and times of day as integers; iceberg: all but nanoseconds in microseconds
    timestamp: hfile: timestamp of all cells, in milliseconds (default the latest possible, as in Hudi's files;
        HBase then hides all later puts)
    until: leave out inputs that were modified at this time or later
    values: trevni: column for which each block's first value is kept, so that readers can seek by value;
        repeatable
    """

    allow_empty: bool
    block_codec: str
    block_size: str | int
    bloom: str
    bloom_filter: str | Sequence[str]
    checksum: str
    codec: str | Sequence[str]
    column: str
    compression: str | Sequence[str]
    copies: str
    encoding: str | Sequence[str]
    exclude: str | Sequence[str]
    format: str
    incremental: bool
    index: str | Sequence[str]
    invalid_utf8: str
    key: str
    many_files: bool
    max_input_block: str | int
    max_lost_rows: int
    meta: str | Sequence[str]
    min_age: str | timedelta
    moved: str | Sequence[str]
    on_damage: str
    output: str | os.PathLike[str]
    page_version: str
    recursive: str
    require_marker: str
    row_group_size: str | int
    schema: str | os.PathLike[str]
    since: str | date
    sorted_by: str | Sequence[str]
    strict: bool
    times: str
    timestamp: str
    until: str | date
    values: str | Sequence[str]


class TaskOptions(OpenOptions, total=False):
    """The flags of rowtocol task.

    exit_nothing: exit code if there was nothing to do (default 0)
    max_runtime: stop after this time, keep finished work, and end with exit code 4, so that a retry resumes (default
        no limit)
    share: I/N: run task I, numbered from 0, and each N-th task after it
    task: number of a task, from 0; or several numbers, separated by commas; repeatable
    """

    exit_nothing: int
    max_runtime: str | timedelta
    share: str
    task: int | Sequence[int]


class CommitOptions(OpenOptions, total=False):
    """The flags of rowtocol commit.

    exit_nothing: exit code if there was nothing to do (default 0)
    job_name: name of the scheduled job in metrics and lineage, for a DEST that changes from run to run (default
        DEST)
    keep_replaced: leave the files of a replaced output and its increments in DEST for this duration, for programs that
        are reading them (default 48h if the job file has a table, else 0)
    lineage: append OpenLineage run events to this file, one JSON line each
    metrics_file: write the figures of the run to this file, *.prom, or to a file named after the job in this
        directory; node-exporter's textfile collector reads it for Prometheus
    moved: OLD=NEW: the inputs of DEST that were below OLD are now below NEW; OLD and NEW are directories, or
        roots of clusters; repeatable
    overwrite: replace the output and increments that DEST held when the plan was made
    push_gateway: send the figures of the run to the Prometheus push gateway at this address, http://HOST:PORT
    """

    exit_nothing: int
    job_name: str
    keep_replaced: str | timedelta
    lineage: str | os.PathLike[str]
    metrics_file: str | os.PathLike[str]
    moved: str | Sequence[str]
    overwrite: bool
    push_gateway: str


class VerifyOptions(OpenOptions, total=False):
    """The flags of rowtocol verify.

    against: compare with this INPUT, row by row: a file, directory or pattern; repeatable
    job_name: name of the scheduled job in metrics and lineage, for a DEST that changes from run to run (default
        DEST)
    max_input_block: limit for a decompressed block of an input
    metrics_file: write the figures of the run to this file, *.prom, or to a file named after the job in this
        directory; node-exporter's textfile collector reads it for Prometheus
    push_gateway: send the figures of the run to the Prometheus push gateway at this address, http://HOST:PORT
    require_complete: also end with exit code 6 if a row was not compared, or if the output lacks or changed anything that
        is in the inputs of --against
    """

    against: str | Sequence[str]
    job_name: str
    max_input_block: str | int
    metrics_file: str | os.PathLike[str]
    push_gateway: str
    require_complete: bool


class StatusOptions(OpenOptions, total=False):
    """The flags of rowtocol status.

    allow_empty: accept directories without an Avro file, and patterns without a match
    block_codec: hfile: codec of blocks: none or gz
    block_size: number of bytes after which a column's block ends (default 64KiB, or less if --memory is too small
        for the columns)
    bloom: hfile: add a Bloom filter of the keys, in the form that HBase or Hudi reads: hbase or hudi (default
        no filter)
    bloom_filter: parquet: write a Bloom filter for the column path; repeatable
    checksum: trevni: checksum of blocks: crc32, which Java reads; crc-32, as in the specification, which Java
        does not know; or null, for none
    codec: trevni: codec, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable
        (default snappy)
    column: hfile: FAMILY:QUALIFIER of all cells, for HBase (default none, as in Hudi's files)
    compression: cfile: compression, or PATH=compression for one column: none, snappy, lz4, zlib; repeatable (default
        snappy, or none with bitshuffle); parquet: compression, or PATH=compression for one column: snappy,
        zstd, gzip, lz4_raw, none; repeatable (default snappy)
    copies: what to do about an input with the same bytes as another input, or as an input that DEST has: take
        (convert it, with a warning), skip or refuse
    encoding: cfile: PATH=encoding for one column: plain, rle, dict, prefix, bitshuffle; or physical, which stores
        dates, times, decimals and enums as plain numbers and bytes; repeatable (default Kudu's encoding for
        the type); parquet: PATH=encoding for one column: dictionary, plain, rle, delta_binary_packed,
        delta_length_byte_array, delta_byte_array, byte_stream_split; repeatable (default dictionary, or
        plain for booleans)
    exclude: leave out the inputs whose name matches this pattern, or with a / in it, whose path or directory
        matches it; repeatable
    format: format of the output: trevni or cfile or hfile or parquet
    incremental: say what convert would do with this flag; needs --input
    index: make a key index on these fields for lookup: paths of simple fields, separated by commas; repeatable
    invalid_utf8: parquet: what to do about strings that are not UTF-8: refuse them, or replace each run of invalid
        bytes by U+FFFD and count the strings
    key: hfile: fields by which rows are sorted and found: paths, separated by commas
    many_files: cfile: allow more than 1,000 files per row group; each column has a file
    max_input_block: limit for a decompressed input block, and for a row after it is resolved to --schema
    max_lost_rows: fail if more rows than this are lost to damage; -1 is no limit
    meta: trevni: KEY=VALUE to add to the metadata of each file; repeatable
    min_age: leave out, until a later run, inputs that were modified within this time before now; this machine's
        clock should agree with the storage's
    moved: OLD=NEW: the inputs of DEST that were below OLD are now below NEW; OLD and NEW are directories, or
        roots of clusters; repeatable
    on_damage: what to do about damaged input: fail; skip, which leaves it out; or quarantine, which leaves it out
        and keeps its bytes in DEST
    overwrite: say what convert would do with this flag; needs --input
    page_version: parquet: version of data pages: 1 or 2, which does not compress levels
    recursive: keep the recursive part of a schema as one column of Avro-encoded bytes (default: refuse such a
        schema)
    require_marker: leave out, until a later run, inputs whose directory has no file of this name, such as _SUCCESS
    restart: say what convert would do with this flag; needs --input
    row_group_size: size at which a row group (a file, or with cfile a directory of files) ends; only its last row may
        exceed it
    schema: resolve all rows to the Avro schema in this file, by Avro's rules: defaults, aliases and wider types
    since: leave out inputs that were modified before this time: 2026-01-31T18:00:00Z, 2026-01-31 (UTC), or 36h
        (that long ago)
    sorted_by: cfile: column whose values ascend from row to row, which is checked; it gets an index of values, so
        that readers can seek by value; repeatable; parquet: fields, joined by commas, by which rows ascend,
        which is checked; engines then know the order
    strict: if other readers may refuse the schema, or an input has fields that the output lacks, fail instead
        of warning
    times: parquet: types of timestamps and times of day: exact, as in Avro; spark: timestamps in microseconds,
        and times of day as integers; iceberg: all but nanoseconds in microseconds
    timestamp: hfile: timestamp of all cells, in milliseconds (default the latest possible, as in Hudi's files;
        HBase then hides all later puts)
    until: leave out inputs that were modified at this time or later
    values: trevni: column for which each block's first value is kept, so that readers can seek by value;
        repeatable
    """

    allow_empty: bool
    block_codec: str
    block_size: str | int
    bloom: str
    bloom_filter: str | Sequence[str]
    checksum: str
    codec: str | Sequence[str]
    column: str
    compression: str | Sequence[str]
    copies: str
    encoding: str | Sequence[str]
    exclude: str | Sequence[str]
    format: str
    incremental: bool
    index: str | Sequence[str]
    invalid_utf8: str
    key: str
    many_files: bool
    max_input_block: str | int
    max_lost_rows: int
    meta: str | Sequence[str]
    min_age: str | timedelta
    moved: str | Sequence[str]
    on_damage: str
    overwrite: bool
    page_version: str
    recursive: str
    require_marker: str
    restart: bool
    row_group_size: str | int
    schema: str | os.PathLike[str]
    since: str | date
    sorted_by: str | Sequence[str]
    strict: bool
    times: str
    timestamp: str
    until: str | date
    values: str | Sequence[str]
