package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// hfileCell is a cell to write.
type hfileCell struct {
	key   hfile.Key
	value []byte
}

// hudiCell returns a cell of Hudi's kind, which has only a row.
func hudiCell(row, value string) hfileCell {
	return hfileCell{hfile.AppendKey(nil, []byte(row), nil, nil, hfile.LatestTimestamp, hfile.Put), []byte(value)}
}

// numberedCells returns n cells. After each row, a row is absent.
func numberedCells(n int) []hfileCell {
	cells := make([]hfileCell, n)
	for i := range cells {
		cells[i] = hudiCell(fmt.Sprintf("key-%08d", 2*i), strings.Repeat("v", i%50)+strconv.Itoa(i))
	}
	return cells
}

// cellDigest digests cells like the judge.
type cellDigest struct {
	sum hash.Hash
	n   int64
}

func (d *cellDigest) put(b []byte) {
	d.sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
	d.sum.Write(b)
}

func (d *cellDigest) fields() string { return fmt.Sprintf("%d %x", d.n, d.sum.Sum(nil)) }

// digests returns the digests of cells that HBase prints, of the whole cells, and Hudi, of
// rows and values.
func digests(next func() (key hfile.Key, value []byte, ok bool)) (hbase, hudi string) {
	whole, rows := &cellDigest{sum: sha256.New()}, &cellDigest{sum: sha256.New()}
	for {
		key, value, ok := next()
		if !ok {
			return whole.fields(), rows.fields()
		}
		whole.n++
		rows.n++
		for _, b := range [][]byte{key.Row(), key.Family(), key.Qualifier()} {
			whole.put(b)
		}
		whole.sum.Write(append(binary.BigEndian.AppendUint64(nil, uint64(key.Timestamp())), byte(key.Type())))
		whole.put(value)
		rows.put(key.Row())
		rows.put(value)
	}
}

func openHFile(t *testing.T, name string) *hfile.Reader {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	must(t, err)
	r, err := hfile.Open(f, info.Size(), hfile.OpenOptions{Name: name})
	must(t, err)
	t.Cleanup(r.Close)
	must(t, r.Verify(t.Context()))
	return r
}

// scanDigests returns the digests of the cells that our reader finds in a file.
func scanDigests(t *testing.T, name string) (hbase, hudi string) {
	t.Helper()
	s := openHFile(t, name).Scan()
	defer s.Close()
	hbase, hudi = digests(func() (hfile.Key, []byte, bool) {
		ok := s.Next()
		return s.Key(), s.Value(), ok
	})
	must(t, s.Err())
	return hbase, hudi
}

func checkScan(t *testing.T, j *hfileJudge, reader, file, want string) {
	t.Helper()
	got := j.ask(t, "scan", reader, file)
	if len(got) != 1 || strings.Join(got[0], " ") != want+" 0" {
		t.Errorf("%s finds %v in %s, want %s", reader, got, filepath.Base(file), want)
	}
}

// TestHFileWritten has HBase and Hudi scan files that we wrote, and seek in them.
func TestHFileWritten(t *testing.T) {
	j := needHFileJudge(t)
	thousands := 5
	if soak.Full() {
		thousands = 1000
	}
	withColumns, duplicates := columnCells(), numberedCells(100)
	for range 300 {
		duplicates = append(duplicates, hudiCell("same", "row"))
	}
	for name, c := range map[string]struct {
		o     hfile.WriterOptions
		cells []hfileCell
		hbase bool // not for Hudi, which has neither columns nor several cells per row
	}{
		"empty":            {cells: nil},
		"empty, filter":    {o: hfile.WriterOptions{RowBloom: true, Codec: hfile.GZ}},
		"one":              {cells: numberedCells(1), o: hfile.WriterOptions{RowBloom: true}},
		"empty values":     {cells: []hfileCell{hudiCell("a", ""), hudiCell("b", "")}},
		"thousands":        {cells: numberedCells(1000 * thousands), o: hfile.WriterOptions{RowBloom: true}},
		"gzip":             {cells: numberedCells(1000 * thousands), o: hfile.WriterOptions{Codec: hfile.GZ}},
		"two levels":       {cells: numberedCells(5000), o: hfile.WriterOptions{BlockSize: 1024, IndexBlockSize: 4096}},
		"three levels":     {cells: numberedCells(5000), o: hfile.WriterOptions{BlockSize: 512, IndexBlockSize: 1024, RowBloom: true}},
		"more levels":      {cells: numberedCells(5000), o: hfile.WriterOptions{BlockSize: 256, IndexBlockSize: 512, RowBloom: true, Codec: hfile.GZ}},
		"duplicates":       {cells: duplicates, o: hfile.WriterOptions{BlockSize: 1024}},
		"columns":          {cells: withColumns, o: hfile.WriterOptions{BlockSize: 1024, RowBloom: true}, hbase: true},
		"a value too long": {cells: []hfileCell{hudiCell("a", strings.Repeat("x", 1<<20)), hudiCell("b", "y")}},
	} {
		file := filepath.Join(t.TempDir(), "x.hfile")
		writeHFile(t, file, c.o, c.cells)
		i := 0
		hbase, hudi := digests(func() (hfile.Key, []byte, bool) {
			if i == len(c.cells) {
				return nil, nil, false
			}
			i++
			return c.cells[i-1].key, c.cells[i-1].value, true
		})
		if gotBase, gotHudi := scanDigests(t, file); gotBase != hbase || gotHudi != hudi {
			t.Errorf("%s: our reader finds other cells than were written", name)
		}
		checkScan(t, j, "hbase", file, hbase)
		checkSeeks(t, j, "hbase", name, file, c.cells)
		if !c.hbase {
			checkScan(t, j, "hudi", file, hudi)
			checkSeeks(t, j, "hudi", name, file, c.cells)
		}
		if c.o.RowBloom && len(c.cells) > 0 {
			checkBloom(t, j, name, file, c.cells)
		}
	}
}

