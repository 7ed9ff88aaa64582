package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	testclock "k8s.io/utils/clock/testing"
)

// lines decodes the logged lines.
func lines(t *testing.T, b *bytes.Buffer) []map[string]any {
	t.Helper()
	var list []map[string]any
	for text := range strings.Lines(b.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		list = append(list, l)
	}
	return list
}

func TestLogLine(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(LogOptions{Commit: "abc", Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	log = log.WithName("controller").WithName("provisioner").WithValues("NodePool", klog.KRef("", "default"))
	log.Info("launched claim", "count", 2)
	log.V(1).Info("is not written")
	log.Error(errors.New("no capacity"), "launch claim", "Pod", klog.KRef("ns", "web"))
	got := lines(t, &out)
	for _, l := range got {
		stamp, _ := l["time"].(string)
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d{4})$`).MatchString(stamp) {
			t.Errorf("time %q is not ISO 8601", stamp)
		}
		delete(l, "time")
	}
	want := []map[string]any{{
		"level": "INFO", "message": "launched claim", "logger": "controller.provisioner", "commit": "abc",
		"NodePool": map[string]any{"name": "default"}, "count": 2.0,
	}, {
		"level": "ERROR", "message": "launch claim", "logger": "controller.provisioner", "commit": "abc",
		"NodePool": map[string]any{"name": "default"}, "error": "no capacity",
		"Pod": map[string]any{"name": "web", "namespace": "ns"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogLevels(t *testing.T) {
	for _, tt := range []struct {
		level string
		want  string
	}{
		{"debug", "DEBUG INFO ERROR"},
		{"", "INFO ERROR"},
		{"info", "INFO ERROR"},
		{"ERROR", "ERROR"},
	} {
		t.Run(tt.level, func(t *testing.T) {
			var out bytes.Buffer
			log, err := NewLogger(LogOptions{Level: tt.level, Out: &out})
			if err != nil {
				t.Fatal(err)
			}
			log.V(2).Info("chatter of libraries")
			log.V(1).Info("x")
			log.Info("x")
			log.Error(nil, "x")
			var got []string
			for _, l := range lines(t, &out) {
				got = append(got, l["level"].(string))
				caller, has := l["caller"].(string)
				if has != (tt.level == "debug") || has && !strings.HasPrefix(caller, "telemetry/log_test.go:") {
					t.Errorf("caller is %q", caller)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("levels %v, want %s", got, tt.want)
			}
		})
	}
	if _, err := NewLogger(LogOptions{Level: "loud"}); err == nil {
		t.Error("level loud is accepted")
	}
}

func TestLogDropsDebugLinesOfEvents(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(LogOptions{Level: "debug", Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	events := log.WithName("events").WithValues("a", 1)
	events.V(1).Info("Evicted pod")
	events.Info("cannot write event")
	log.V(1).Info("something else")
	if got := lines(t, &out); len(got) != 2 {
		t.Errorf("wrote %v, want two lines", got)
	}
}

// Of errors with the same cause, one line per minute is written, even if they are about different objects. It has the number of
// omitted lines.
func TestLogErrorsByCause(t *testing.T) {
	var out bytes.Buffer
	c := testclock.NewFakeClock(time.Unix(0, 0))
	log, err := NewLogger(LogOptions{Out: &out, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	fail := func(claim, request string) {
		log.WithValues("name", claim).Error(
			fmt.Errorf("launch instance of claim %s: EC2 CreateFleet, RequestID: %s: no connection", claim, request), "Reconciler error")
	}
	for n := range 20 {
		fail(fmt.Sprint("default-", n%2), fmt.Sprint("c0ffee-", n))
		c.Step(time.Second)
	}
	log.Error(errors.New("no such role"), "Reconciler error")
	log.Error(nil, "an error line without an error")
	log.Error(nil, "an error line without an error")
	if got := lines(t, &out); len(got) != 4 || got[0]["repeated"] != nil {
		t.Fatalf("wrote %v, want one line of the outage and three others", got)
	}
	out.Reset()
	c.Step(time.Minute)
	fail("default-3", "c0ffee-99")
	if got := lines(t, &out); len(got) != 1 || got[0]["repeated"] != 19.0 {
		t.Errorf("a minute later: %v, want one line that counts 19", got)
	}
}

func TestLogSampling(t *testing.T) {
	var out bytes.Buffer
	c := testclock.NewFakeClock(time.Unix(0, 0))
	log, err := NewLogger(LogOptions{Out: &out, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	for range 350 {
		log.WithValues("who", "me").Info("again")
	}
	log.Info("once")
	if got := len(lines(t, &out)); got != 100+2+1 {
		t.Errorf("wrote %d lines, want the first 100, two of each next hundred, and the other one", got)
	}
	out.Reset()
	c.Step(time.Second)
	log.Info("again")
	if got := len(lines(t, &out)); got != 1 {
		t.Errorf("wrote %d lines in the next second, want 1", got)
	}
}
