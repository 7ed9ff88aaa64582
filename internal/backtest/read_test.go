package backtest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// The columns of public traces and of our own format are read, with times in seconds or as text.
func TestReadCSV(t *testing.T) {
	for _, text := range []string{
		"name,cpu,memory,gpu,gpu_milli,creation,deletion\na,1500m,2Gi,1,460,60,120\nb,2,1024Mi,0,,61,\n",
		"\ufeffname,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n\n\"a,1\",1500,2048,1,460,,60.0,120\r\nb,2000,1024,0,0,V100,61,\n",
		"Name, CPU (milli), Memory (MiB), GPUs, Share, Creation, Deletion\na, 1500, 2048, 1, 460, 1970-01-01T00:01:00Z, 1970-01-01T01:02:00+01:00\nb,2000,1024,0,0,1970-01-01T00:01:01Z,",
	} {
		got, err := Read("t.csv", strings.NewReader(text), nil)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		if len(got.Pods) != 2 || got.Pods[0] != (Pod{0, 60_000, 120_000}) || got.Pods[1] != (Pod{1, 61_000, never}) {
			t.Errorf("%+v of\n%s", got.Pods, text)
		}
		r := got.Shapes[0].Template.Spec.Containers[0].Resources.Requests
		if s := got.Shapes[0]; s.GPUs != 1 || s.Share != 460 || r.Cpu().MilliValue() != 1500 || r.Memory().Value() != 2<<30 || got.Shapes[1].GPUs != 0 {
			t.Errorf("shapes %+v of\n%s", got.Shapes, text)
		}
	}
}

// Read warns about numbers of cores that are probably thousandths of cores.
func TestReadHugeCPU(t *testing.T) {
	got, err := Read("t.csv", strings.NewReader("cpu,memory,creation\n2,1Gi,0\n1500,1Gi,0\n"), nil)
	if err != nil || len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "t.csv:3: cpu is in cores") {
		t.Errorf("%v, %v", got, err)
	}
}

// A mistake is reported with file, line, field and a correction, and all mistakes are reported at once.
func TestReadMistakes(t *testing.T) {
	const head = "name,cpu_milli,memory,gpu,gpu_milli,creation,deletion\n"
	for _, tt := range []struct{ text, want string }{
		{"", "t.csv is empty"},
		{"[{}]", "t.csv:1: a JSON array is not a trace"},
		{"name,cpu\na,1\n", "t.csv:1: header: no column memory or memory_mib"},
		{head + "a,1,1Gi,0,0,20,10\n", "t.csv:2: deletion: 10 is before the creation 20"},
		{head + "a,9999999999999999999999,1Gi,0,0,1,2\n", "t.csv:2: cpu_milli: "},
		{head + "a,-1,1Gi,0,0,1,2\n", "t.csv:2: cpu_milli: "},
		{head + "a,NaN,1Gi,0,0,1,2\n", "t.csv:2: cpu_milli: "},
		{head + "a,1,99Ei,0,0,1,2\n", `t.csv:2: memory: "99Ei" is not an amount`},
		{head + "a,1,1Gi,1.5,0,1,2\n", "t.csv:2: gpu: "},
		{head + "a,1,1Gi,1,1001,1,2\n", "t.csv:2: gpu_milli: "},
		{head + "a,1,1Gi,0,0,,2\n", "t.csv:2: creation: is empty"},
		{head + "a,1,1Gi,0,0,1e300,2\n", "t.csv:2: creation: "},
		{head + "a,1,1Gi,0,0,-5,2\n", "t.csv:2: creation: "},
		{head + "a,1,1Gi,0,0,yesterday,2\n", `"yesterday" is not a time`},
		{head + "a,1,1Gi\n", "t.csv:2: line: has 3 fields and the header 7"},
		{head + "\"a,1,1Gi,0,0,1,2\n", "t.csv:2: line: "},
		{head + "a,-1,1Gi,0,0,1,2\n\nb,1,-1,0,0,1,2\n", "t.csv:4: memory: "},
		{head + strings.Repeat("a,-1,1Gi,0,0,1,2\n", 100), "not read after 20 mistakes"},
		{`{"kind":"Event"`, "t.csv:1: event: "},
		{`{"kind":"Event","stage":"ResponseComplete","verb":"create","objectRef":{"resource":"pods"},"responseStatus":{"code":201}}`, "t.csv:1: stageTimestamp: is missing"},
	} {
		_, err := Read("t.csv", strings.NewReader(tt.text), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.text[:min(len(tt.text), 120)], err, tt.want)
		}
	}
}

// manyLines is a reader that generates a CSV file of left lines, so that the file is never in memory as a whole.
type manyLines struct {
	left int
	buf  bytes.Buffer
}

func (m *manyLines) Read(p []byte) (int, error) {
	for m.buf.Len() < len(p) && m.left > 0 {
		m.left--
		fmt.Fprintf(&m.buf, "p,500,%d,%d,%d\n", 100+m.left%7, m.left, m.left+60)
	}
	return m.buf.Read(p)
}

