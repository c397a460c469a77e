package catalogs

import (
	"maps"
	"testing"
)

func TestEnvironment(t *testing.T) {
	got := Environment("my-lake", []string{
		"PYICEBERG_CATALOG__MY_LAKE__TOKEN=a=b", "PYICEBERG_CATALOG__MY_LAKE__OAUTH2_SERVER_URI=http://h",
		"PYICEBERG_CATALOG__MY_LAKE__S3__ACCESS_KEY_ID=k", "PYICEBERG_CATALOG__OTHER__TOKEN=x", "PYICEBERG_CATALOG__MY_LAKE__=x", "PATH=/bin",
	})
	want := map[string]string{"token": "a=b", "oauth2-server-uri": "http://h", "s3.access-key-id": "k"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSecret(t *testing.T) {
	for key, want := range map[string]bool{
		"token": true, "credential": true, "glue.secret-access-key": true, "s3.session-token": true, "hive.Password": true,
		"scope": false, "prefix": false, "oauth2-server-uri": false,
	} {
		if Secret(key) != want {
			t.Errorf("%s: %v, want %v", key, !want, want)
		}
	}
}
