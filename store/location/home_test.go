package location

import "testing"

func TestHome(t *testing.T) {
	for prefix, want := range map[string]string{"": "hdfs:///user/etl", "/home/": "hdfs:///home/etl"} {
		site := `<configuration><property><name>dfs.user.home.dir.prefix</name><value>` + prefix + `</value></property></configuration>`
		configure(t, map[string]string{"hdfs-site.xml": site, "core-site.xml": coreSite})
		r := New(Options{})
		home, err := r.Home()
		if err != nil || home != want {
			t.Errorf("%s, %v, want %s", home, err, want)
		}
		if login, err := r.Login(); err != nil || login.User() != "etl" || login.Secure() {
			t.Errorf("%+v, %v", login, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