// columnCells returns cells with families, qualifiers and timestamps.
func columnCells() (cells []hfileCell) {
	for row := range 200 {
		for q := range 3 {
			for ts := range 2 {
				key := hfile.AppendKey(nil, fmt.Appendf(nil, "row%05d", row*2), []byte("family"), fmt.Appendf(nil, "q%d", q), int64(9-ts), hfile.Put)
				cells = append(cells, hfileCell{key, fmt.Appendf(nil, "%d of %d", q, ts)})
			}
		}
	}
	return cells
}

func writeHFile(t *testing.T, file string, o hfile.WriterOptions, cells []hfileCell) {
	t.Helper()
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, o)
	must(t, err)
	for _, c := range cells {
		must(t, w.Append(c.key, c.value))
	}
	must(t, w.Close())
	must(t, os.WriteFile(file, b.Bytes(), 0o666))
}

// seekRows returns rows to seek, in order: some of the cells' rows, and rows between them,
// before the first and after the last.
func seekRows(cells []hfileCell) (rows [][]byte) {
	rows = append(rows, []byte("!"))
	for i := 0; i < len(cells); i += max(len(cells)/100, 1) {
		row := cells[i].key.Row()
		rows = append(rows, row, append(bytes.Clone(row), '0'))
	}
	rows = append(rows, []byte("~"))
	slices.SortFunc(rows, bytes.Compare)
	return slices.CompactFunc(rows, bytes.Equal)
}

// checkSeeks compares where seeks to rows end. For an absent row, Hudi only says so.
func checkSeeks(t *testing.T, j *hfileJudge, reader, name, file string, cells []hfileCell) {
	t.Helper()
	rows := seekRows(cells)
	request := []string{"seek", reader, file}
	for _, row := range rows {
		request = append(request, hex.EncodeToString(row))
	}
	got := j.ask(t, request...)
	if len(got) != len(rows) {
		t.Fatalf("%s: %s answers %v", name, reader, got)
	}
	s := openHFile(t, file).Scan()
	defer s.Close()
	for i, row := range rows {
		want := []string{"false", "-"}
		if s.SeekRow(row) {
			found := bytes.Equal(s.Key().Row(), row)
			if found || reader == "hbase" {
				want = []string{strconv.FormatBool(found && len(s.Key().Family()) == 0), hex.EncodeToString(s.Key().Row())}
			}
		}
		must(t, s.Err())
		if !slices.Equal(got[i], want) {
			t.Errorf("%s: %s finds %v for %q, we find %v", name, reader, got[i], row, want)
		}
	}
}

// checkBloom asks HBase's filter about present and absent rows.
func checkBloom(t *testing.T, j *hfileJudge, name, file string, cells []hfileCell) {
	t.Helper()
	s := openHFile(t, file).Scan()
	defer s.Close()
	rows := seekRows(cells)
	request := []string{"bloom", file}
	for _, row := range rows {
		request = append(request, hex.EncodeToString(row))
	}
	for i, got := range j.ask(t, request...) {
		want, err := s.MayContainRow(rows[i])
		must(t, err)
		if got[0] != strconv.FormatBool(want) {
			t.Errorf("%s: of %q HBase's filter says %v, ours %v", name, rows[i], got, want)
		}
	}
}

