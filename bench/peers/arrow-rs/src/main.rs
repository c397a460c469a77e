//! Converts an Avro file to Parquet with arrow-avro and parquet, both of
//! arrow-rs: IN.avro OUT.parquet.

use std::{env, error::Error, fs::File, io::BufReader};

use arrow_avro::reader::ReaderBuilder;
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let rows = ReaderBuilder::new().build(BufReader::new(File::open(&args[1])?))?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut out = ArrowWriter::try_new(File::create(&args[2])?, rows.schema(), Some(properties))?;
    for batch in rows {
        out.write(&batch?)?;
    }
    out.close()?;
    Ok(())
}
