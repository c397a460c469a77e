package cli

import "testing"

// TestKeytabBeforeTokens checks that a keytab on the command line overrides a token file.
func TestKeytabBeforeTokens(t *testing.T) {
	t.Setenv("HADOOP_TOKEN_FILE_LOCATION", "file")
	for keytab, tokens := range map[string]bool{"": true, "keys": false} {
		a := new(App)
		h := &a.Store.Hadoop
		h.Login.Principal, h.Login.Keytab = keytab, keytab
		if err := a.openStores(); err != nil || h.Tokens != tokens {
			t.Errorf("keytab %q: tokens %v, %v", keytab, h.Tokens, err)
		}
	}
}
