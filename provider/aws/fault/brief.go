package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// unreadable is the error code that the SDK uses for a response without an error code of AWS.
const unreadable = "UnknownError"

// status returns the HTTP status of the response that caused err, 0 if there was none.
func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil && response.Response.Response != nil {
		return response.HTTPStatusCode()
	}
	return 0
}

// Foreign reports whether the call failed because of a response that did not come from AWS. Examples are the page of
// a proxy, and another service at the configured endpoint.
func Foreign(err error) bool {
	if status(err) == 0 {
		return false
	}
	var garbled *smithy.DeserializationError
	code := Code(err) // empty if the SDK could not parse the response
	return errors.As(err, &garbled) || code == "" || code == unreadable
}

// Brief returns a short text for conditions and logs: the operation that failed, and the error in the response. The
// SDK's own text is long and repeats itself.
func Brief(err error) string {
	if err == nil {
		return ""
	}
	what := ""
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		what = operation.Service() + " " + operation.Operation() + ": "
	}
	text, known := Answer(err)
	if !known {
		return text // the text names the operation, or the error is not of a call
	}
	if Foreign(err) {
		text += ": check proxy and endpoint settings"
	}
	return what + text
}

// Answer returns the cause of a failed call without the name of the operation: the error in the response, a timeout,
// or that no connection was made. For any other error, it returns the whole text of err in one line, and false.
func Answer(err error) (text string, known bool) {
	var api smithy.APIError
	var send *smithyhttp.RequestSendError
	switch {
	case Foreign(err):
		return fmt.Sprintf("unexpected HTTP %d response, not from AWS", status(err)), true
	case errors.As(err, &api):
		return api.ErrorCode() + ": " + api.ErrorMessage(), true
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time", true
	case errors.As(err, &send):
		cause := send.Err
		var where *url.Error
		if errors.As(cause, &where) {
			cause = where.Err
		}
		return "no connection: " + oneLine(cause), true
	}
	return oneLine(err), false
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// broken reports whether the HTTP status is a server error (5xx).
func broken(err error) bool { return status(err) >= http.StatusInternalServerError }
