import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaParser;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.FileReader;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.Decoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.parquet.cli.Commands;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.trevni.BlockTable;
import org.apache.trevni.ColumnFileMetaData;
import org.apache.trevni.ColumnFileReader;
import org.apache.trevni.ColumnFileWriter;
import org.apache.trevni.ColumnMetaData;
import org.apache.trevni.ColumnValues;
import org.apache.trevni.InputBytes;
import org.apache.trevni.ValueType;
import org.apache.trevni.avro.AvroColumnReader;
import org.apache.trevni.avro.AvroColumnWriter;

/** Apache Avro's own Trevni code behind a command line; run.sh lists the commands. */
public final class TrevniOracle {
  private static final long LIMIT_SECONDS = Long.getLong("oracle.limit", 120);
  private static final PrintStream out = new PrintStream(
      new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false,
      StandardCharsets.UTF_8);

  public static void main(String[] a) {
    boolean ok = true;
    try {
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      if (a[0].equals("serve")) serve(in);
      else ok = run(a, in);
    } catch (Throwable e) {
      out.flush();
      System.err.println("trevni-oracle: " + reason(e));
      if (Boolean.getBoolean("oracle.trace")) e.printStackTrace();
      ok = false;
    }
    out.flush();
    System.exit(ok ? 0 : 1); // a timed-out worker may still run
  }

  /** Answers requests until the input ends. An empty line ends each request, and each answer. */
  private static void serve(BufferedReader in) throws IOException {
    for (String command; (command = in.readLine()) != null; ) {
      StringBuilder list = new StringBuilder();
      for (String line; (line = in.readLine()) != null && !line.isEmpty(); ) list.append(line).append('\n');
      try {
        run(command.split("\t"), new BufferedReader(new StringReader(list.toString())));
      } catch (Throwable e) {
        out.println("ERROR\t" + reason(e));
      }
      out.println();
      out.flush();
    }
  }

  /** Runs a command. A list named "-" is in the input. */
  private static boolean run(String[] a, BufferedReader in) throws Exception {
    boolean ok = true;
    switch (a[0]) {
      case "read" -> read(new File(a[1]), a.length > 2 ? new File(a[2]) : null);
      case "start" -> out.println(0);
      case "rows" -> out.println(ReadBack.passes(() -> ReadBack.rows(new File(a[1]))));
      case "sum" -> out.println(ReadBack.passes(() -> ReadBack.sum(new File(a[1]), a[2])));
      case "sum-rows" -> out.println(ReadBack.passes(() -> ReadBack.sumRows(new File(a[1]), new File(a[2]))));
      case "columns" -> columns(new File(a[1]));
      case "blocks" -> blocks(new File(a[1]));
      case "seek" -> out.println(seek(new File(a[1])));
      case "write" -> out.println(write(new File(a[1]), new File(a[2]), arg(a, 3), arg(a, 4)));
      case "write-all" -> ok = each(list(a[1], in), f -> write(f.get(0), f.get(1), arg(a, 2), arg(a, 3)));
      case "write-values" -> ok = each(list(a[1], in), f -> writeValues(f.get(0), f.get(1), arg(a, 2), arg(a, 3)));
      case "resolve" -> ok = Resolving.each(list(a[1], in), out);
      case "json" -> ok = each(list(a[1], in), f -> json(f.get(0), f.get(1)));
      case "selected" -> out.println(ParquetRows.selected(new File(a[1]), a[2], Long.parseLong(a[3])));
      case "filters" -> ParquetRows.filters(new File(a[1])).forEach(out::println);
      case "parquet-cli" -> Commands.run(Arrays.copyOfRange(a, 1, a.length)).forEach(out::println);
      case "compare" -> ok = each(list(a[1], in), f -> compare(f.get(0), f.subList(1, f.size())));
      default -> throw new IllegalArgumentException("unknown command " + a[0]);
    }
    return ok;
  }

  private static BufferedReader list(String name, BufferedReader in) throws IOException {
    return name.equals("-") ? in : Files.newBufferedReader(new File(name).toPath());
  }

