package telemetry

import "time"

// logAgain is the time after which an error that stays is logged again, so that it is found in the recent log.
const logAgain = time.Hour

// A LastError is the last error of work that is repeated. It decides when an error is logged that may stay for long. The zero value
// means that the last attempt succeeded.
type LastError struct {
	text string
	// silent is the sum of the pauses since the error was logged.
	silent time.Duration
}

// Failed records an error by its text, and the pause before the next attempt. It reports whether the error should be logged: its text
// is new, or it was logged an hour ago.
func (e *LastError) Failed(text string, pause time.Duration) (log bool) {
	if log = text != e.text || e.silent >= logAgain; log {
		e.text, e.silent = text, 0
	}
	e.silent += pause
	return log
}

// Succeeded records a success, and reports whether the last attempt had failed.
func (e *LastError) Succeeded() (recovered bool) {
	recovered = e.text != ""
	*e = LastError{}
	return recovered
}
