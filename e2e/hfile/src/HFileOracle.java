import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionInfoBuilder;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.ChunkCreator;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.MemStoreLAB;
import org.apache.hadoop.hbase.regionserver.RegionScanner;
import org.apache.hadoop.hbase.util.BloomFilter;
import org.apache.hadoop.hbase.util.BloomFilterFactory;
import org.apache.hadoop.hbase.util.BloomFilterWriter;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hadoop.hbase.wal.WAL;
import org.apache.hadoop.hbase.wal.WALFactory;
import org.apache.hadoop.util.bloom.DynamicBloomFilter;
import org.apache.hadoop.util.bloom.Filter;
import org.apache.hadoop.util.bloom.Key;
import org.apache.hudi.io.ByteArraySeekableDataInputStream;
import org.apache.hudi.io.ByteBufferBackedInputStream;
import org.apache.hudi.io.hfile.HFileReader;
import org.apache.hudi.io.hfile.HFileReaderImpl;
import org.apache.hudi.io.hfile.UTF8StringKey;
import org.apache.hudi.io.storage.HFileReaderFactory;
import org.apache.hudi.io.storage.HoodieNativeAvroHFileReader;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;
import org.apache.hudi.storage.hadoop.HoodieHadoopStorage;

/**
 * HBase's and Hudi's HFile code, which answers requests until its input ends. A request is a
 * line of fields separated by tabs, an answer is lines and an empty one. Keys are in hex.
 *
 * <pre>
 *   scan READER FILE              number of cells, their SHA-256, number of blocks with a wrong checksum
 *   seek READER FILE ROW...       per row: whether it is present, and the row of the first cell from it on
 *   bloom FILE ROW...             per row: whether HBase's Bloom filter may have it
 *   meta FILE NAME                Hudi's reader's meta block
 *   hudi-bloom FILE ROW...        the range of the rows, and per row: whether Hudi's Bloom filter may have it
 *   hudi-table FILE KEY...        read as a file of a Hudi table: rows, the range of keys, and per key: whether the
 *                                 filter has it and its rows as JSON
 *   bulk-load FAMILY FILE ROW...  a region of HBase after it loaded the file: cells and SHA-256 as for scan, and
 *                                 per row: its value in hex
 *   write FILE CODEC BLOCK N      HBase writes a file of N cells: see row and value
 *   time READER|write CODEC FILE N TIMES   CPU seconds of the thread for each time
 * </pre>
 */
public final class HFileOracle {
  private static final byte[] NONE = {};
  private static final Configuration conf = HBaseConfiguration.create();
  private static final HexFormat hex = HexFormat.of();
  private static FileSystem fs;