  private static String arg(String[] a, int i) {
    return i < a.length ? a[i] : "null";
  }

  // Rows.

  private static void read(File file, File readerSchema) throws IOException {
    Schema projection = readerSchema == null ? null : new Schema.Parser().parse(readerSchema);
    if (isTrevni(file)) {
      AvroColumnReader.Params params = new AvroColumnReader.Params(file);
      if (projection != null) params.setSchema(projection);
      try (AvroColumnReader<Object> rows = new AvroColumnReader<>(params)) {
        Schema schema = projection == null ? rows.getFileSchema() : projection;
        for (long i = rows.getRowCount(); i > 0; i--) out.println(RowJson.of(schema, rows.next()));
      }
    } else {
      try (FileReader<Object> rows = openAvro(file, projection)) {
        Schema schema = projection == null ? rows.getSchema() : projection;
        while (rows.hasNext()) out.println(RowJson.of(schema, rows.next()));
      }
    }
  }

  private static boolean isTrevni(File file) throws IOException {
    try (InputStream in = new FileInputStream(file)) {
      return new String(in.readNBytes(3), StandardCharsets.ISO_8859_1).equals("Trv");
    }
  }

  private static FileReader<Object> openAvro(File file, Schema projection) throws IOException {
    return DataFileReader.openReader(file, new GenericDatumReader<>(null, projection));
  }

  /**
   * Reads map keys as String, not Utf8: Trevni's writer casts them.  avro-tools' totrevni reads Utf8 and so fails on
   * almost every file with a map; -Doracle.totrevni=true reads Utf8, too.
   */
  private static final class Rows extends GenericDatumReader<Object> {
    private static final GenericData model = new GenericData();

    static {
      model.setFastReaderEnabled(false); // the fast reader does not call readMapKey
    }

    Rows() {
      super(null, null, model);
    }

    @Override
    protected Object readMapKey(Object old, Schema expected, Decoder in) throws IOException {
      return in.readString();
    }
  }

  private static String write(File avro, File trevni, String codec, String checksum) throws IOException {
    ColumnFileMetaData meta = new ColumnFileMetaData().setCodec(codec).setChecksum(checksum);
    long n = 0;
    try (FileReader<Object> rows = Boolean.getBoolean("oracle.totrevni")
        ? new DataFileReader<>(avro, new GenericDatumReader<>()) : DataFileReader.openReader(avro, new Rows())) {
      AvroColumnWriter<Object> writer = new AvroColumnWriter<>(rows.getSchema(), meta);
      for (; rows.hasNext(); n++) writer.write(rows.next());
      try (OutputStream o = new FileOutputStream(trevni)) {
        writer.writeTo(o);
      }
    }
    return n + " rows";
  }

  /** Writes records of simple fields with trevni.values on every column, unlike AvroColumnWriter. */
  private static String writeValues(File avro, File trevni, String codec, String checksum) throws IOException {
    long n = 0;
    try (FileReader<Object> rows = DataFileReader.openReader(avro, new Rows())) {
      ColumnFileMetaData meta = new ColumnFileMetaData().setCodec(codec).setChecksum(checksum);
      meta.set(AvroColumnWriter.SCHEMA_KEY, rows.getSchema().toString());
      List<Schema.Field> fields = rows.getSchema().getFields();
      ColumnMetaData[] columns = new ColumnMetaData[fields.size()];
      for (int c = 0; c < columns.length; c++) {
        Schema.Field f = fields.get(c);
        columns[c] = new ColumnMetaData(f.name(), ValueType.valueOf(f.schema().getType().name())).hasIndexValues(true);
      }
      ColumnFileWriter writer = new ColumnFileWriter(meta, columns);
      for (; rows.hasNext(); n++) {
        IndexedRecord row = (IndexedRecord) rows.next();
        Object[] values = new Object[columns.length];
        for (int c = 0; c < values.length; c++) {
          Object v = row.get(c);
          values[c] = v instanceof CharSequence ? v.toString() : v;
        }
        writer.writeRow(values);
      }
      try (OutputStream o = new FileOutputStream(trevni)) {
        writer.writeTo(o);
      }
    }
    return n + " rows";
  }

