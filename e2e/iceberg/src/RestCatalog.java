import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * A REST catalog: Iceberg's own adapter in front of its JDBC catalog, which keeps its tables in a
 * file of SQLite in the directory of the first argument. It answers each line of its standard input with
 * its port and an empty line.
 */
public final class RestCatalog {
  private RestCatalog() {}

  public static void main(String[] args) throws Exception {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize(
        "rest",
        Map.of(
            "uri", "jdbc:sqlite:" + args[0] + "/rest.db",
            "warehouse", "file://" + args[0] + "/warehouse",
            "jdbc.schema-version", "V1"));
    ServletContextHandler handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    handler.addServlet(
        new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(handler);
    server.start();
    int port = ((ServerConnector) server.getConnectors()[0]).getLocalPort();
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    while (requests.readLine() != null) {
      System.out.println(port + "\n");
    }
    server.stop();
    System.exit(0);
  }
}
