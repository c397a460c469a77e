import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.avro.AvroParquetReader;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.hadoop.ColumnIndexValidator;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;

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

  /** Compares the indexes of all pages with their values. Returns what is wrong, or null. */
  static String wrongIndex(File file) throws IOException {
    return ColumnIndexValidator.checkContractViolations(new LocalInputFile(file.toPath())).stream()
        .map(Object::toString)
        .findFirst()
        .orElse(null);
  }

  /**
   * Returns, for each column with a Bloom filter, its path, how many values it has, how many of them the filter has, and
   * how many of 10,000 others.
   */
  static List<String> filters(File file) throws IOException {
    List<String> lines = new ArrayList<>();
    ParquetReadOptions options = ParquetReadOptions.builder(new PlainParquetConfiguration()).build();
    try (ParquetFileReader reader = new ParquetFileReader(new LocalInputFile(file.toPath()), options)) {
      MessageType schema = reader.getFileMetaData().getSchema();
      List<ColumnChunkMetaData> chunks = reader.getFooter().getBlocks().get(0).getColumns();
      ColumnReadStoreImpl store = new ColumnReadStoreImpl(
          reader.readNextRowGroup(), new GroupRecordConverter(schema).getRootConverter(), schema, reader.getFileMetaData().getCreatedBy());
      for (int i = 0; i < chunks.size(); i++) {
        BloomFilter filter = reader.readBloomFilter(chunks.get(i));
        if (filter == null) continue;
        ColumnDescriptor column = schema.getColumns().get(i);
        ColumnReader values = store.getColumnReader(column);
        long all = 0, found = 0, others = 0;
        for (long n = values.getTotalValueCount(); n > 0; n--, values.consume()) {
          if (values.getCurrentDefinitionLevel() < column.getMaxDefinitionLevel()) continue;
          all++;
          if (filter.findHash(hash(filter, column, values))) found++;
        }
        for (int k = 0; k < 10_000; k++) {
          if (filter.findHash(filter.hash(Binary.fromString("other " + k)))) others++;
        }
        lines.add(String.join(".", column.getPath()) + "\t" + all + "\t" + found + "\t" + others);
      }
    }
    return lines;
  }

  private static long hash(BloomFilter filter, ColumnDescriptor column, ColumnReader values) {
    return switch (column.getPrimitiveType().getPrimitiveTypeName()) {
      case INT32 -> filter.hash(values.getInteger());
      case INT64 -> filter.hash(values.getLong());
      default -> filter.hash(values.getBinary());
    };
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
