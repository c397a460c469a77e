package ocf

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// foreignBlocks are foreignText compressed by other programs: the xz and zstd tools,
// and Python's lzma, bz2 and zlib modules.
var foreignBlocks = []struct{ codec, name, base64 string }{
	{"xz", "xz, CRC-64", "" +
		"/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4ARVAHNdADkby1Agn62QO+yBEAL0/i3aemWNm/23SzZAvDkNYU4XA+Pr369NGbdlWlqnGfepd/8sKy0JVNVt6ck+" +
		"MqukbIoGmsTjPQg0zuv+tSsWnD9HmuXBQ4p1Y9JtY/cKXchxsnW34C9ckPDm50GZyQIQ3k9zrQAAAEIAZYfqE9bjAAGPAdYIAACd7P8cscRn+wIAAAAABFla"},
	{"xz", "xz, CRC-32", "" +
		"/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4ARVAHNdADkby1Agn62QO+yBEAL0/i3aemWNm/23SzZAvDkNYU4XA+Pr369NGbdlWlqnGfepd/8sKy0JVNVt6ck+" +
		"MqukbIoGmsTjPQg0zuv+tSsWnD9HmuXBQ4p1Y9JtY/cKXchxsnW34C9ckPDm50GZyQIQ3k9zrQAAAOASrmUAAYsB1ggAAIuuboc+MA2LAgAAAAABWVo="},
	{"xz", "xz, SHA-256", "" +
		"/Td6WFoAAArh+wyhAgAhARYAAAB0L+Wj4ARVAHNdADkby1Agn62QO+yBEAL0/i3aemWNm/23SzZAvDkNYU4XA+Pr369NGbdlWlqnGfepd/8sKy0JVNVt6ck+" +
		"MqukbIoGmsTjPQg0zuv+tSsWnD9HmuXBQ4p1Y9JtY/cKXchxsnW34C9ckPDm50GZyQIQ3k9zrQAAANvX70dIzA94swxMQY9fV8UbixUVUWJEdVdqzQXGV0qQ" +
		"AAGnAdYIAADGawD3tunfHAIAAAAAClla"},
	{"xz", "xz, no checksum", "" +
		"/Td6WFoAAAD/EtlBAgAhARYAAAB0L+Wj4ARVAHNdADkby1Agn62QO+yBEAL0/i3aemWNm/23SzZAvDkNYU4XA+Pr369NGbdlWlqnGfepd/8sKy0JVNVt6ck+" +
		"MqukbIoGmsTjPQg0zuv+tSsWnD9HmuXBQ4p1Y9JtY/cKXchxsnW34C9ckPDm50GZyQIQ3k9zrQAAAAABhwHWCAAA8G6s8KgACvwCAAAAAABZWg=="},
	{"xz", "xz, blocks with sizes", "" +
		"/Td6WFoAAATm1rRGA8BFrAIhARYAAAAAIQHy2OABKwA9XQA5G8tQIJ+tkDvsgRAC9P4t2npljZv9t0s2QLw5DWFOFwPj69+vTRm3ZVpapxn3qXf/LCstCVVd" +
		"q8LOtAAAAAAAANZNPlNodLoBA8BErAIhARYAAAAAH2owN+ABKwA8XQA7iAI4IDmcnwHu3cXpvagIVVJFQZv5d1r6XRFCPGKfGHB5jooVxmo5cqiLIhKQfRlV" +
		"oCjRMtLaFBgwOgAAt6omMCDcXS8DwESsAiEBFgAAAAAfajA34AErADxdADEbCkIhsRjeKr6rBsoTODQMltoNAgpXcOQGDSmlbmuxS9uO3AKR58Uz9M9J2JKc" +
		"955wJ75/Ipc51ufhAAC9nqp5whv7qQPAO9IBIQEWAAAAAK6rnIbgANEAM10AMxvKqufXS2Ahvlupr6mr/6X1AeGxJj7e0RmvKDpzXDgcX1kjsComQqpa7IJk" +
		"pnwhDeQAAAC0r8EA+Kq6tQAEXawCXKwCXKwCU9IBAADqAfNBrCc+LQQAAAAABFla"},
	{"xz", "xz, two streams and padding", "" +
		"/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4AHzAE1dADkby1Agn62QO+yBEAL0/i3aemWNm/23SzZAvDkNYU4XA+Pr369NGbdlWlqnGfepd/8sKy0JVNVt6ck+" +
		"MqukbIoGmsTjPQg0zutniCgAAAAAAEqHMvQthUtLAAFp9AMAAAA8069DscRn+wIAAAAABFlaAAAAAAAAAAD9N3pYWgAABObWtEYCACEBFgAAAHQv5aPgAmEA" +
		"UV0AEBvIwgNYy6TTXov5gC6KcfpgIpagpAl9ssH2Y0uss1/8juEV9bPlSDQDo9l5xrblMDRBEMNSCQszmEqam+6i+aofdc8QSiOKlOlXoFQu90wAAAAAANB4" +
		"SdpntfUjAAFt4gQAAACxy0mqscRn+wIAAAAABFla"},
	{"bzip2", "bzip2, two streams", "" +
		"QlpoOTFBWSZTWfLQtSUAAN4ZgEAAf+gb7ZSAIACIEpqjT9UZGgAAVJUyDI0DE9NT6IDsgNSAlVO/CdMcm223XYgM5iIEklVVVVSq3QpCyG6HCHJDBCyF0PqF" +
		"kLIcIXQ6oaIZyGaHm6HNDCQ/i7kinChIeWhakoBCWmg5MUFZJlNZkEJffAAAIRmAQAB/6BvtlIAgAIgZTUGn+qhkAAIoomR6jCZNP1D5prtNrVNqlZXzwMcs" +
		"6VAAANk2pzlLSIgSZkSZiIiIiD1PApeKUKcCnIpIpcKUKdCm4pQpQpyKdCmIpoKWRLClIl4pKJ2LuSKcKEhIIS++AA=="},
	{"deflate", "deflate with three bytes of Adler-32", "" +
		"fdPLCUJBEETRVDoEq8ovZqO8p6I4MAimrwn0Xd9VH6rn+Namxlqf+1LrmMvj9q7La1yf5/lP6pP7lD5t+7Tr075Phz4d+3SCk4kDPAQgAhEBicBEgCJQEbAI" +
		"XAwupp2Ai8HF4GJwMbgYXAwuBpeAS8Al9EDgEnAJuARcAi4BlzQuP4Wyfw=="},
	{"zstandard", "zstandard with a checksum", "" +
		"KLUv/WRWAyUEAFIEDhSgqwMgJhA0G7mGqrM8T35KufFf1f///79t27bdtm3bghiEALjLZWcwiDUHnWRJZ4pJeaiMiMsuJyCAo+IDtYQ3ZKEIL2RDCU/IQhFe" +
		"yIQSXsiGEp6QhXJ4G4ZMw1AyDA/DkF0YioXhVRgyCkOZMAQJzNmMLfaxmS3ssxmzBdyOT/kpTrI="},
	{"zstandard", "zstandard of unknown size", "" +
		"KLUv/QRYJQQAUgQOFKCrAyAmEDQbuYaqszxPfkq58V/V////v23btt22bduCGIQAuMtlZzCINQedZElnikl5qIyIyy4nIICj4gO1hDdkoQgvZEMJT8hCEV7I" +
		"hBJeyIYSnpCFcngbhkzDUDIMD8OQXRiKheFVGDIKQ5kwBAnM2Ywt9rGZLeyzGbMF3I5P+SlOsg=="},
}

func foreignText() string {
	var s strings.Builder
	for i := range 40 {
		fmt.Fprintf(&s, "row %d of the foreign block;", i)
	}
	return s.String()
}

func TestForeignBlocks(t *testing.T) {
	for _, tt := range foreignBlocks {
		t.Run(tt.name, func(t *testing.T) {
			data, err := base64.StdEncoding.DecodeString(tt.base64)
			testenv.Must(t, err)
			d, err := NewDecoder(tt.codec, 1<<20)
			testenv.Must(t, err)
			got, err := d.Decode(nil, &Block{Data: data}, "f.avro")
			testenv.Must(t, err)
			if string(got) != foreignText() {
				t.Errorf("got %q", got)
			}
		})
	}
}