  /** Checks that the rows of the parts, in order, are the rows of the Avro file. */
  private static String compare(File avro, List<File> parts) throws IOException {
    try (FileReader<Object> rows = openAvro(avro, null)) {
      Wanted want = new Wanted(avro, rows);
      for (File part : parts) {
        if (ParquetRows.is(part)) compareParquet(part, want);
        else compareTrevni(part, want);
      }
      if (rows.hasNext()) throw new Difference("rows missing after row " + want.n);
      return want.n + " rows" + (want.sameSchema ? "" : ", schema differs");
    }
  }

  private static void compareTrevni(File part, Wanted want) throws IOException {
    checkStructure(part);
    try (AvroColumnReader<Object> got = new AvroColumnReader<>(new AvroColumnReader.Params(part))) {
      want.schemaOf(got.getFileSchema());
      for (long i = got.getRowCount(); i > 0; i--) want.row(part, got.getFileSchema(), got.next());
    }
  }

  private static void compareParquet(File part, Wanted want) throws IOException {
    String wrong = ParquetRows.wrongIndex(part);
    if (wrong != null) throw new Difference(part.getName() + ": " + wrong);
    try (ParquetReader<IndexedRecord> got = ParquetRows.open(part)) {
      for (IndexedRecord row; (row = got.read()) != null; ) {
        want.schemaOf(row.getSchema());
        want.row(part, row.getSchema(), row);
      }
    }
  }

  /** The rows of an Avro file, which other rows are compared with in order. */
  private static final class Wanted {
    private final File avro;
    private final FileReader<Object> rows;
    private long n;
    private boolean sameSchema = true;
    private Schema last;

    Wanted(File avro, FileReader<Object> rows) {
      this.avro = avro;
      this.rows = rows;
    }

    void schemaOf(Schema got) {
      if (got != last) sameSchema &= got.equals(rows.getSchema());
      last = got;
    }

    void row(File part, Schema schema, Object got) {
      if (!rows.hasNext()) throw new Difference(part + " has rows after row " + n + ", the last of " + avro);
      String w = RowJson.of(rows.getSchema(), rows.next());
      String g = RowJson.of(schema, got);
      if (!w.equals(g)) throw new Difference("row " + n + " of " + part.getName() + ": " + difference(w, g));
      n++;
    }
  }

  /** Checks that lines in Avro's JSON encoding are the rows of the Avro file. */
  private static String json(File avro, File text) throws IOException {
    long n = 0;
    try (FileReader<Object> want = openAvro(avro, null); BufferedReader lines = Files.newBufferedReader(text.toPath())) {
      Schema schema = want.getSchema();
      GenericDatumReader<Object> reader = new GenericDatumReader<>(schema);
      for (String line; (line = lines.readLine()) != null; n++) {
        if (!want.hasNext()) throw new Difference("lines after row " + n + ", the last");
        String w = RowJson.of(schema, want.next());
        String g = RowJson.of(schema, reader.read(null, DecoderFactory.get().jsonDecoder(schema, line)));
        if (!w.equals(g)) throw new Difference("row " + n + ": " + difference(w, g));
      }
      if (want.hasNext()) throw new Difference("rows missing after row " + n);
    }
    return n + " rows";
  }

  /** Checks what the reader trusts: magic, column layout, block rows and sizes, and no gap between or after columns. */
  private static void checkStructure(File part) throws IOException {
    try (ColumnFileReader f = new ColumnFileReader(part); InputStream in = new FileInputStream(part)) {
      expect("magic", "Trv\2", new String(in.readNBytes(4), StandardCharsets.ISO_8859_1));
      List<String> want = layout(SchemaParser.parseSingle(f.getMetaData().getString(AvroColumnWriter.SCHEMA_KEY)));
      List<String> got = new ArrayList<>();
      for (ColumnMetaData m : f.getColumnMetaData()) got.add(shape(m));
      expect("columns", want, got);
      long end = 0;
      for (int c = 0; c < f.getColumnCount(); c++) {
        BlockTable t = new BlockTable(f, c);
        if (c > 0) expect("start of column " + c, end, t.start());
        end = t.end();
        expect("rows of column " + c, f.getRowCount(), t.totalRows());
        for (int b = 0; b < t.count(); b++) expect("size of column " + c + " block " + b, t.actualSize(b), t.size(b));
      }
      if (f.getColumnCount() > 0) expect("file length", end, part.length());
    }
  }

