package org.apache.parquet.cli;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.helpers.MessageFormatter;

/** The commands of parquet-cli in this JVM. Its Main takes over the JVM, and its constructor is not public. */
public final class Commands {
  private Commands() {}

  /** Runs a command and returns the lines that it prints, without empty ones. */
  public static List<String> run(String... args) throws Exception {
    List<String> lines = new ArrayList<>();
    InvocationHandler print = (proxy, method, values) -> {
      if (method.getReturnType() == boolean.class) return false; // nothing is traced
      if (values == null || values.length == 0 || !(values[0] instanceof String text)) return null;
      Object[] rest = values.length == 2 && values[1] instanceof Object[] all ? all : tail(values);
      MessageFormatter.arrayFormat(text, rest).getMessage().lines().filter(line -> !line.isBlank()).forEach(lines::add);
      return null;
    };
    Main main = new Main((Logger) Proxy.newProxyInstance(Commands.class.getClassLoader(), new Class<?>[] {Logger.class}, print));
    Configuration conf = new Configuration(false);
    // Commands that read rows ask for lists in the form of this setting. The default is one that no file here has.
    conf.setBoolean("parquet.avro.write-old-list-structure", false);
    main.setConf(conf);
    int code = main.run(args);
    if (code != 0) throw new IllegalStateException("exit code " + code + ": " + String.join(" ", lines));
    return lines;
  }

  private static Object[] tail(Object[] values) {
    return Arrays.copyOfRange(values, 1, values.length);
  }
}
