// Package finding is how doctors say what they found, and what to do about it: one form for all of them. Its levels are those of
// every finding, in manifests too.
package finding

import "fmt"

// A Level says how bad a finding is.
type Level string

// Levels.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Error   Level = "error"
)

// A Finding is the outcome of one check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Message says what was found, Fix what to do; a good outcome has no fix.
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// String returns the finding on one line or, with a fix, on two.
func (f Finding) String() string {
	line := fmt.Sprintf("%-7s  %-12s  %s", f.Level, f.Check, f.Message)
	if f.Fix != "" {
		line += "\n                       fix: " + f.Fix
	}
	return line
}
