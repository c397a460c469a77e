import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.Decoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.util.Utf8;

/** Avro's own schema resolution: reads a datum with a schema other than the writer's, and writes it again. */
final class Resolving {
  private Resolving() {}

  /** Each line holds a writer's schema, a reader's and a datum in hexadecimal; the answer is the reader's datum. */
  static boolean each(BufferedReader list, PrintStream out) throws IOException {
    boolean ok = true;
    try (list) {
      for (String line; (line = list.readLine()) != null; ) {
        String[] f = line.split("\t", -1);
        try {
          out.println("PASS\t-\t" + resolve(f[0], f[1], HexFormat.of().parseHex(f[2])));
        } catch (RuntimeException | IOException e) {
          ok = false;
          out.println("FAIL\t-\t" + e.getClass().getSimpleName() + ": " + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
      }
    }
    return ok;
  }

  private static String resolve(String writer, String reader, byte[] datum) throws IOException {
    Schema w = new Schema.Parser().parse(writer);
    Schema r = new Schema.Parser().parse(reader);
    // Java compares counts of items with the remaining bytes, but by the sizes of the reader's items, not the writer's.
    Decoder in = DecoderFactory.get().binaryDecoder(Arrays.copyOf(datum, datum.length + 100_000), null);
    Object row = new Ordered(w, r).read(null, in);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BinaryEncoder out = EncoderFactory.get().binaryEncoder(bytes, null);
    new GenericDatumWriter<>(r).write(row, out);
    out.flush();
    // The decoder is more lenient: it checks only the datum, not the names of records.
    boolean all = SchemaCompatibility.checkReaderWriterCompatibility(r, w).getType() == SchemaCompatibilityType.COMPATIBLE;
    return HexFormat.of().formatHex(bytes.toByteArray()) + (all ? "" : " of incompatible schemas");
  }

  /** Keeps the entries of maps in order, even with equal keys. */
  private static final class Ordered extends GenericDatumReader<Object> {
    private static final GenericData model = new GenericData();

    static {
      model.setFastReaderEnabled(false); // it does not call the methods below
    }

    Ordered(Schema writer, Schema reader) {
      super(writer, reader, model);
    }

    @Override
    protected Object newMap(Object old, int size) {
      return new LinkedHashMap<Object, Object>();
    }

    @Override
    protected Object readMapKey(Object old, Schema expected, Decoder in) throws IOException {
      return new Key(in.readString(null));
    }
  }

  private static final class Key extends Utf8 {
    Key(Utf8 text) {
      super(text);
    }

    @Override
    public boolean equals(Object o) {
      return this == o;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }
  }
}
