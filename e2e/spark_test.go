package e2e

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// sparkInstallation returns a folder with PySpark and, in jars, the classes with which it
// reads Trevni and tables of Iceberg, installed once into the user's cache.
var sparkInstallation = sync.OnceValues(func() (string, error) {
	const requirements, pom = "spark/requirements.txt", "spark/pom.xml"
	return installed("spark", []string{requirements, pom}, func(dir string) error {
		if err := runInstaller("mvn", "-B", "-q", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+filepath.Join(dir, "jars")); err != nil {
			return err
		}
		return runInstaller("python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", dir, "-r", requirements)
	})
})

// sparkColumns are the columns of alltypes.py except big, a decimal with too many digits
// for Spark, and two whose nanoseconds are not whole microseconds.
const sparkColumns = "id,nothing,single,double,raw,four,none,color,colors,date,time_millis,time_micros,millis,micros,local_millis,local_micros," +
	"decimal,money,uuid,duration,union,pair,option,deep,empty"

// needSpark skips the test if there is no Spark. It returns the variables that Spark needs in
// the environment, and the folder of its installation.
func needSpark(t *testing.T) (environment []string, home string) {
	t.Helper()
	if missing := testenv.MissingTools("java", "mvn"); missing != "" {
		testenv.Skip(t, "there is no Spark: "+missing)
	}
	home, err := sparkInstallation()
	if err != nil {
		testenv.Skip(t, "there is no Spark: "+err.Error())
	}
	return sparkVariables(home, t.TempDir()), home
}

// sparkVariables returns the variables for a Spark with an installation and a directory for
// temporary files.
func sparkVariables(home, temp string) []string {
	environment := []string{
		"PYTHONPATH=" + home, "SPARK_HOME=" + filepath.Join(home, "pyspark"), "SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS=" + temp, "TZ=UTC",
	}
	if program, err := pythonEnvironment(); err == nil {
		environment = append(environment, "PYSPARK_PYTHON="+program)
	}
	return environment
}

// TestParquetSpark has Spark read Parquet files of convert. The values must be those of the
// inputs.
func TestParquetSpark(t *testing.T) {
	environment, _ := needSpark(t)
	dir := t.TempDir()
	forSpark := entry{file: "for-spark.avro", class: "ok", rows: 3000, path: dir + "/for-spark.avro"}
	python(t, "alltypes.py", "make", forSpark.path, "time_millis", "time_micros", "nanos", "local_nanos")
	converted := convertAll(t, append(parquetEntries(t, dir, 12), forSpark), "--format=parquet")
	wantLimits(t, converted, parquetFaults(t, converted, environment, "spark/spark.py", "files"), "Spark")
}

// TestSpark compares Parquet files of cat, and Trevni through Java's input format, in Spark with
// the originals in fastavro. Only a soak runs it.
func TestSpark(t *testing.T) {
	if !soak.Full() {
		t.Skip("NO SPARK: it is for make soak")
	}
	environment, spark := needSpark(t)
	dir := t.TempDir()
	python(t, "alltypes.py", "make", dir+"/all.avro")
	pythonWith(t, environment, "spark/spark.py", "make", dir+"/times.avro")
	writeMail(t, dir+"/mail.avro", 30_000)
	for _, name := range []string{"all", "times", "mail"} {
		run(t, "convert", "--row-group-size", "4MiB", dir+"/"+name+".avro", dir+"/"+name+".columns").want(t, 0)
		cat := []string{"cat", "--to", "parquet", "--times", "spark", "--output", dir + "/" + name + ".parquet", dir + "/" + name + ".columns"}
		if name == "all" {
			cat = append(cat, "--columns", sparkColumns)
		}
		run(t, cat...).want(t, 0)
	}
	run(t, "cat", "--to", "parquet", "--output", dir+"/times.exact.parquet", dir+"/times.columns").want(t, 0)
	pythonWith(t, environment, "spark/spark.py", "judge", dir, filepath.Join(spark, "jars"))
}