// A long trace is read line by line, and each pod takes a few bytes.
func TestReadManyLines(t *testing.T) {
	const n = 300_000
	told := 0
	got, err := Read("t.csv", io.MultiReader(strings.NewReader("name,cpu_milli,memory_mib,creation,deletion\n"), &manyLines{left: n}),
		func(int) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pods) != n || len(got.Shapes) != 7 || told != n/100_000 {
		t.Errorf("%d pods of %d shapes, told %d times", len(got.Pods), len(got.Shapes), told)
	}
	if err := got.Cut(time.Unix(1000, 0), time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(got.Pods) != 119 || got.Begin.Unix() != 1000 {
		t.Errorf("%d pods in a minute, want the 59 that exist at its beginning and 60 new ones", len(got.Pods))
	}
}

// A line that is longer than maxLine is an error.
func TestReadLongLine(t *testing.T) {
	_, err := Read("t.csv", io.MultiReader(strings.NewReader("name,"), strings.NewReader(strings.Repeat("x", maxLine+1))), nil)
	if err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
		t.Errorf("error %v", err)
	}
}

// Cut returns an error for a period without pods, or of too many days.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		from   time.Time
		length time.Duration
		want   string
	}{
		{time.Unix(1e9, 0), time.Hour, "none of 2 pods exists between"},
		{time.UnixMilli(lastTime), time.Hour, "the trace is from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59Z"},
		{time.Time{}, 0, "at most 366 are replayed"},
	} {
		trace := &Trace{Pods: []Pod{{Created: 0, Deleted: 1000}, {Created: lastTime - 1, Deleted: never}}}
		if err := trace.Cut(tt.from, tt.length); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	if err := (&Trace{}).Cut(time.Time{}, 0); err == nil {
		t.Error("a trace without pods was accepted")
	}
}

// audit returns a line of an audit log: an event about a pod.
func audit(second int, verb, sub, name, object string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":%q,`+
		`"objectRef":{"resource":"pods","namespace":"shop","name":%q,"subresource":%q},"responseStatus":{"code":200},`+
		`"responseObject":%s,"stageTimestamp":"1970-01-01T00:%02d:%02d.000000Z"}`+"\n", verb, name, sub, object, second/60, second%60)
}

func auditPod(name, more string) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"namespace":"shop","creationTimestamp":null%s},`+
		`"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Running"}}`, name, more)
}

// Pods of an audit log exist from their creation until they are deleted, evicted or finished.
func TestReadAudit(t *testing.T) {
	daemon := `,"ownerReferences":[{"kind":"DaemonSet","apiVersion":"apps/v1","name":"d","controller":true}]`
	log := audit(10, "list", "", "", `{}`) +
		audit(20, "create", "", "a", auditPod("a", "")) +
		audit(21, "create", "binding", "a", `{"kind":"Status"}`) +
		audit(22, "create", "", "b", auditPod("b", "")) +
		`{"timestamp":1,"message":"not an event"}` + "\n" +
		audit(23, "create", "", "c", auditPod("c", "")) +
		audit(24, "create", "", "d", auditPod("d", daemon)) +
		audit(25, "delete", "", "old", auditPod("old", "")) +
		audit(26, "delete", "", "unknown", `{"kind":"Status"}`) +
		audit(30, "create", "eviction", "a", `{"kind":"Status"}`) +
		audit(40, "patch", "status", "b", strings.Replace(auditPod("b", ""), "Running", "Succeeded", 1)) +
		audit(41, "delete", "", "b", auditPod("b", ""))
	got, err := Read("audit.jsonl", strings.NewReader(log), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Pod{{0, 20_000, 30_000}, {0, 22_000, 40_000}, {0, 23_000, never}, {0, 10_000, 25_000}}
	if fmt.Sprint(got.Pods) != fmt.Sprint(want) || len(got.Shapes) != 1 {
		t.Errorf("%v of %d shapes, want %v of one", got.Pods, len(got.Shapes), want)
	}
	if s := got.Shapes[0].Template.Spec; s.NodeName != "" || s.Containers[0].Image != "" || s.Containers[0].Resources.Requests.Cpu().MilliValue() != 1000 {
		t.Errorf("template %+v", s)
	}
	if text := strings.Join(got.Warnings, "; "); !strings.Contains(text, "1 pods of DaemonSets") {
		t.Errorf("warnings %s", text)
	}
	if err := got.Cut(time.Time{}, 0); err != nil || got.End.Unix() != 41 {
		t.Errorf("%v, the end is %v, want that of the log", err, got.End)
	}
}

// No input makes the reader panic. An accepted trace can be cut, and none of its pods ends before it begins.
func FuzzRead(f *testing.F) {
	f.Add([]byte("name,cpu,memory,creation,deletion\na,1,1Gi,0,10\n"))
	f.Add([]byte(audit(20, "create", "", "a", auditPod("a", ""))))
	f.Add([]byte(`{"message":"{\"kind\":\"Event\"}"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := Read("f", bytes.NewReader(text), nil)
		if err != nil {
			return
		}
		for _, p := range trace.Pods {
			if p.Deleted < p.Created || p.Created < 0 || int(p.Shape) >= len(trace.Shapes) {
				t.Fatalf("pod %+v", p)
			}
			if len(trace.Shapes[p.Shape].Template.Spec.Containers) == 0 {
				t.Fatal("a shape without containers")
			}
		}
		_ = trace.Cut(time.Time{}, time.Hour) // an error is allowed: the period may have no pods
	})
}
