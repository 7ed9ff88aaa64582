package backtest

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Recognize decides by the first line, and the text can be read from its beginning afterwards.
func TestRecognize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Form
	}{
		{"name,cpu_milli,memory_mib,num_gpu,creation_time,deletion_time\n", TraceForm},
		{"\ufeff\n Name, CPU (milli), Memory (MiB)\n", TraceForm},
		{"name,cpu\n", TraceForm},
		{audit(20, "create", "", "a", auditPod("a", "")), TraceForm},
		{`{"timestamp":1,"message":"{}"}` + "\n", TraceForm},
		{"{\n \"kind\": \"List\"\n}\n", ManifestForm},
		{`{"apiVersion":"v1","kind":"List","items":[]}`, ManifestForm},
		{`{"apiVersion":"v1","kind":"Event","message":"Pulled","reason":"Pulled"}`, ManifestForm},
		{"apiVersion: v1\nkind: Pod\n", ManifestForm},
		{"# pods, cpu, memory\n", ManifestForm},
		{"---\n", ManifestForm},
		{`{"kind":"Event"`, Unrecognized},
		{`[{"kind":"Pod"}]`, Unrecognized},
		{"a,b,c\n", Unrecognized},
		{"", Unrecognized},
		{"{" + strings.Repeat(" ", maxLine) + "}", Unrecognized},
	} {
		name := tt.text[:min(len(tt.text), 60)]
		got, all, err := Recognize(strings.NewReader(tt.text))
		if err != nil || got != tt.want {
			t.Errorf("%q: form %d, %v, want %d", name, got, err, tt.want)
			continue
		}
		if text, err := io.ReadAll(all); err != nil || string(text) != tt.text {
			t.Errorf("%q: %d of %d bytes remain, %v", name, len(text), len(tt.text), err)
		}
	}
	if _, _, err := Recognize(iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("an error of the reader is not reported")
	}
}

// All pods of a moment exist from the newest creation on. Those that are being deleted and those of DaemonSets are left out.
func TestAtOnce(t *testing.T) {
	pod := func(second int64) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		if second > 0 {
			p.CreationTimestamp = metav1.Unix(second, 0)
		}
		return p
	}
	gone, daemon, yes := pod(900), pod(50), true
	gone.DeletionTimestamp = &gone.CreationTimestamp
	daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: &yes}}
	got := AtOnce([]*corev1.Pod{pod(0), pod(100), pod(40), gone, daemon})
	if err := got.Cut(time.Time{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if len(got.Pods) != 3 || got.Pods[0] != (Pod{0, 100_000, never}) || len(got.Shapes) != 1 || len(got.Warnings) != 1 {
		t.Errorf("%+v", got)
	}
}