  /** The columns that AvroColumnWriter makes from a schema. */
  private static List<String> layout(Schema schema) throws IOException {
    ByteArrayOutputStream empty = new ByteArrayOutputStream();
    new AvroColumnWriter<>(schema, new ColumnFileMetaData()).writeTo(empty);
    List<String> columns = new ArrayList<>();
    try (ColumnFileReader f = new ColumnFileReader(new InputBytes(empty.toByteArray()))) {
      for (ColumnMetaData m : f.getColumnMetaData()) columns.add(shape(m));
    }
    return columns;
  }

  private static String difference(String want, String got) {
    int i = 0;
    while (i < want.length() && i < got.length() && want.charAt(i) == got.charAt(i)) i++;
    return "at " + i + " want " + around(want, i) + " got " + around(got, i);
  }

  private static String around(String s, int i) {
    return s.substring(Math.max(0, i - 60), Math.min(s.length(), i + 60));
  }

  // Columns.

  private static void columns(File file) throws IOException {
    try (ColumnFileReader f = new ColumnFileReader(file)) {
      out.println("rows " + f.getRowCount());
      out.println("columns " + f.getColumnCount());
      f.getMetaData().forEach((k, v) -> out.println("meta " + k + "=" + new String(v, StandardCharsets.UTF_8)));
      // For each array column, the number of elements per row: the lengths that its children share.
      Map<ColumnMetaData, long[]> elements = new HashMap<>();
      for (ColumnMetaData m : f.getColumnMetaData()) {
        out.println(describe(m));
        long[] counts = m.isArray() ? new long[Math.toIntExact(f.getRowCount())] : null;
        if (counts != null) elements.put(m, counts);
        long[] parent = m.getParent() == null ? null : elements.get(m.getParent());
        ColumnValues<?> values = f.getValues(m.getNumber());
        StringBuilder line = new StringBuilder();
        for (int row = 0; row < f.getRowCount(); row++) {
          line.setLength(0);
          values.startRow();
          long n = parent == null ? 1 : parent[row];
          for (long i = 0; i < n; i++) {
            if (i > 0) line.append(' ');
            if (counts == null) {
              value(line, values.nextValue());
            } else {
              int length = values.nextLength();
              counts[row] += length;
              line.append('[');
              for (int j = 0; j < length; j++) {
                if (j > 0) line.append(' ');
                value(line, values.nextValue());
              }
              line.append(']');
            }
          }
          out.println("  " + row + ": " + line);
        }
      }
    }
  }

  private static String describe(ColumnMetaData m) {
    return "column " + m.getNumber() + " " + shape(m) + (m.hasIndexValues() ? " values" : "") + " codec=" + m.getCodec()
        + " checksum=" + m.getChecksum();
  }

  private static String shape(ColumnMetaData m) {
    StringBuilder s = new StringBuilder("name=");
    RowJson.quote(s, m.getName(), false);
    s.append(" type=").append(m.getType().getName());
    if (m.isArray()) s.append(" array");
    if (m.getParent() != null) RowJson.quote(s.append(" parent="), m.getParent().getName(), false);
    return s.toString();
  }

  private static void value(StringBuilder s, Object v) {
    if (v instanceof Float f) RowJson.number(s, f);
    else if (v instanceof Double d) RowJson.number(s, d);
    else if (v instanceof String t) RowJson.quote(s, t, false);
    else if (v instanceof ByteBuffer b) s.append("x").append(HexFormat.of().formatHex(b.array(), b.position(), b.limit()));
    else s.append(v);
  }