// TestHFileHudiBloom has the code of Hudi's filter look up rows in ours.
func TestHFileHudiBloom(t *testing.T) {
	j := needHFileJudge(t)
	for _, n := range []int{1, 1000, 70_000} {
		cells := numberedCells(n)
		file := filepath.Join(t.TempDir(), "x.hfile")
		writeHFile(t, file, hfile.WriterOptions{HudiBloom: true, HudiRange: true, Codec: hfile.GZ}, cells)
		filter, err := openHFile(t, file).HudiBloom()
		must(t, err)
		rows := seekRows(cells)
		request := []string{"hudi-bloom", file}
		for _, row := range rows {
			request = append(request, hex.EncodeToString(row))
		}
		answers := j.ask(t, request...)
		first, last := string(cells[0].key.Row()), string(cells[n-1].key.Row())
		if len(answers) != 1+len(rows) || !slices.Equal(answers[0], []string{"DYNAMIC_V0", first, last}) {
			t.Fatalf("of %d rows Hudi finds %v", n, answers)
		}
		there := func(row []byte) bool {
			_, found := slices.BinarySearchFunc(cells, row, func(c hfileCell, row []byte) int { return bytes.Compare(c.key.Row(), row) })
			return found
		}
		for i, row := range rows { // one of a billion absent rows is a false positive
			if want := strconv.FormatBool(there(row)); answers[1+i][0] != want || strconv.FormatBool(filter.MayContain(row)) != want {
				t.Errorf("of %d rows Hudi's filter says %s of %q, ours %v", n, answers[1+i], row, filter.MayContain(row))
			}
		}
	}
}

// TestHFileChecksumsByHBase changes a byte: HBase must notice it.
func TestHFileChecksumsByHBase(t *testing.T) {
	j := needHFileJudge(t)
	file := filepath.Join(t.TempDir(), "x.hfile")
	writeHFile(t, file, hfile.WriterOptions{}, numberedCells(5000))
	b, err := os.ReadFile(file)
	must(t, err)
	b[1000] ^= 1
	must(t, os.WriteFile(file, b, 0o666))
	if got := j.ask(t, "scan", "hbase", file); len(got) != 1 || len(got[0]) != 3 || got[0][2] == "0" {
		t.Errorf("HBase answers %v", got)
	}
}

// TestHFileByHBase reads what HBase writes with each codec, and asks HBase's filters.
func TestHFileByHBase(t *testing.T) {
	j := needHFileJudge(t)
	for _, codec := range []string{"NONE", "GZ", "SNAPPY", "LZ4", "ZSTD"} {
		for _, n := range []int{0, 1, 20_000} {
			file := filepath.Join(t.TempDir(), codec+".hfile")
			if got := j.ask(t, "write", file, codec, "4096", strconv.Itoa(n)); len(got) > 0 {
				t.Fatalf("%s: %v", codec, got)
			}
			hbase, _ := scanDigests(t, file)
			checkScan(t, j, "hbase", file, hbase)
			s := openHFile(t, file).Scan()
			found := 0
			for i := range 2000 {
				row := binary.BigEndian.AppendUint64(nil, uint64(10*i))
				has, err := s.MayContainRow(append(row, "89abcdef"...))
				must(t, err)
				if here := 10*i < n; here && !has {
					t.Fatalf("%s: HBase's filter lacks row %d", codec, 10*i)
				} else if has && !here && n > 0 {
					found++
				}
			}
			s.Close()
			if n > 1000 && found > 100 { // 1 % is expected; a filter of one row is small
				t.Errorf("%s: HBase's filter has %d absent rows", codec, found)
			}
		}
	}
}

// TestHFileSamples reads real files of HBase and Hudi, and compares with them.
func TestHFileSamples(t *testing.T) {
	j := needHFileJudge(t)
	files, err := filepath.Glob("../hfile/testdata/*.hfile")
	must(t, err)
	if corpus := os.Getenv("ROWTOCOL_CORPUS"); corpus != "" {
		more, err := filepath.Glob(filepath.Join(corpus, "../hfile/*.hfile"))
		must(t, err)
		files = append(files, more...)
	}
	if len(files) < 6 {
		t.Fatalf("there are %d samples", len(files))
	}
	for _, file := range files {
		hbase, hudi := scanDigests(t, file)
		checkScan(t, j, "hbase", file, hbase)
		checkScan(t, j, "hudi", file, hudi)
		var cells []hfileCell
		s := openHFile(t, file).Scan()
		for s.Next() {
			cells = append(cells, hfileCell{bytes.Clone(s.Key()), nil})
		}
		s.Close()
		checkSeeks(t, j, "hudi", filepath.Base(file), file, cells)
		found := openHFile(t, file).Scan()
		for _, c := range cells {
			if !found.Seek(c.key) || !bytes.Equal(found.Key(), c.key) {
				t.Fatalf("%s: %s is not found", file, c.key)
			}
		}
		found.Close()
	}
}

