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

// unreadable is the code that the SDK gives to an answer in which it finds no error of AWS.
const unreadable = "UnknownError"

// status is the HTTP status of the answer that caused err, 0 if there was none.
func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil && response.Response.Response != nil {
		return response.HTTPStatusCode()
	}
	return 0
}

// Foreign reports whether what answered did not answer as AWS does: a page of a proxy, or of a service that does not know
// the operation.
func Foreign(err error) bool {
	if status(err) == 0 {
		return false
	}
	var garbled *smithy.DeserializationError
	code := Code(err) // none where the SDK could not even read the answer
	return errors.As(err, &garbled) || code == "" || code == unreadable
}

// Brief says in one short sentence, for conditions and logs, why a call failed: the operation and what was answered. The
// SDK's own text has neither an end nor a beginning.
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
		return text // it names the operation, or is not of a call
	}
	if Foreign(err) {
		text += ": check proxy and endpoint settings"
	}
	return what + text
}

// Answer says what was answered to a call, without its operation. If that is not known, it returns the whole text of the error, in
// one line, and false.
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

// broken reports whether the status is that of a failing server.
func broken(err error) bool { return status(err) >= http.StatusInternalServerError }
