import java.io.File;
import java.io.IOException;
import java.util.concurrent.Callable;
import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.trevni.ColumnFileReader;
import org.apache.trevni.ColumnValues;
import org.apache.trevni.avro.AvroColumnReader;

/** Reads files like a program that uses the values, and prints only a sum. */
final class ReadBack {
  private ReadBack() {}

  /** Does the work PASSES times, and returns the last result. */
  static long passes(Callable<Long> read) throws Exception {
    for (int more = Integer.parseInt(System.getenv().getOrDefault("PASSES", "1")); more > 1; more--) read.call();
    return read.call();
  }

  /** Assembles every row, and returns their number. */
  static long rows(File file) throws IOException {
    try (AvroColumnReader<Object> rows = new AvroColumnReader<>(new AvroColumnReader.Params(file))) {
      long n = rows.getRowCount();
      for (long i = n; i > 0; i--) rows.next();
      return n;
    }
  }

  /** Adds up the optional numbers that are the only field of a reader's schema. */
  static long sumRows(File file, File readerSchema) throws IOException {
    AvroColumnReader.Params params = new AvroColumnReader.Params(file);
    params.setSchema(new Schema.Parser().parse(readerSchema));
    try (AvroColumnReader<IndexedRecord> rows = new AvroColumnReader<>(params)) {
      long sum = 0;
      for (long i = rows.getRowCount(); i > 0; i--) {
        Object value = rows.next().get(0);
        if (value != null) sum += ((Number) value).longValue();
      }
      return sum;
    }
  }

  /** Adds up a column of optional numbers. */
  static long sum(File file, String column) throws IOException {
    try (ColumnFileReader reader = new ColumnFileReader(file)) {
      ColumnValues<? extends Number> values = reader.getValues(column);
      long sum = 0;
      for (long i = reader.getRowCount(); i > 0; i--) {
        values.startRow();
        for (int n = values.nextLength(); n > 0; n--) sum += values.nextValue().longValue();
      }
      return sum;
    }
  }
}
