import org.apache.avro.generic.GenericRecord;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.Mapper;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.lib.NullOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.trevni.avro.AvroTrevniInputFormat;
import org.apache.avro.mapred.AvroWrapper;

/** A MapReduce job that reads Trevni files and prints the number of rows that its mappers read: TrevniCount PATH... */
public class TrevniCount extends Configured implements Tool {
  enum Seen { ROWS }

  /** Counts rows. */
  public static class Count extends MapReduceBase
      implements Mapper<AvroWrapper<GenericRecord>, NullWritable, NullWritable, NullWritable> {
    @Override
    public void map(AvroWrapper<GenericRecord> row, NullWritable none,
        OutputCollector<NullWritable, NullWritable> out, Reporter reporter) {
      reporter.incrCounter(Seen.ROWS, 1);
    }
  }

  @Override
  public int run(String[] paths) throws Exception {
    JobConf job = new JobConf(getConf(), TrevniCount.class);
    job.setInputFormat(AvroTrevniInputFormat.class);
    job.setOutputFormat(NullOutputFormat.class);
    job.setMapperClass(Count.class);
    job.setNumReduceTasks(0);
    for (String path : paths) FileInputFormat.addInputPath(job, new Path(path));
    System.out.println(JobClient.runJob(job).getCounters().getCounter(Seen.ROWS));
    return 0;
  }

  public static void main(String[] args) throws Exception {
    System.exit(ToolRunner.run(new TrevniCount(), args));
  }
}
