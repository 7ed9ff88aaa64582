package v1

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"
)

// Never is the text of a NillableDuration without a duration.
const Never = "Never"

// A Duration is written as a Go duration such as "1h30m".
//
// The patterns of the CRDs allow longer durations than time.Duration holds. Such a value is LongestDuration. An error
// would keep the controller from reading any object of the kind, because a list is decoded as a whole.
//
// The type has this name and this field because hashes depend on them.
//
// +kubebuilder:validation:Type=string
type Duration struct {
	time.Duration
}

// LongestDuration is 292 years, in whole hours. Its text meets the patterns of the CRDs.
const LongestDuration = math.MaxInt64 / time.Hour * time.Hour

// MarshalJSON writes Go's form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a Go duration.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("decode duration: %w", err)
	}
	parsed, err := parseDuration(s)
	if err != nil {
		return err
	}
	d.Duration = parsed
	return nil
}

// ToUnstructured lets the converter to unstructured objects treat the value as
// the string it is in JSON.
func (d Duration) ToUnstructured() any { return d.String() }

// whole matches durations as the CRDs allow them.
var whole = regexp.MustCompile(`^([0-9]+[hms])+$`)

// parseDuration parses a Go duration. If the duration is too long for time.Duration, the result is LongestDuration.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil && whole.MatchString(s) {
		return LongestDuration, nil
	}
	if err != nil {
		return 0, fmt.Errorf("parse duration: %w", err)
	}
	return d, nil
}

// NillableDuration is a duration that may be "Never". A nil Duration means
// Never. The zero value also stands for an absent field.
//
// It keeps the JSON from which it was read and writes the same bytes. So a tool
// that compares the applied value ("168h") with the stored value finds no
// difference.
//
// +kubebuilder:validation:Type=string
type NillableDuration struct {
	*time.Duration

	// Raw is the JSON from which the value was read, nil for Never. Hashes do not depend on it.
	Raw []byte `hash:"ignore"`
}

// MustParseNillableDuration parses "Never" or a Go duration and panics on
// anything else. It is for constants and tests.
func MustParseNillableDuration(s string) NillableDuration {
	d, err := ParseNillableDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

// ParseNillableDuration parses "Never" or a Go duration such as "90m".
func ParseNillableDuration(s string) (NillableDuration, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return NillableDuration{}, fmt.Errorf("quote duration %q: %w", s, err)
	}
	if s == Never {
		// The zero value, because the hash of a pool must be the same for Never
		// and for an absent value, as in upstream Karpenter.
		return NillableDuration{}, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return NillableDuration{}, err
	}
	return NillableDuration{Duration: &d, Raw: raw}, nil
}

// MarshalJSON writes the bytes from which the value was read. Without such
// bytes, it writes the duration in Go's form, or "Never".
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	switch {
	case d.Raw != nil:
		return slices.Clone(d.Raw), nil
	case d.Duration != nil:
		return json.Marshal(d.Duration.String())
	}
	return json.Marshal(Never)
}

// UnmarshalJSON reads "Never" or a Go duration.
func (d *NillableDuration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("decode duration: %w", err)
	}
	parsed, err := ParseNillableDuration(s)
	if err != nil {
		return err
	}
	if parsed.Duration != nil {
		parsed.Raw = slices.Clone(b)
	}
	*d = parsed
	return nil
}

// ToUnstructured lets the converter to unstructured objects treat the value as
// the string it is in JSON.
func (d NillableDuration) ToUnstructured() any {
	b, err := d.MarshalJSON()
	if err != nil {
		return Never
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return Never
	}
	return s
}

// String is the duration in Go's form, or "Never".
func (d NillableDuration) String() string {
	if d.Duration == nil {
		return Never
	}
	return d.Duration.String()
}
