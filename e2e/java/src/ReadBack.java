import java.io.File;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.trevni.ColumnFileReader;
import org.apache.trevni.ColumnValues;
import org.apache.trevni.avro.AvroColumnReader;

/** Reads as a program would that wants the values: nothing is printed but a sum. */
final class ReadBack {
  private ReadBack() {}

  /** Assembles every row, of all columns or of those of a reader's schema, and gives their number. */
  static long rows(File file, File readerSchema) throws IOException {
    AvroColumnReader.Params params = new AvroColumnReader.Params(file);
    if (readerSchema != null) params.setSchema(new Schema.Parser().parse(readerSchema));
    try (AvroColumnReader<Object> rows = new AvroColumnReader<>(params)) {
      long n = rows.getRowCount();
      for (long i = n; i > 0; i--) rows.next();
      return n;
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
