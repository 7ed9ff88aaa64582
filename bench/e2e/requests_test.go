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
apiserver_request_total{code="409",resource="nodeclaims",subresource="status",verb="PATCH",version="v1"} 2
apiserver_request_total{code="200",resource="nodes",subresource="",verb="DELETE",version="v1"} 5
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"PATCH pods/status": 8, "POST pods": 3, "PATCH nodeclaims/status": 2, "DELETE nodes": 5}
	if diff := cmp.Diff(want, got.byName); diff != "" {
		t.Error(diff)
	}
	refused := map[string]int{"PATCH pods/status with 409": 1, "PATCH nodeclaims/status with 409": 2}
	if diff := cmp.Diff(refused, got.refused); diff != "" {
		t.Error(diff)
	}
	if got.writes != 7 || got.conflicts != 2 {
		t.Errorf("%d writes and %d conflicts, want 7 and 2", got.writes, got.conflicts)
	}
}
