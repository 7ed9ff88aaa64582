package catalogue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Read returns the types of a catalogue file in name order. file is its name in error messages. The
// error joins the first mistake of each type. The result has the types without a mistake, and is
// nil if data is no JSON array of types.
func Read(file string, data []byte) ([]*model.InstanceType, error) {
	var list []Type
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: want a JSON array of instance types: %w", file, locate(data, err))
	}
	out := make([]*model.InstanceType, 0, len(list))
	shared := map[string]require.Set{}
	seen := map[string]bool{}
	var errs []error
	for i, t := range list {
		if t.Name == "" || seen[t.Name] {
			what := "has no name"
			if t.Name != "" {
				what = "is there twice"
			}
			errs = append(errs, fmt.Errorf("%s: item %d: type %q %s", file, i+1, t.Name, what))
			continue
		}
		seen[t.Name] = true
		m, err := t.instanceType(shared)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: item %d: type %s: %w", file, i+1, t.Name, err))
			continue
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *model.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

// locate adds the line to a JSON error that has an offset. Other errors are
// returned unchanged.
func locate(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mismatch):
		offset = mismatch.Offset
	default:
		return err
	}
	line := 1
	for _, b := range data[:min(offset, int64(len(data)))] {
		if b == '\n' {
			line++
		}
	}
	return fmt.Errorf("line %d: %w", line, err)
}
