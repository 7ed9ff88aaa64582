// Package finding has the type of the findings that the doctor commands print. Package lint uses the same levels.
package finding

import "fmt"

// A Level is the severity of a finding.
type Level string

// The levels, in ascending order of severity.
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
	// Message states what was found. Fix states what the user can do about it; it is empty if nothing need be done, as at
	// level OK.
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// String returns the finding on one line or, with a fix, on two.
func (f Finding) String() string {
	line := fmt.Sprintf("%-7s  %-15s  %s", f.Level, f.Check, f.Message)
	if f.Fix != "" {
		line += "\n                          fix: " + f.Fix
	}
	return line
}