  private static void blocks(File file) throws IOException {
    try (ColumnFileReader f = new ColumnFileReader(file)) {
      for (ColumnMetaData m : f.getColumnMetaData()) {
        BlockTable t = new BlockTable(f, m.getNumber());
        out.println(describe(m) + " start=" + t.start() + " blocks=" + t.count());
        for (int b = 0; b < t.count(); b++) {
          StringBuilder s = new StringBuilder("  " + b + ": offset=" + t.offset(b) + " row=" + t.firstRow(b) + " rows="
              + t.rows(b) + " size=" + t.size(b) + " stored=" + t.stored(b));
          if (m.hasIndexValues()) value(s.append(" first="), t.firstValue(b));
          out.println(s);
        }
      }
    }
  }

  /** Array columns are left out: ColumnValues.seek ignores their lengths. */
  private static String seek(File file) throws IOException {
    int columns = 0, probes = 0;
    try (ColumnFileReader f = new ColumnFileReader(file)) {
      for (ColumnMetaData m : f.getColumnMetaData()) {
        if (m.isArray() || m.getParent() != null || f.getRowCount() == 0) continue;
        columns++;
        List<Object> scan = new ArrayList<>();
        for (Object v : f.<Comparable>getValues(m.getNumber())) scan.add(v);
        BlockTable t = new BlockTable(f, m.getNumber());
        ColumnValues<Comparable> reused = f.getValues(m.getNumber());
        for (int b = t.count() - 1; b >= 0; b--) {
          long first = t.firstRow(b), last = first + t.rows(b) - 1;
          for (long row : new long[] {last, first, (first + last) / 2}) {
            ColumnValues<Comparable> fresh = f.getValues(m.getNumber());
            for (ColumnValues<Comparable> v : List.of(fresh, reused)) {
              v.seek(row);
              expect(m.getName() + ", row " + row, scan.get((int) row), v.next());
              probes++;
            }
          }
          if (m.hasIndexValues()) {
            ColumnValues<Comparable> v = f.getValues(m.getNumber());
            v.seek((Comparable) t.firstValue(b));
            expect(m.getName() + ", first value of block " + b, t.firstValue(b), v.next());
            expect(m.getName() + ", descriptor of block " + b, scan.get((int) first), t.firstValue(b));
            probes++;
          }
        }
      }
    }
    return columns + " columns, " + probes + " probes";
  }

  private static void expect(String what, Object want, Object got) {
    if (!Objects.equals(want, got)) throw new Difference(what + ": want " + want + " got " + got);
  }

  // Lists.

  private interface Job {
    String run(List<File> files) throws Exception;
  }

  private static boolean each(BufferedReader list, Job job) throws IOException, InterruptedException {
    boolean ok = true;
    try (list) {
      for (String line; (line = list.readLine()) != null; ) {
        if (line.isEmpty()) continue;
        List<File> files = new ArrayList<>();
        for (String f : line.split("\t")) files.add(new File(f));
        String verdict;
        try {
          verdict = "PASS\t" + files.get(0) + "\t" + limited(() -> job.run(files));
        } catch (ExecutionException e) {
          ok = false;
          verdict = "FAIL\t" + files.get(0) + "\t" + reason(e.getCause());
        } catch (TimeoutException e) {
          ok = false;
          verdict = "FAIL\t" + files.get(0) + "\tno result after " + LIMIT_SECONDS + " s";
        }
        out.println(verdict);
        out.flush();
      }
    }
    return ok;
  }

  /** Runs on its own thread, because hostile input can loop forever or overflow the stack. */
  private static String limited(Callable<String> c) throws InterruptedException, ExecutionException, TimeoutException {
    FutureTask<String> task = new FutureTask<>(c);
    Thread t = new Thread(null, task, "job", 16 << 20);
    t.setDaemon(true);
    t.start();
    return task.get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }

  private static final class Difference extends RuntimeException {
    Difference(String message) {
      super(message);
    }
  }

  private static String reason(Throwable e) {
    String s = e instanceof Difference ? e.getMessage() : e.toString();
    if (e.getCause() != null && e.getCause() != e) s += " / " + e.getCause();
    s = s.replaceAll("[\\t\\r\\n]+", " ");
    return s.length() > 600 ? s.substring(0, 600) + "..." : s;
  }
}
