package main

import "slices"

// peer is a program that converts an Avro file.
type peer struct {
	name string
	// needs is the name of the installation that has the program; empty if it needs none.
	needs string
	// command converts in to out.
	command func(in, out string) []string
	// variant is the copy of an input with maps for a peer that cannot read maps; note says
	// so in the table.
	variant, note string
	// format is the format of the output: "parquet", "trevni", or "avro" for a copy.
	format string
}

const (
	venv = cache + "/python"
	java = cache + "/java"
)

// program returns the command of a program whose last arguments are input and output.
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
		{name: "rowtocol, Parquet", command: program(rowtocol, "convert", "--workers", "1", "--format", "parquet"), format: "parquet"},
		{name: "rowtocol cat, Parquet", command: func(in, out string) []string {
			return []string{rowtocol, "cat", "--workers", "1", "--to", "parquet", "--output", out, in}
		}, format: "parquet"},
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