// TestHFileConverted has HBase and Hudi read outputs of convert: rows sorted by a key, and
// key indexes. The HFiles' rows are numbers and texts, and their cells have qualifiers.
func TestHFileConverted(t *testing.T) {
	j := needHFileJudge(t)
	sorted, indexed := filepath.Join(t.TempDir(), "sorted"), filepath.Join(t.TempDir(), "indexed")
	run(t, "convert", "--format", "hfile", "--key", "from,id", "--block-codec", "gz", "--bloom", "hbase", "../testdata/mail", sorted).want(t, 0)
	run(t, "convert", "--index", "id", "--index", "from,date", "../testdata/mail", indexed).want(t, 0)
	files := []string{}
	for _, pattern := range []string{sorted + "/part-*.hfile", indexed + "/_index/*/*/*.hfile"} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		if len(found) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
		files = append(files, found...)
	}
	for i, file := range files {
		hbase, hudi := scanDigests(t, file)
		checkScan(t, j, "hbase", file, hbase)
		if i == 0 {
			checkScan(t, j, "hudi", file, hudi)
		}
	}
}

// TestHFileLoaded has Hudi read an output of convert as a file of a table, with its filter,
// and has HBase load one into a region.
func TestHFileLoaded(t *testing.T) {
	j := needHFileJudge(t)
	hudi, hbase := filepath.Join(t.TempDir(), "hudi"), filepath.Join(t.TempDir(), "hbase")
	run(t, "convert", "--format", "hfile", "--key", "from", "--block-codec", "gz", "--bloom", "hudi", "../testdata/mail", hudi).want(t, 0)
	run(t, "convert", "--format", "hfile", "--key", "from,id,date", "--column", "f:row", "--timestamp", "7", "--bloom", "hbase", "../testdata/mail", hbase).want(t, 0)

	byKey := map[string][]mailRow{}
	var keys []string
	for _, row := range mailRows(t, run(t, "cat", hudi).want(t, 0).stdout) {
		if byKey[row.From] == nil {
			keys = append(keys, row.From)
		}
		byKey[row.From] = append(byKey[row.From], row)
	}
	answers := j.ask(t, append([]string{"hudi-table", onlyFile(t, hudi+"/part-*.hfile"), "absent"}, keys...)...)
	if want := []string{"600", keys[0], keys[len(keys)-1]}; len(answers) != 2+len(keys) || !slices.Equal(answers[0], want) || !slices.Equal(answers[1], []string{"false", ""}) {
		t.Fatalf("Hudi's table has %v", answers[:2])
	}
	for i, key := range keys { // Hudi finds the first of equal keys: in a table they are unique
		got := answers[2+i]
		if got[0] != "true" || !slices.Equal(mailRows(t, got[1]), byKey[key][:1]) {
			t.Errorf("Hudi finds %v of %s", got, key)
		}
	}

	file := onlyFile(t, hbase+"/part-*.hfile")
	request := []string{"bulk-load", "f", file, "00"}
	var want []string
	s := openHFile(t, file).Scan()
	defer s.Close()
	for s.Next() {
		request = append(request, hex.EncodeToString(s.Key().Row()))
		want = append(want, hex.EncodeToString(s.Value()))
	}
	must(t, s.Err())
	answers = j.ask(t, request...)
	cells, _ := scanDigests(t, file)
	if len(answers) != 2+len(want) || strings.Join(answers[0], " ") != cells || answers[1][0] != "-" {
		t.Fatalf("HBase answers %v after a bulk load of %s", answers[0], cells)
	}
	for i, value := range want {
		if answers[2+i][0] != value {
			t.Errorf("HBase has another value in row %s", request[4+i])
		}
	}
}

// TestHDFSHFile converts rows to HFiles on HDFS, of one block each.
func TestHDFSHFile(t *testing.T) {
	c := newSite(t, hadooptest.Shared(t), 20_000, append(hFiles.flags, "--bloom=hudi", "--row-group-size=2MiB", "--workers=2")...)
	for client, uri := range c.clients() {
		dest := uri + "/hfiles-" + client
		run(t, c.args(dest)...).want(t, 0)
		c.wantComplete(t, dest)
		run(t, "verify", "--against", c.input, dest).want(t, 0)
	}
}

// mailRow identifies a row of mail.
type mailRow struct {
	ID            int64
	From, Subject string
}

// mailRows returns the rows of JSON objects.
func mailRows(t *testing.T, objects string) (rows []mailRow) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(objects)); d.More(); {
		var row mailRow
		must(t, d.Decode(&row))
		rows = append(rows, row)
	}
	return rows
}

// onlyFile returns the only file that matches a pattern.
func onlyFile(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("there are %d %s", len(files), pattern)
	}
	return files[0]
}
