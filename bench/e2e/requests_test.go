package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountWrites(t *testing.T) {
	got, err := countWrites(strings.NewReader(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="pods",subresource="status",verb="PATCH",version="v1"} 7
apiserver_request_total{code="409",resource="pods",subresource="status",verb="PATCH",version="v1"} 1
apiserver_request_total{code="201",resource="pods",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",resource="pods",subresource="",verb="LIST",version="v1"} 9
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"PATCH pods/status": 8, "POST pods": 3}, got); diff != "" {
		t.Error(diff)
	}
}
