package pipes

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzAccept reads arbitrary bytes from Java, after an authentication or from the start. A
// task that is accepted must be accepted again when it is encoded anew.
func FuzzAccept(f *testing.F) {
	for _, name := range []string{"done", "sha256", "leaves", "counter", "killed"} {
		r := readRecording(f, name)
		f.Add(false, r.secret, append(bytes.Clone(r.events[0].bytes), r.events[2].bytes...))
		f.Add(true, []byte{}, r.events[2].bytes)
	}
	split := fileSplit("hdfs://n/f", 0, 1)
	f.Add(true, []byte{}, javaMessages{}.code(start, 0).code(setJobConf, 2).text("a", "b").runTask(split, 0, 0).p)
	f.Add(true, []byte{}, javaMessages{}.code(setJobConf, 2, maxConf).p)
	f.Add(true, []byte{}, javaMessages{}.code(setJobConf, maxConfStrings).p)
	f.Add(true, []byte{}, javaMessages{}.runTask(split, 1, 0).p)
	f.Add(true, []byte{}, javaMessages{}.runTask(split, 0, 1).p)
	f.Add(true, []byte{}, javaMessages{}.code(setInputTypes).text("K", "V").p)
	f.Add(true, []byte{}, javaMessages{}.code(runReduce, 0, 0).p)
	f.Add(true, []byte{}, javaMessages{}.code(abort).p)
	f.Fuzz(func(t *testing.T, authentic bool, secret, p []byte) {
		if authentic {
			secret, p = []byte("secret"), append(authRequestMessage().p, p...)
		}
		task, _, err := acceptFrom(p, string(secret))
		if err != nil {
			return
		}
		o := authRequestMessage().code(setJobConf, int64(2*len(task.Conf)))
		for name, value := range task.Conf {
			o = o.text(name, value)
		}
		o = o.runTask(fileSplit(task.Split.Path, task.Split.Start, task.Split.Length), 0, 0)
		again, _, err := acceptFrom(o.p, "secret")
		if err != nil || again.Split != task.Split || len(again.Conf)+len(task.Conf) > 0 && !reflect.DeepEqual(again.Conf, task.Conf) {
			t.Errorf("got %+v, %v after encoding %+v", again, err, task)
		}
	})
}
