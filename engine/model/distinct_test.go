package model_test

import (
	"testing"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Distinct counts the values that types list. The excluded values of a type that leaves its value open are no values.
func TestDistinct(t *testing.T) {
	kind := func(rs ...require.Requirement) *model.InstanceType {
		return &model.InstanceType{Requirements: require.NewSet(rs...), Offerings: []model.Offering{{Available: true}}}
	}
	in, notIn := kind(require.New("k", require.In, "a", "b")), kind(require.New("k", require.NotIn, "c", "d"))
	offered := kind(require.New("k", require.In, "a"))
	offered.Offerings[0].Requirements = require.NewSet(require.New("k", require.NotIn, "e"))
	for _, tt := range []struct {
		name  string
		types []*model.InstanceType
		want  int
	}{
		{"listed values", []*model.InstanceType{in}, 2},
		{"excluded values", []*model.InstanceType{notIn}, 0},
		{"excluded values of an offering, which replace those of its type", []*model.InstanceType{offered}, 0},
		{"both", []*model.InstanceType{in, notIn, offered}, 2},
		{"no value", []*model.InstanceType{kind()}, 0},
	} {
		if got := model.Distinct(tt.types, require.New("k", require.Exists), require.Set{}); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
