package wire

import (
	"fmt"
	"net/http"
)

// An Error is the error response of a service: an HTTP status, a code for clients, and a message for people.
type Error struct {
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf returns an error with the HTTP status of its code, by default 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Status: StatusOf(code), Code: code, Message: fmt.Sprintf(format, args...)}
}

// StatusOf returns the HTTP status that EC2 sends with an error code.
func StatusOf(code string) int {
	switch code {
	case "DryRunOperation":
		return http.StatusPreconditionFailed
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException":
		return http.StatusForbidden
	case "InternalError", "InternalFailure", "InternalServerError":
		return http.StatusInternalServerError
	case "RequestLimitExceeded", "Unavailable", "ServiceUnavailable":
		return http.StatusServiceUnavailable
	case "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity":
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
