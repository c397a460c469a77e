package main

import "slices"

// peer is a program that converts an Avro file.
type peer struct {
	name string
	// needs is the installation that the program comes from, by its name; empty
	// if it is there anyway.
	needs string
	// command converts in to out.
	command func(in, out string) []string
	// variant is the copy of an input with maps that the peer gets, because it
	// cannot read maps; note says so in the table.
	variant, note string
	// format is what comes out: "parquet", "trevni", or "avro" for a copy.
	format string
}

const (
	venv = cache + "/python"
	java = cache + "/java"
)

// program is the command of a program that takes the input and the output last.
func program(args ...string) func(in, out string) []string {
	return func(in, out string) []string { return append(slices.Clip(args), in, out) }
}

func script(name string) func(in, out string) []string {
	return program(venv+"/bin/python", "python/peer_"+name+".py")
}

func class(name string) func(in, out string) []string {
	return program("java", "-cp", java+"/classes:"+java+"/lib/*", name)
}

// ours is the peer that the others are compared with.
const ours = "rowtocol"

// peers returns all peers, in the order of the table.
func peers(rowtocol string) []peer {
	return []peer{
		{name: "cp", command: program("cp"), format: "avro"},
		{name: ours, command: program(rowtocol, "convert", "--workers", "1"), format: "trevni"},
		{name: "Rust arrow-avro", needs: "arrow-rs", command: program(cache + "/arrow-rs/release/arrow-rs-peer"), format: "parquet"},
		{name: "DataFusion", needs: "datafusion", command: script("datafusion"), format: "parquet"},
		{name: "DuckDB", needs: "duckdb", command: script("duckdb"), format: "parquet"},
		{name: "Polars", needs: "polars", command: script("polars"), format: "parquet",
			variant: "pairs", note: "maps given as arrays of pairs: it cannot read maps"},
		{name: "chdb", needs: "chdb", command: script("chdb"), format: "parquet"},
		{name: "Go parquet-go + hamba", needs: "go", command: program(cache + "/go/parquet-go"), format: "parquet"},
		{name: "Go arrow-go", needs: "go", command: program(cache + "/go/arrow-go"), format: "parquet"},
		{name: "avro-tools totrevni", needs: "java", command: program("java", "-jar", java+"/avro-tools.jar", "totrevni", "--codec", "snappy"),
			format: "trevni", variant: "strings", note: "schema given with avro.java.string: it cannot read ordinary maps"},
		{name: "Java Trevni", needs: "java", command: class("ToTrevni"), format: "trevni"},
		{name: "parquet-java", needs: "java", command: class("ToParquet"), format: "parquet"},
		{name: "fastavro + pyarrow", needs: "python", command: script("fastavro"), format: "parquet"},
	}
}