  public static void main(String[] args) throws Exception {
    conf.set("fs.defaultFS", "file:///");
    // Without .crc files next to outputs: HBase's own checksums replace them.
    conf.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    fs = new HFileSystem(conf, true);
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      try {
        answer(line.split("\t", -1), out);
      } catch (Throwable e) {
        out.println("ERROR\t" + (e + (e.getCause() == null ? "" : " / " + e.getCause())).replace('\n', ' '));
      }
      out.println();
      out.flush();
    }
    System.exit(0); // threads of HBase would keep running
  }

  private static void answer(String[] a, PrintStream out) throws Exception {
    switch (a[0] + " " + (a.length > 1 ? a[1] : "")) {
      case "scan hbase" -> scanHBase(a[2], out);
      case "scan hudi" -> scanHudi(a[2], out);
      case "seek hbase" -> seekHBase(a[2], List.of(a).subList(3, a.length), out);
      case "seek hudi" -> seekHudi(a[2], List.of(a).subList(3, a.length), out);
      case "time hbase" -> timeScan(a[3], Integer.parseInt(a[5]), out);
      case "time write" -> timeWrite(a[2], a[3], Integer.parseInt(a[4]), Integer.parseInt(a[5]), out);
      default -> {
        switch (a[0]) {
          case "bloom" -> bloom(a[1], List.of(a).subList(2, a.length), out);
          case "hudi-bloom" -> hudiBloom(a[1], List.of(a).subList(2, a.length), out);
          case "hudi-table" -> hudiTable(a[1], List.of(a).subList(2, a.length), out);
          case "bulk-load" -> bulkLoad(a[1], a[2], List.of(a).subList(3, a.length), out);
          case "meta" -> meta(a[1], a[2], out);
          case "write" -> write(a[1], a[2], Integer.parseInt(a[3]), Integer.parseInt(a[4]));
          default -> throw new IllegalArgumentException("unknown request " + a[0]);
        }
      }
    }
  }

  private static HFile.Reader open(String file) throws Exception {
    HFile.getAndResetChecksumFailuresCount();
    return HFile.createReader(fs, new Path(new File(file).toURI()), CacheConfig.DISABLED, true, conf);
  }

  private static HFileScanner scanner(HFile.Reader reader) {
    return reader.getScanner(conf, false, false);
  }

  /** Digest of byte strings, each after its length. */
  private static final class Digest {
    final MessageDigest sha;
    long n;

    Digest() throws Exception {
      sha = MessageDigest.getInstance("SHA-256");
    }

    void put(byte[] b, int offset, int length) {
      sha.update(ByteBuffer.allocate(4).putInt(length).array());
      sha.update(b, offset, length);
    }

    void put(Cell c) {
      n++;
      put(c.getRowArray(), c.getRowOffset(), c.getRowLength());
      put(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength());
      put(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength());
      sha.update(ByteBuffer.allocate(9).putLong(c.getTimestamp()).put(c.getTypeByte()).array());
      put(c.getValueArray(), c.getValueOffset(), c.getValueLength());
    }

    @Override
    public String toString() {
      return n + "\t" + hex.formatHex(sha.digest());
    }
  }

  private static void scanHBase(String file, PrintStream out) throws Exception {
    Digest d = new Digest();
    try (HFile.Reader reader = open(file)) {
      HFileScanner s = scanner(reader);
      for (boolean more = s.seekTo(); more; more = s.next()) {
        d.put(s.getCell());
      }
      if (reader.getEntries() != d.n) throw new IllegalStateException(reader.getEntries() + " cells by the trailer, " + d.n);
    }
    out.println(d + "\t" + HFile.getAndResetChecksumFailuresCount());
  }

  /** A seek stops at the last cell that is not after the key. */
  private static void seekHBase(String file, List<String> rows, PrintStream out) throws Exception {
    try (HFile.Reader reader = open(file)) {
      for (String row : rows) {
        HFileScanner s = scanner(reader);
        int where = s.seekTo(new KeyValue(hex.parseHex(row), NONE, NONE, HConstants.LATEST_TIMESTAMP, KeyValue.Type.Put, NONE));
        boolean more = where == 0 || (where < 0 ? s.seekTo() : s.next());
        Cell c = more ? s.getCell() : null;
        out.println((where == 0) + "\t" + (more ? hex.formatHex(c.getRowArray(), c.getRowOffset(), c.getRowOffset() + c.getRowLength()) : "-"));
      }
    }
  }

  private static HFileReader openHudi(String file) throws Exception {
    byte[] bytes = Files.readAllBytes(new File(file).toPath());
    HFileReader r = new HFileReaderImpl(
        new ByteArraySeekableDataInputStream(new ByteBufferBackedInputStream(bytes)), bytes.length);
    r.initializeMetadata();
    return r;
  }

  /** Hudi has only rows and values. */
  private static void scanHudi(String file, PrintStream out) throws Exception {
    Digest d = new Digest();
    try (HFileReader r = openHudi(file)) {
      for (boolean more = r.seekTo(); more; more = r.next()) {
        var kv = r.getKeyValue().get();
        d.n++;
        d.put(kv.getBytes(), kv.getKeyContentOffset(), kv.getKeyContentLength());
        d.put(kv.getBytes(), kv.getValueOffset(), kv.getValueLength());
      }
      if (r.getNumKeyValueEntries() != d.n) throw new IllegalStateException(r.getNumKeyValueEntries() + " rows by the trailer, " + d.n);
    }
    out.println(d + "\t0");
  }

  /** Seeks rows in ascending order, because Hudi's reader only moves forward. */
  private static void seekHudi(String file, List<String> rows, PrintStream out) throws Exception {
    try (HFileReader r = openHudi(file)) {
      boolean any = r.seekTo(); // without it, every key is after the end
      for (String row : rows) {
        int where = any ? r.seekTo(new UTF8StringKey(hex.parseHex(row))) : HFileReader.SEEK_TO_EOF;
        boolean found = where == HFileReader.SEEK_TO_FOUND;
        var kv = found ? r.getKeyValue().get() : null;
        out.println(found + "\t" + (found ? hex.formatHex(kv.getBytes(), kv.getKeyContentOffset(), kv.getKeyContentOffset() + kv.getKeyContentLength()) : "-"));
      }
    }
  }

  private static void bloom(String file, List<String> rows, PrintStream out) throws Exception {
    try (HFile.Reader reader = open(file)) {
      BloomFilter filter = BloomFilterFactory.createFromMeta(reader.getGeneralBloomFilterMetadata(), reader);
      for (String row : rows) {
        byte[] b = hex.parseHex(row);
        out.println(filter.contains(b, 0, b.length, null));
      }
    }
  }

  /** Hudi's filter uses Hadoop's, and has its bytes. */
  private static void hudiBloom(String file, List<String> rows, PrintStream out) throws Exception {
    try (HFileReader r = openHudi(file)) {
      String[] info = new String[3];
      String[] keys = {"bloomFilterTypeCode", "minRecordKey", "maxRecordKey"};
      for (int i = 0; i < info.length; i++) {
        info[i] = new String(r.getMetaInfo(new UTF8StringKey(keys[i])).get(), StandardCharsets.UTF_8);
      }
      Filter filter = info[0].equals("SIMPLE") ? new org.apache.hadoop.util.bloom.BloomFilter() : new DynamicBloomFilter();
      ByteBuffer block = r.getMetaBlock("bloomFilter").get();
      byte[] b = new byte[block.remaining()];
      block.duplicate().get(b);
      filter.readFields(new DataInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(b))));
      out.println(String.join("\t", info));
      for (String row : rows) {
        out.println(filter.membershipTest(new Key(hex.parseHex(row))));
      }
    }
  }

  /** Hudi's reader of tables, which reads the schema, the range and the filter from the file. */
  private static void hudiTable(String file, List<String> keys, PrintStream out) throws Exception {
    StoragePath path = new StoragePath(new File(file).toURI());
    HFileReaderFactory factory = HFileReaderFactory.builder().withStorage(new HoodieHadoopStorage(path, new HadoopStorageConfiguration(conf))).withPath(path).build();
    try (var r = HoodieNativeAvroHFileReader.builder().readerFactory(factory).path(path).useBloomFilter(true).build()) {
      String[] range = r.readMinMaxRecordKeys();
      long n = 0;
      try (var rows = r.getIndexedRecordIterator(r.getSchema(), r.getSchema(), Map.of())) {
        for (; rows.hasNext(); rows.next()) n++;
      }
      if (n != r.getTotalRecords()) throw new IllegalStateException(n + " of " + r.getTotalRecords() + " rows");
      out.println(n + "\t" + range[0] + "\t" + range[1]);
      var filter = r.readBloomFilter();
      for (String key : keys) {
        StringBuilder found = new StringBuilder();
        try (var rows = r.getIndexedRecordsByKeysIterator(List.of(key), r.getSchema())) {
          while (rows.hasNext()) found.append(rows.next());
        }
        out.println(filter.mightContain(key) + "\t" + found);
      }
    }
  }

  /** The code that a region server runs for a bulk load, with its checks. */
  private static void bulkLoad(String family, String file, List<String> rows, PrintStream out) throws Exception {
    byte[] name = family.getBytes(StandardCharsets.UTF_8);
    java.nio.file.Path dir = Files.createTempDirectory("region");
    Configuration c = new Configuration(conf);
    c.setBoolean("hbase.hstore.bulkload.verify", true);
    ChunkCreator.initialize(MemStoreLAB.CHUNK_SIZE_DEFAULT, false, 0, 0, 0, null, MemStoreLAB.INDEX_CHUNK_SIZE_PERCENTAGE_DEFAULT);
    TableDescriptor table = TableDescriptorBuilder.newBuilder(TableName.valueOf("loaded")).setColumnFamily(ColumnFamilyDescriptorBuilder.of(name)).build();
    RegionInfo info = RegionInfoBuilder.newBuilder(table.getTableName()).build();
    Path root = new Path(dir.toUri());
    CommonFSUtils.setRootDir(c, root);
    CommonFSUtils.setWALRootDir(c, root);
    WAL wal = new WALFactory(c, "judge").getWAL(info);
    HRegion region = HRegion.createHRegion(info, root, c, table, wal);
    try {
      // A load moves the file.
      java.nio.file.Path copy = Files.copy(new File(file).toPath(), dir.resolve("loaded.hfile"));
      if (region.bulkLoadHFiles(List.of(Pair.newPair(name, copy.toString())), true, null) == null) throw new IllegalStateException("it is not loaded");
      Digest d = new Digest();
      try (RegionScanner s = region.getScanner(new Scan())) {
        List<Cell> cells = new ArrayList<>();
        for (boolean more = true; more; cells.clear()) {
          more = s.next(cells);
          for (Cell cell : cells) d.put(cell);
        }
      }
      out.println(d);
      for (String row : rows) {
        byte[] value = region.get(new Get(hex.parseHex(row))).value();
        out.println(value == null ? "-" : hex.formatHex(value));
      }
    } finally {
      region.close();
      wal.close();
      FileUtil.fullyDelete(dir.toFile());
    }
  }

  private static void meta(String file, String name, PrintStream out) throws Exception {
    try (HFileReader r = openHudi(file)) {
      ByteBuffer block = r.getMetaBlock(name).get();
      byte[] b = new byte[block.remaining()];
      block.duplicate().get(b);
      out.println(hex.formatHex(b));
    }
  }

  /** The row of a number: 16 bytes that begin with the number. */
  private static void row(byte[] b, long i) {
    ByteBuffer.wrap(b).putLong(i).putLong(0x3839616263646566L);
  }

  /** The value of a number: 40 bytes, 8 of them pseudo-random. */
  private static void value(byte[] b, long i) {
    ByteBuffer.wrap(b).putLong(i * 0x9E3779B97F4A7C15L);
  }

  private static void write(String file, String codec, int blockSize, int n) throws Exception {
    var context = new HFileContextBuilder().withBlockSize(blockSize)
        .withCompression(Compression.getCompressionAlgorithmByName(codec.toLowerCase())).build();
    byte[] row = new byte[16];
    byte[] value = new byte[40];
    CacheConfig cache = new CacheConfig(conf);
    try (HFile.Writer w = HFile.getWriterFactory(conf, CacheConfig.DISABLED)
        .withPath(fs, new Path(new File(file).getAbsoluteFile().toURI())).withFileContext(context).create()) {
      BloomFilterWriter bloom = BloomFilterFactory.createGeneralBloomAtWrite(conf, cache, BloomType.ROW, n, w);
      for (long i = 0; i < n; i++) {
        row(row, i);
        value(value, i);
        KeyValue cell = new KeyValue(row, NONE, NONE, HConstants.LATEST_TIMESTAMP, KeyValue.Type.Put, value);
        bloom.append(cell);
        w.append(cell);
      }
      if (n > 0) {
        bloom.compactBloom();
        w.addGeneralBloomFilter(bloom);
      }
    }
  }

  private static double cpu() {
    return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class).getProcessCpuTime() / 1e9;
  }

  private static void timeScan(String file, int times, PrintStream out) throws Exception {
    for (int i = 0; i < times; i++) {
      double before = cpu();
      long n = 0;
      long bytes = 0;
      try (HFile.Reader reader = open(file)) {
        HFileScanner s = scanner(reader);
        for (boolean more = s.seekTo(); more; more = s.next()) {
          Cell c = s.getCell();
          n++;
          bytes += c.getRowLength() + c.getValueLength();
        }
      }
      out.println((cpu() - before) + "\t" + n + "\t" + bytes);
    }
  }

  private static void timeWrite(String codec, String file, int n, int times, PrintStream out) throws Exception {
    for (int i = 0; i < times; i++) {
      double before = cpu();
      write(file, codec, 65536, n);
      out.println((cpu() - before) + "\t" + n + "\t" + new File(file).length());
    }
  }
}
