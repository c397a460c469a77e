import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.avro.AvroParquetReader;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.hadoop.ColumnIndexValidator;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.io.LocalInputFile;

/** Parquet files, read by parquet-java. */
final class ParquetRows {
  private ParquetRows() {}

  static boolean is(File file) throws IOException {
    try (InputStream in = new FileInputStream(file)) {
      return new String(in.readNBytes(4), StandardCharsets.ISO_8859_1).equals("PAR1");
    }
  }

  /** Reads rows in the Avro schema that the file names, and checks the checksums of pages. */
  static ParquetReader<IndexedRecord> open(File file) throws IOException {
    return AvroParquetReader.<IndexedRecord>builder(new LocalInputFile(file.toPath()), new PlainParquetConfiguration())
        .withDataModel(GenericData.get())
        .usePageChecksumVerification()
        .build();
  }

  /**
   * Compares the indexes of all pages with their values. Returns what is wrong, or null. parquet-java's validator says
   * of each NaN that it is above the maximum, but bounds leave NaN out.
   */
  static String wrongIndex(File file) throws IOException {
    return ColumnIndexValidator.checkContractViolations(new LocalInputFile(file.toPath())).stream()
        .map(Object::toString)
        .filter(violation -> !violation.contains("Actual value in the page: NaN"))
        .findFirst()
        .orElse(null);
  }

  /** Returns how many rows are in the pages that can have a value by the index of a column of longs, and in all. */
  static String selected(File file, String column, long value) throws IOException {
    ParquetReadOptions options = ParquetReadOptions.builder(new PlainParquetConfiguration())
        .withRecordFilter(FilterCompat.get(FilterApi.eq(FilterApi.longColumn(column), value)))
        .build();
    try (ParquetFileReader reader = new ParquetFileReader(new LocalInputFile(file.toPath()), options)) {
      return reader.getFilteredRecordCount() + "\t" + reader.getRecordCount();
    }
  }
}
