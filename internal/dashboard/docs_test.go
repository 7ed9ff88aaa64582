package dashboard_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// docs/api.md describes every path and every field of the JSON, except the fields of episodes, which docs/decisions.md
// describes.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	fields := map[string]bool{}
	for _, v := range []any{
		view.SnapshotMessage{}, view.StripMessage{}, view.FleetMessage{}, view.PendingMessage{}, view.EpisodeMessage{}, view.NodeDetail{}, view.Cost{}, view.Trends{},
		view.History{}, view.Error{}, view.Info{}, view.Pool{}, view.Capacity{}, view.WhatIfRequest{}, view.WhatIf{},
	} {
		addFields(fields, reflect.TypeOf(v))
	}
	if len(fields) < 100 {
		t.Fatalf("only %d fields", len(fields))
	}
	for name := range fields {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name) {
			t.Errorf("docs/api.md lacks the field %s", name)
		}
	}
	for _, path := range []string{"stream", "fleet", "nodes/{id}", "pending", "decisions", "pools", "capacity", "cost", "trends", "history", "info", "manifests", "whatif"} {
		if !strings.Contains(text, "/api/v1/"+path) {
			t.Errorf("docs/api.md lacks the path %s", path)
		}
	}
}

// addFields adds the names of the JSON fields of a type, and of the types of its fields.
func addFields(fields map[string]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addFields(fields, t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[decisions.Episode]() || t.PkgPath() != "" && !strings.Contains(t.PkgPath(), "internal/dashboard") && strings.HasSuffix(t.Name(), "Action") {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name != "" && (strings.Contains(t.PkgPath(), "internal/dashboard")) {
			fields[name] = true
		}
		addFields(fields, f.Type)
	}
}
