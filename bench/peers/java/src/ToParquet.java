import java.io.File;
import java.nio.file.Path;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.parquet.avro.AvroParquetWriter;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;

/** Converts an Avro file to Parquet with parquet-avro: IN.avro OUT.parquet. */
public final class ToParquet {
  public static void main(String[] args) throws Exception {
    try (var in = new DataFileReader<>(new File(args[0]), new GenericDatumReader<GenericRecord>());
        var out = AvroParquetWriter.<GenericRecord>builder(new LocalOutputFile(Path.of(args[1])))
            .withConf(new PlainParquetConfiguration())
            .withSchema(in.getSchema())
            .withCompressionCodec(CompressionCodecName.SNAPPY)
            .build()) {
      GenericRecord row = null;
      while (in.hasNext()) {
        out.write(row = in.next(row));
      }
    }
  }
}
