package manifest

import (
	"bytes"
	"fmt"
	"testing"
)

// manyPods writes a JSON array of n pods in deployments of twenty.
func manyPods(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p%d", "namespace": "default", "labels": {"app": "d%d"}}, `+
			`"spec": {"containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "%dm", "memory": "256Mi"}}}]}}`,
			i, i/20, 100+i/20%50*10)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	data := manyPods(60_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		set, err := Read(b.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(data)})
		if err != nil || set.Len() != 60_000 {
			b.Fatalf("%d objects, %v", set.Len(), err)
		}
	}
}
