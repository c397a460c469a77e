package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/internal/wire"
)

// sequence returns the bytes of the tokens in testdata: the Java program that made the
// files chose them.
func sequence(n, start int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(start + 7*i)
	}
	return b
}

// javaTokens are the tokens in the files of testdata. Hadoop 3.5.0 wrote them, with a
// secret key.
var javaTokens = []Token{
	{"ha-hdfs:mycluster", "HDFS_DELEGATION_TOKEN", "ha-hdfs:mycluster", sequence(60, 3), sequence(20, 200)},
	{"web", "WEBHDFS delegation", "127.0.0.1:9870", sequence(300, 1), sequence(20, 100)},
	{"zürich", "SWEBHDFS delegation", "", sequence(128, 1), sequence(127, 100)},
}

func newSimpleLogin(t *testing.T) *Login {
	t.Helper()
	l, err := simpleLogin("alice", LoginOptions{})
	testenv.Must(t, err)
	return l
}

func TestDelegationTokens(t *testing.T) {
	for _, name := range []string{"writable", "protobuf"} {
		tokens, err := newSimpleLogin(t).DelegationTokens(filepath.Join("testdata", name+".token"))
		testenv.Must(t, err)
		slices.SortFunc(tokens, func(a, b Token) int { return strings.Compare(a.Alias, b.Alias) })
		if len(tokens) != len(javaTokens) {
			t.Fatalf("%s: %d tokens", name, len(tokens))
		}
		for i, got := range tokens {
			if want := javaTokens[i]; !sameToken(got, want) {
				t.Errorf("%s: token %s is %q %q", name, want.Alias, got.Alias, got)
			}
		}
	}
}

func sameToken(a, b Token) bool {
	return a.Alias == b.Alias && a.Kind == b.Kind && a.Service == b.Service &&
		bytes.Equal(a.Identifier, b.Identifier) && bytes.Equal(a.Password, b.Password)
}

// TestURLString checks that results are equal to those of Java's Token.encodeToUrlString.
func TestURLString(t *testing.T) {
	for i, want := range []string{
		"PAMKERgfJi00O0JJUFdeZWxzeoGIj5adpKuyucDHztXc4-rx-P8GDRQbIikwNz5FTFNaYWhvdn2Ei5KZoBTIz9bd5Ovy-QAHDhUcIyoxOD9GTR" +
			"VIREZTX0RFTEVHQVRJT05fVE9LRU4RaGEtaGRmczpteWNsdXN0ZXI",
		"jgEsAQgPFh0kKzI5QEdOVVxjanF4f4aNlJuiqbC3vsXM09rh6O_2_QQLEhkgJy41PENKUVhfZm10e4KJkJeepayzusHIz9bd5Ovy-QAHDhUcIy" +
			"oxOD9GTVRbYmlwd36FjJOaoaivtr3Ey9LZ4Ofu9fwDChEYHyYtNDtCSVBXXmVsc3qBiI-WnaSrsrnAx87V3OPq8fj_Bg0UGyIpMDc-RUxT" +
			"WmFob3Z9hIuSmaCnrrW8w8rR2N_m7fT7AgkQFx4lLDM6QUhPVl1ka3J5gIeOlZyjqrG4v8bN1Nvi6fD3_gUMExohKC82PURLUllgZ251fI" +
			"OKkZifpq20u8LJ0Nfe5ezz-gEIDxYdJCsyOUBHTlVcY2pxeH-GjZSboqmwt77FzNPa4ejv9v0ECxIZICcuFGRrcnmAh46VnKOqsbi_xs3U" +
			"2-LpEldFQkhERlMgZGVsZWdhdGlvbg4xMjcuMC4wLjE6OTg3MA",
		"j4ABCA8WHSQrMjlAR05VXGNqcXh_ho2Um6KpsLe-xczT2uHo7_b9BAsSGSAnLjU8Q0pRWF9mbXR7gomQl56lrLO6wcjP1t3k6_L5AAcOFRwjKj" +
			"E4P0ZNVFtiaXB3foWMk5qhqK-2vcTL0tng5-71_AMKERgfJi00O0JJUFdeZWxzen9ka3J5gIeOlZyjqrG4v8bN1Nvi6fD3_gUMExohKC82" +
			"PURLUllgZ251fIOKkZifpq20u8LJ0Nfe5ezz-gEIDxYdJCsyOUBHTlVcY2pxeH-GjZSboqmwt77FzNPa4ejv9v0ECxIZICcuNTxDSlFYX2" +
			"ZtdHuCiZCXnqWss7rByM_WE1NXRUJIREZTIGRlbGVnYXRpb24A",
	} {
		if got := javaTokens[i].URLString(); got != want {
			t.Errorf("%s: got %s", javaTokens[i].Alias, got)
		}
	}
}

func TestTokenPrintsNoSecret(t *testing.T) {
	token := Token{Kind: "kind", Service: "service", Password: []byte("secret")}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, token); text != "kind for service" {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestDamagedTokens(t *testing.T) {
	for _, name := range []string{"writable", "protobuf"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".token"))
		testenv.Must(t, err)
		for n := range len(data) {
			// The secret keys at the end of the older format are not read.
			if _, err := parseTokens(data[:n]); err == nil && (name == "protobuf" || n < len(data)-40) {
				t.Errorf("%s: the first %d of %d bytes are accepted", name, n, len(data))
			}
		}
	}
	for _, text := range []string{
		"", "HDTS", "HDTX\x00\x00", "HDTS\x02\x00",
		"HDTS\x00\xff", // -1 tokens
		"HDTS\x00\x88\x7f\xff\xff\xff\xff\xff\xff", // 2^63-1 tokens
		"HDTS\x00\x01\x8c\x7f\xff\xff\xff",         // an alias of 2 GiB
		"HDTS\x00\x01\x84\x7f\xff\xff\xff",         // of a negative length
		"HDTS\x01\xff\xff\xff\xff\x07",             // a message of 2 GiB
		"HDTS\x01\x02\x0a\x7f",
	} {
		if tokens, err := parseTokens([]byte(text)); err == nil {
			t.Errorf("%q holds %v", text, tokens)
		}
	}
	if _, err := newSimpleLogin(t).DelegationTokens("testdata/none"); err == nil || !strings.Contains(err.Error(), "testdata/none") {
		t.Errorf("no file: %v", err)
	}
}

func FuzzTokens(f *testing.F) {
	for _, name := range []string{"writable", "protobuf"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".token"))
		testenv.Must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tokens, err := parseTokens(data)
		if err != nil {
			return
		}
		if len(tokens) > len(data) {
			t.Fatalf("%d tokens in %d bytes", len(tokens), len(data))
		}
		// Tokens that are written again are read the same.
		b := wire.AppendVInt([]byte(tokenMagic+"\x00"), int64(len(tokens)))
		for _, token := range tokens {
			b = wire.AppendText(b, token.Alias)
			b = wire.AppendText(b, token.Identifier)
			b = wire.AppendText(b, token.Password)
			b = wire.AppendText(b, token.Kind)
			b = wire.AppendText(b, token.Service)
		}
		again, err := parseTokens(b)
		if err != nil || !slices.EqualFunc(again, tokens, sameToken) {
			t.Fatalf("%v became %v (%v)", tokens, again, err)
		}
	})
}
