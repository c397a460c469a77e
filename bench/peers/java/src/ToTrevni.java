import java.io.File;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.Decoder;
import org.apache.trevni.ColumnFileMetaData;
import org.apache.trevni.avro.AvroColumnWriter;

/** Converts an Avro file to Trevni with Avro's own library: IN.avro OUT.trv. */
public final class ToTrevni {
  public static void main(String[] args) throws Exception {
    var data = new GenericData();
    data.setFastReaderEnabled(false); // it ignores readMapKey
    try (var in = new DataFileReader<>(new File(args[0]), new StringKeys(data))) {
      var meta = new ColumnFileMetaData();
      meta.setCodec("snappy").setChecksum("crc32");
      var out = new AvroColumnWriter<GenericRecord>(in.getSchema(), meta);
      GenericRecord row = null;
      while (in.hasNext()) {
        out.write(row = in.next(row));
      }
      out.writeTo(new File(args[1]));
    }
  }

  /** Reads map keys as String, to which Trevni's writer casts them. */
  private static final class StringKeys extends GenericDatumReader<GenericRecord> {
    StringKeys(GenericData data) {
      super(null, null, data);
    }

    @Override
    protected Object readMapKey(Object old, Schema expected, Decoder in) throws IOException {
      return in.readString();
    }
  }
}
